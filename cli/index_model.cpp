// SPDX-License-Identifier: Apache-2.0
#include "cli/index_model.h"

#include <filesystem>

#include "simile/checkpoint/fingerprint.h"

namespace simile::cli {
namespace {

std::string fingerprint_of(const std::string& model) {
  return model_fingerprint(open_model_folder(model, silent_events()));
}

}  // namespace

IndexedModel indexed_model(const std::string& model, const SentenceEncoder& encoder,
                           const EncodeOptions& options) {
  IndexedModel indexed;
  indexed.fingerprint = fingerprint_of(model);
  indexed.name = std::filesystem::absolute(model).lexically_normal().string();
  indexed.dimension = encoder.dimension(options);
  const std::string& similarity = encoder.settings().similarity;
  indexed.metric =
      similarity == "euclidean" ? VectorMetric::kSquaredDistance : VectorMetric::kInnerProduct;
  return indexed;
}

SearchIndex open_index(const std::string& index, const std::string& model,
                       SearchIndex::Access access) {
  return SearchIndex::open(index, fingerprint_of(model), model, access);
}

}  // namespace simile::cli
