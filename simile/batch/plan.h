// SPDX-License-Identifier: Apache-2.0
// Batch orders as data: a pure function of (dataset, side data, seed, epoch) to a list of batches,
// which can be printed, tested and resumed (Batch-Softmax Contrastive Loss, section 3.2).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct OrderOptions;
struct OrderRow;

// Examples in the order they are seen: a permutation of 0 .. examples-1.
using ExampleOrder = std::vector<int32_t>;

// The plan of an epoch: its batches in the order they are trained, each the examples it holds.
using Batches = std::vector<std::vector<int32_t>>;

// Per column of texts (left, right, negatives), a number per example that is equal for equal texts,
// in whatever column they stand.
using TextColumns = std::vector<std::vector<int32_t>>;

ExampleOrder order_sequential(int64_t examples);

ExampleOrder order_random(int64_t examples, uint64_t seed, uint64_t epoch);

// Consecutive runs of `batch_size` have texts of like length, for cut_batches() with that size. A
// random order is cut into pools of `pool_batches` runs, the last of them smaller; each pool is
// sorted by `lengths` (tokens of all texts of an example; equal lengths stay in random order) and
// cut into runs; the runs of all pools are shuffled. The examples % batch_size examples that fill
// no run, the last of the random order, are the last run, whatever their lengths. A large pool
// makes the lengths in a batch more alike, a small one the batches more random.
ExampleOrder order_length_bucketed(const std::vector<int64_t>& lengths, int64_t batch_size,
                                   int64_t pool_batches, uint64_t seed, uint64_t epoch);

// A row for each of the examples asked for: the others nearest to it, nearest first.
using FindNeighbours = std::function<Matrix<int32_t>(const std::vector<int32_t>& examples)>;

// Algorithm 1 of the paper, which looks at the neighbours of the examples that start a group alone;
// they are asked for some at a time, with a few that turn out not to start one. A random
// permutation is walked; each unused example starts a group and takes its nearest unused neighbours
// until the group has `group_size` members; if `reverse`, the whole sequence is reversed, so that
// the one-element groups left over at the end come first. `text_ids` decides which texts are equal:
// unless `allow_same`, a group takes no example that shares a text in any column with one of its
// members (it would be a false negative).
ExampleOrder order_neighbours(int64_t examples, const FindNeighbours& find,
                              const TextColumns& text_ids, const OrderOptions& options,
                              uint64_t seed, uint64_t epoch);

// Consecutive runs of `batch_size` examples; the last may be shorter.
Batches cut_batches(const ExampleOrder& order, int64_t batch_size);

// Consecutive runs of the given sizes, which add up to the order's.
Batches cut_batches(const ExampleOrder& order, const std::vector<int32_t>& sizes);

// What cut_batches() cut.
ExampleOrder join_batches(const Batches& batches);
std::vector<int32_t> batch_sizes(const Batches& batches);

// Rows of order_table() for the orders above.
OrderRow sequential_row();
OrderRow random_row();
OrderRow length_bucketed_row();
OrderRow neighbours_row();

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
