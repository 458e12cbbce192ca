// SPDX-License-Identifier: Apache-2.0
// Which options a dotted path means, and of what kind they are.
#pragma once

#include <string>
#include <vector>

#include "simile/train/train_options.h"

namespace simile {

struct FoundOption {
  enum class Kind {
    kGroup,  // without options, or a list of groups
    kTruth,
    kWhole,
    kReal,
    kText,
    kList
  };

  std::string path;  // with the numbers of items
  Kind kind = Kind::kGroup;
  double number = 0;  // kWhole, kReal: its value
};

// Of the options that there are with these values. A star in `path` means all items of a list; of
// a list of one its number may be left out. A group is what its first option is, which a single
// value in its place sets.
std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path);

std::string name_of(FoundOption::Kind kind);  // "true or false", "a whole number", ...

}  // namespace simile
