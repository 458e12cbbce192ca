// SPDX-License-Identifier: Apache-2.0
// Keeps training pairs apart from test sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_dataset.h"
#include "simile/data/text_match.h"

namespace simile {

// Leaves out a pair when one of its texts (left, right or a negative) is a text of the test files,
// compared as simile/data/overlap.h compares whole texts; with `overlap` above 0 also when one of
// its texts holds at least that share of a test text (simile/data/text_match.h). Test texts of
// fewer than four words do not count.
struct LeaveOutOptions {
  std::vector<std::string> files;
  double overlap = 0;
  int64_t shingle = kShingleWords;
};

struct LeftOut {
  int64_t equal = 0;  // pairs
  int64_t near = 0;   // others
};

// Keys of the telling texts of `files`, in which texts are found as simile/data/overlap.h does.
// Errors: those of the readers.
KeySet read_text_keys(const std::vector<std::string>& files);

// Removes such pairs, in parallel. Errors: those of the readers, and of NearTextFinder.
LeftOut leave_out_texts_of(const LeaveOutOptions& options, PairDataset& data);

}  // namespace simile
