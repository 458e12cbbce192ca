// SPDX-License-Identifier: Apache-2.0
// A retrieval set made of pairs, so that ranking can be measured without files of its own.
//
// Queries are the left texts of pairs with a score above 0.5, documents the right texts and
// negatives of all pairs, each distinct text once. Relevant to a query are the right texts of such
// pairs (relevance 1); right texts of its other pairs and its negatives are judged 0. Folds cut the
// pairs as they do for training - what has one group, or shares a text, stays together -, so that
// the queries are those of the part that is read; documents are those of all parts.
#pragma once

#include "simile/data/pair_data.h"
#include "simile/data/ranking_data.h"

namespace simile {

// Ids are q1, q2, ... and d1, d2, ... in the order of the rows. Errors: those of read_pairs();
// ErrorKind::kInput for single texts. Pairs of which none is positive make queries without a
// relevant document.
RankingData ranking_from_pairs(const PairDataOptions& options);

}  // namespace simile
