// SPDX-License-Identifier: Apache-2.0
#include "cli/index_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"

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
  name_model(model, index, indexed);
  if (!encoder.settings().encoder.is_static()) indexed.precision = options.precision;
  indexed.prompt_name = options.prompt_name;
  indexed.dimension = encoder.dimension(options);
  indexed.metric = ranking_metric(parse_similarity(encoder.settings().similarity));
  return indexed;
}

void name_model(const std::string& model, const std::string& index, IndexedModel& indexed) {
  indexed.folder.clear();
  if (resolve_model(model) != model) {
    indexed.name = model;
    return;
  }
  const fs::path folder = fs::weakly_canonical(fs::absolute(model));
  indexed.name = folder.lexically_relative(fs::weakly_canonical(fs::absolute(index))).string();
  // Without a slash it would be the name of a built-in model.
  if (indexed.name.find('/') == std::string::npos) indexed.name.insert(0, "./");
  indexed.folder = folder.string();
}

VectorMetric metric_of(const std::string& model) {
  return ranking_metric(
      parse_similarity(open_model_folder(model, silent_events()).settings.similarity));
}

void check_size_of(const std::string& model, int64_t dimension) {
  const int64_t size = open_model_folder(model, silent_events()).settings.embedding_size();
  SIMILE_CHECK(dimension <= size, ErrorKind::kInput,
               fmt::format("vectors of {} numbers; those of the model '{}' have {}", dimension,
                           model, size));
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

std::shared_ptr<const Reranker> load_reranker(const std::string& model, const ModelOptions& options,
                                              Terminal& terminal) {
  ModelOptions arithmetic;
  arithmetic.device = options.device;
  auto encoder = std::make_shared<const SentenceEncoder>(load_encoder(model, terminal, arithmetic));
  return std::make_shared<const Reranker>(
      std::move(encoder), load_heads(open_model_folder(model, silent_events())), model);
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
