// SPDX-License-Identifier: Apache-2.0
#include "simile/train/model_weights.h"

#include <fmt/format.h>

#include "simile/core/error.h"

namespace simile {

ModelWeights::ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads,
                           const Placement& placement)
    : placement_(placement),
      encoder_(place_encoder(settings.encoder.shape(), placement)),
      head_settings_(heads) {
  for (const HeadSettings& head : heads) {
    heads_.push_back(place_head(head, settings.embedding_size(), placement));
  }
}

int64_t ModelWeights::count() const {
  int64_t count = encoder_->parameter_count();
  for (const HeadModule& head : heads_) count += head.parameter_count();
  return count;
}

std::vector<float> ModelWeights::copy() const {
  std::vector<float> all = encoder_->to_host();
  all.reserve(static_cast<size_t>(count()));
  for (const HeadModule& head : heads_) {
    const std::vector<float> weights = head.to_host();
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

void ModelWeights::assign(const std::vector<float>& weights) {
  SIMILE_CHECK(static_cast<int64_t>(weights.size()) == count(), ErrorKind::kInput,
               fmt::format("there are {} weights, the model with its heads has {}", weights.size(),
                           count()));
  const float* next = weights.data();
  encoder_->from_host(next);
  next += encoder_->parameter_count();
  for (HeadModule& head : heads_) {
    head.from_host(next);
    next += head.parameter_count();
  }
}

}  // namespace simile
