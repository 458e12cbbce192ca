// SPDX-License-Identifier: Apache-2.0
#include "cli/index_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/model/builtin_model.h"
#include "simile/model/fingerprint.h"

namespace simile::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string fingerprint_of(const std::string& model) {
  return model_fingerprint(open_model_folder(model, silent_events()));
}

IndexedModel indexed_model(const std::string& model, const std::string& index,
                           const SentenceEncoder& encoder, const ModelOptions& options) {
  IndexedModel indexed;
  indexed.fingerprint = fingerprint_of(model);
  if (resolve_model(model) != model) {
    indexed.name = model;
  } else {
    const fs::path folder = fs::weakly_canonical(fs::absolute(model));
    indexed.name = folder.lexically_relative(fs::weakly_canonical(fs::absolute(index))).string();
    // Without a slash it would be the name of a built-in model.
    if (indexed.name.find('/') == std::string::npos) indexed.name.insert(0, "./");
    indexed.folder = folder.string();
  }
  if (!encoder.settings().encoder.is_static()) indexed.precision = options.precision;
  indexed.dimension = encoder.dimension(options);
  indexed.metric = ranking_metric(parse_similarity(encoder.settings().similarity));
  return indexed;
}

std::string model_of_index(const std::string& index, const IndexInfo& info,
                           const std::string& given) {
  if (!given.empty()) return given;
  const IndexedModel& model = info.model;
  if (model.folder.empty()) return model.name;
  const std::string beside =
      (fs::weakly_canonical(fs::absolute(index)) / model.name).lexically_normal().string();
  for (const std::string& folder : {beside, model.folder}) {
    if (folder_exists(folder)) return folder;
  }
  throw Error(ErrorKind::kInput,
              fmt::format("the model of the index '{}' is neither '{}' nor '{}'; name its folder "
                          "with --model",
                          index, beside, model.folder));
}

SearchIndex open_index(const std::string& index, const std::string& model,
                       SearchIndex::Access access) {
  return SearchIndex::open(index, fingerprint_of(model), model, access);
}

void keep_settings(const IndexInfo& index, ModelOptions& options) {
  if (options.dimensions == 0) options.dimensions = index.model.dimension;
  if (options.precision.empty()) options.precision = index.model.precision;
}

}  // namespace simile::cli
