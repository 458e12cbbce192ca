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

}  // namespace simile
