// SPDX-License-Identifier: Apache-2.0
// A recipe as a YAML file.
#pragma once

#include <string>

#include "simile/core/config.h"

namespace simile {

// What a finished recipe sets, in the order of its options, without comments; paths are of that
// file's folder `folder`, so that both can be moved together with the data.
std::string recipe_to_yaml(const ConfigNode& recipe, const std::string& folder);

}  // namespace simile
