// SPDX-License-Identifier: Apache-2.0
// Several files in place of one.
#pragma once

#include <string>
#include <vector>

namespace simile {

// The files meant by `paths`, in that order. A path whose last part holds `*`, which stands for any
// number of characters, is every file of its folder that fits, sorted by name byte for byte
// (part-10 before part-2), hidden ones only where the pattern begins with a dot. A file that has
// such a name itself is meant by it. A path without `*` is taken as it is, there or not.
//
// Errors: ErrorKind::kInput for a pattern that no file fits; ErrorKind::kRecipe for `*` before the
// last part and for a file named twice.
std::vector<std::string> expand_paths(const std::vector<std::string>& paths);

// "a.tsv", "a.tsv and 3 more files": for messages.
std::string name_paths(const std::vector<std::string>& paths);

}  // namespace simile
