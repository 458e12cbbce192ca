// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {

const std::vector<PoolingModeRow>& pooling_modes() {
  static const std::vector<PoolingModeRow> rows = {
      {PoolingMode::kCls, "cls", "pooling_mode_cls_token", "h_1"},
      {PoolingMode::kMax, "max", "pooling_mode_max_tokens", "max_t h_t, per dimension"},
      {PoolingMode::kMean, "mean", "pooling_mode_mean_tokens", "(1/n) sum_t h_t"},
      {PoolingMode::kMeanSqrtLength, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens",
       "(1/sqrt n) sum_t h_t"},
      {PoolingMode::kWeightedMean, "weightedmean", "pooling_mode_weightedmean_tokens",
       "sum_t t h_t / sum_t t"},
      {PoolingMode::kLastToken, "lasttoken", "pooling_mode_lasttoken", "h_n"},
  };
  return rows;
}

std::string pooling_mode_name(PoolingMode mode) {
  return pooling_modes()[static_cast<size_t>(mode)].name;
}

std::vector<std::string> pooling_mode_names() {
  std::vector<std::string> names;
  for (const PoolingModeRow& row : pooling_modes()) names.emplace_back(row.name);
  return names;
}

PoolingMode parse_pooling_mode(const std::string& name) {
  for (const PoolingModeRow& row : pooling_modes()) {
    if (name == row.name) return row.mode;
  }
  throw Error(ErrorKind::kRecipe, fmt::format("unknown pooling \"{}\"; known: {}", name,
                                              fmt::join(pooling_mode_names(), ", ")));
}

std::string pooling_name(const Pooling& pooling) {
  if (pooling.modes.empty()) return "by the encoder";
  std::string name;
  for (const PoolingMode mode : pooling.modes) {
    name += (name.empty() ? "" : "+") + pooling_mode_name(mode);
  }
  return name;
}

int64_t ModelSettings::pooled_size() const {
  return encoder.hidden * std::max<int64_t>(1, static_cast<int64_t>(pooling.modes.size()));
}

int64_t ModelSettings::embedding_size() const {
  return modules.empty() ? pooled_size() : modules.back().outputs;
}

}  // namespace simile
