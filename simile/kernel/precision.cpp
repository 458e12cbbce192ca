// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/kernel/bfloat_matrix.h"

namespace simile {

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp32", "bf16", "int8"};  // as ProductType
  return names;
}

ProductType parse_precision(const std::string& name) {
  const auto& names = precision_names();
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kRecipe,
               fmt::format("precision {}: expected {}", name, fmt::join(names, ", ")));
  return static_cast<ProductType>(found - names.begin());
}

ProductType choose_precision(const std::string& name) {
  const ProductType products = parse_precision(name);
  if (products == ProductType::kBfloat) {
    check_bfloat_products("precision bf16", "it computes fp32 and int8");
  }
  return products;
}

}  // namespace simile
