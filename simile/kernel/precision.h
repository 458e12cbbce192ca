// SPDX-License-Identifier: Apache-2.0
// The names of what a model's matrix products are computed in (ProductType).
#pragma once

#include <string>
#include <vector>

#include "simile/kernel/product_type.h"

namespace simile {

const std::vector<std::string>& precision_names();  // fp32, bf16, int8

// Errors (kRecipe): none of these names.
ProductType parse_precision(const std::string& name);

// Of products on the CPU. Errors (kRecipe): none of these names, or one that this processor has no
// instructions for, with those that it has.
ProductType choose_precision(const std::string& name);

}  // namespace simile
