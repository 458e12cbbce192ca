// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/model_settings.h"

#include <fmt/format.h>

#include "simile/core/error.h"

namespace simile {

std::string pooling_mode_name(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kCls:
      return "cls";
    case PoolingMode::kMean:
      return "mean";
    case PoolingMode::kMax:
      return "max";
  }
  return "";
}

PoolingMode parse_pooling_mode(const std::string& name) {
  for (const PoolingMode mode : {PoolingMode::kCls, PoolingMode::kMean, PoolingMode::kMax}) {
    if (name == pooling_mode_name(mode)) return mode;
  }
  throw Error(ErrorKind::kRecipe,
              fmt::format("unknown pooling \"{}\"; known: cls, mean, max", name));
}

}  // namespace simile
