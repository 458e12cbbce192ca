// SPDX-License-Identifier: Apache-2.0
#include "simile/core/owned_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace simile {

std::string find_foreign_options(const std::string& kind, const std::string& choice,
                                 const std::vector<OwnedOption>& options) {
  std::vector<std::string> strange;
  for (const OwnedOption& option : options) {
    const auto& owners = option.owners;
    const bool belongs = std::count(owners.begin(), owners.end(), choice) > 0;
    if (option.is_set && !belongs) strange.push_back(option.name);
  }
  if (strange.empty()) return "";
  return fmt::format("the {0} {1} does not take: {2}; remove it, or choose the {0} it belongs to",
                     kind, choice, fmt::join(strange, ", "));
}

}  // namespace simile
