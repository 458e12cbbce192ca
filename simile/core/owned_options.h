// SPDX-License-Identifier: Apache-2.0
// Options that only some choices have: `shingle` belongs to the order `words`, `label` to the
// format `classes`.
#pragma once

#include <string>
#include <vector>

namespace simile {

struct OwnedOption {
  const char* name;
  bool is_set;                      // to another value than its default
  std::vector<std::string> owners;  // the choices that take it
};

// An option of another choice would do nothing, unseen. What to say of those set that `choice`, a
// `kind` such as "format", does not take, or an empty text.
std::string find_foreign_options(const std::string& kind, const std::string& choice,
                                 const std::vector<OwnedOption>& options);

}  // namespace simile
