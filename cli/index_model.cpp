// SPDX-License-Identifier: Apache-2.0
#include "cli/index_model.h"

#include <filesystem>

#include "simile/eval/embedding_scorer.h"
#include "simile/model/builtin_model.h"
#include "simile/model/fingerprint.h"

namespace simile::cli {
namespace {

std::string fingerprint_of(const std::string& model) {
  return model_fingerprint(open_model_folder(model, silent_events()));
}

}  // namespace

IndexedModel indexed_model(const std::string& model, const SentenceEncoder& encoder,
                           const ModelOptions& options) {
  IndexedModel indexed;
  indexed.fingerprint = fingerprint_of(model);
  const bool built_in = resolve_model(model) != model;
  indexed.name = built_in ? model : std::filesystem::absolute(model).lexically_normal().string();
  if (!encoder.settings().encoder.is_static()) indexed.precision = options.precision;
  indexed.dimension = encoder.dimension(options);
  indexed.metric = ranking_metric(parse_similarity(encoder.settings().similarity));
  return indexed;
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
