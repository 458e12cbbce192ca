// SPDX-License-Identifier: Apache-2.0
// Pairs of texts with a score, or texts with a class, whatever they were made from
// (simile/data/pair_data.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/reader.h"

namespace simile {

// Columns side by side; all that are not empty have the same length.
struct PairDataset {
  std::vector<std::string> left, right;  // right is empty for single texts
  std::vector<double> score;             // always there: 1 for every pair of a set without scores
  bool has_scores = false;               // they are those of a table
  std::vector<std::string> group;        // empty without a group column
  std::vector<std::vector<std::string>> negatives;  // [columns][pairs]
  std::vector<int32_t> classes;                     // place in class_names; empty without classes
  std::vector<std::string> class_names;  // as the file has them; not one element per pair
  ReadReport report;
  std::vector<std::string> notes;  // how the pairs were made and what was left out, for the user

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

// Takes out the pairs whose place in `is_kept` is 0; class_names, report and notes stay.
void keep_pairs(const std::vector<char>& is_kept, PairDataset& data);

}  // namespace simile
