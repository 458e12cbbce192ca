// SPDX-License-Identifier: Apache-2.0
// How often two tokens stand near each other, and what that says beyond their frequencies.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/model/detail/sparse_matrix.h"
#include "simile/model/piece_corpus.h"
#include "simile/model/ppmi_start.h"

namespace simile::detail {

struct PpmiMatrix {
  std::vector<int32_t> tokens;  // the token of each row: most frequent first, then lowest id first
  SparseMatrix matrix;
};

// The matrix of ppmi_start.h over the tokens that occur. One row after the other is counted from
// the places of its token, so that no pair is held before its row is done.
PpmiMatrix count_ppmi(const PieceCorpus& corpus, const PpmiOptions& options, const WorkDone& done);

}  // namespace simile::detail
