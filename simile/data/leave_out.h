// SPDX-License-Identifier: Apache-2.0
// Keeps training pairs apart from test sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_dataset.h"

namespace simile {

// Takes out the pairs one of whose texts also stands in one of `files`, compared as
// simile/data/overlap.h compares whole texts of at least four words. Returns how many. Errors:
// those of the readers.
int64_t leave_out_texts_of(const std::vector<std::string>& files, PairDataset& data);

}  // namespace simile
