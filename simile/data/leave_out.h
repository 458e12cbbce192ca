// SPDX-License-Identifier: Apache-2.0
// Keeps training pairs apart from test sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_dataset.h"
#include "simile/data/text_match.h"

namespace simile {

// What is left out: pairs one of whose texts (left, right or a negative) is a text of the test
// files, compared as simile/data/overlap.h compares whole texts; with `overlap` above 0 also those
// one of whose texts holds at least that share of a test text (simile/data/text_match.h). Test
// texts of fewer than four words do not count.
struct LeaveOutOptions {
  std::vector<std::string> files;
  double overlap = 0;
  int64_t shingle = kShingleWords;
};

struct LeftOut {
  int64_t equal = 0;  // pairs
  int64_t near = 0;   // others
};

// The keys of the telling texts of `files`, as simile/data/overlap.h finds texts in files. Errors:
// those of the readers.
KeySet read_text_keys(const std::vector<std::string>& files);

// Takes them out, in parallel. Errors: those of the readers, and of NearTextFinder.
LeftOut leave_out_texts_of(const LeaveOutOptions& options, PairDataset& data);

}  // namespace simile
