// SPDX-License-Identifier: Apache-2.0
// What is trained with a loss, as a checkpoint stores it: without torch.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simile {

// Names and values of Loss::parameters(), in their order.
using LossState = std::vector<std::pair<std::string, std::vector<float>>>;

}  // namespace simile
