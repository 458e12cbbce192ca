// SPDX-License-Identifier: Apache-2.0
#include "simile/train/model_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {

size_t find_head(const std::vector<HeadSettings>& heads, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < heads.size(); ++i) {
    names.push_back(heads[i].name);
    if (names.back() == name) return i;
  }
  throw Error(ErrorKind::kRecipe,
              fmt::format("there is no head '{}'; the recipe's `heads` and those of the model are "
                          "[{}]",
                          name, fmt::join(names, ", ")));
}

ModelWeights::ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads)
    : encoder_(settings.encoder.shape()), head_settings_(heads) {
  for (const HeadSettings& head : heads) heads_.emplace_back(head, settings.embedding_size());
}

int64_t ModelWeights::head_offset(size_t head) const {
  int64_t offset = encoder_.parameter_count();
  for (size_t i = 0; i < head; ++i) offset += heads_[i].parameter_count();
  return offset;
}

int64_t ModelWeights::count() const { return head_offset(heads_.size()); }

std::vector<float> ModelWeights::copy() {
  std::vector<float> all(encoder_.weights(), encoder_.weights() + encoder_.parameter_count());
  all.reserve(static_cast<size_t>(count()));
  for (HeadModule& head : heads_) {
    all.insert(all.end(), head.weights(), head.weights() + head.parameter_count());
  }
  return all;
}

void ModelWeights::assign(const std::vector<float>& weights) {
  SIMILE_CHECK(static_cast<int64_t>(weights.size()) == count(), ErrorKind::kInput,
               fmt::format("there are {} weights, the model with its heads has {}", weights.size(),
                           count()));
  const float* next = weights.data();
  std::copy_n(next, encoder_.parameter_count(), encoder_.weights());
  next += encoder_.parameter_count();
  for (HeadModule& head : heads_) {
    std::copy_n(next, head.parameter_count(), head.weights());
    next += head.parameter_count();
  }
}

}  // namespace simile
