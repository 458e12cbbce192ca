// SPDX-License-Identifier: Apache-2.0
// Batch orders as data: a pure function of (dataset, side data, seed, epoch) to a list of batches,
// which can be printed, tested and resumed (Batch-Softmax Contrastive Loss, section 3.2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"

namespace simile {

// The examples of an epoch in the order they are seen: a permutation of 0 .. examples-1.
using ExampleOrder = std::vector<int32_t>;

struct OrderOptions {
  std::string name = "random";
  int64_t group_size = 8;
  int64_t neighbours = 500;
  std::string side = "left";
  bool allow_same = false;

  void visit(OptionVisitor& v);
};

ExampleOrder order_sequential(int64_t examples);

ExampleOrder order_random(int64_t examples, uint64_t seed, uint64_t epoch);

// Algorithm 1 of the paper. `neighbours` [examples, n] holds for each example the others nearest to
// it, nearest first. A random permutation is walked; each unused example starts a group and takes
// its nearest unused neighbours until the group has `group_size` members; the whole sequence is
// reversed, so that the one-element groups left over at the end come first. `text_ids` holds, per
// column, a number per example that is equal for equal texts: unless `allow_same`, a group takes no
// example that shares a text in any column with one of its members (it would be a false negative).
ExampleOrder order_neighbours(const Matrix<int32_t>& neighbours,
                              const std::vector<std::vector<int32_t>>& text_ids,
                              const OrderOptions& options, uint64_t seed, uint64_t epoch);

// Consecutive runs of `batch_size` examples; the last may be shorter.
std::vector<std::vector<int32_t>> cut_batches(const ExampleOrder& order, int64_t batch_size);

}  // namespace simile
