// SPDX-License-Identifier: Apache-2.0
// Labelled negatives beside their anchor (Batch-Softmax Contrastive Loss, section 3.3): a pair that
// is labelled negative is near its left text by the way data sets are made, so that, put into the
// batch where this text has a positive pair, it is a hard negative there. The loss leaves it out of
// the numerator (eq. 5).
//
// The pairs of an objective are of three kinds:
//   positive   target above a threshold; its left text is an anchor
//   attached   not positive, and its left text is an anchor: it waits for a batch of that anchor
//   single     not positive, and its left text has no positive pair
// An order places the positive and the single pairs, the *placed* ones; nothing is lost of those.
// The attached ones fill the room that the batches leave:
//
//   U = placed + Σ_anchors min(attached of the anchor, most · positives of the anchor)
//   B = min(placed, ceil(U / batch_size))        batches, whatever seed and epoch
//
// The order is cut into B runs whose sizes differ by at most one. Then each batch takes attached
// pairs, in rounds: in every round each anchor of the batch, in the order in which its positives
// stand there, gives its next one, until the batch has `batch_size` examples or every anchor has
// given `most`. An anchor gives its pairs in an order drawn anew for each epoch, each at most once.
// Where a batch has no room, attached pairs are left out of the epoch; how many is told, and which
// ones changes from epoch to epoch.
#pragma once

#include <cstdint>

#include "simile/batch/plan.h"

namespace simile {

struct LabelledNegatives {
  ExampleOrder placed;                   // examples that an order places, ascending
  std::vector<int32_t> anchor;           // [examples] number of the left text
  std::vector<char> is_positive;         // [examples]
  std::vector<std::vector<int32_t>> of;  // [anchors] attached examples; empty for other texts

  int64_t attached() const { return static_cast<int64_t>(anchor.size() - placed.size()); }
};

// `anchor` [examples]: a number, not negative, that is equal for equal left texts.
LabelledNegatives find_labelled_negatives(const std::vector<int32_t>& anchor,
                                          const std::vector<char>& is_positive);

// B; `most` is at least 1.
int64_t count_filled_batches(const LabelledNegatives& negatives, int64_t most, int64_t batch_size);

struct FilledBatches {
  Batches batches;       // of each the placed examples in their order, then the attached ones
  int64_t left_out = 0;  // attached examples that found no room
};

// `order` holds the placed examples. The random stream is "labelled negatives".
FilledBatches fill_batches(const LabelledNegatives& negatives, const ExampleOrder& order,
                           int64_t most, int64_t batch_size, uint64_t seed, uint64_t epoch);

}  // namespace simile
