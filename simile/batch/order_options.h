// SPDX-License-Identifier: Apache-2.0
// The recipe group `order`: in which order, and beside which others, an objective's examples are
// trained (Batch-Softmax Contrastive Loss, section 3.2 and 3.3).
//
//   order: random
//   order: {name: neighbours, group_size: 4}
//   order: {name: words, shingle: 2, labelled_negatives: 2}
//
//   sequential       as the data has them
//   random           a random permutation
//   length_bucketed  batches of texts of like length (order_length_bucketed())
//   no_duplicates    no text twice in a batch (distinct_batches.h)
//   classes          batches of several classes with group_size examples each (class_batches.h)
//   neighbours       groups of examples that are near each other under the model as it is at the
//                    start of the epoch (order_neighbours())
//   words, clusters, neighbour_words
//                    groups of examples that share a word or phrase of their text, a k-means
//                    cluster of its vector, or one of its nearest neighbours (word_order.h)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct OrderOptions {
  std::string name = "random";
  int64_t group_size = 8;
  std::string side = "left";
  int64_t neighbours = 500;
  bool allow_same = false;
  bool reverse = true;
  int64_t shingle = 1;
  std::vector<std::string> stop_words;
  int64_t clusters = 300;
  int64_t top_words = 3;
  int64_t pool_batches = 64;
  std::string precision = "auto";  // or one of kernel/precision.h
  int64_t labelled_negatives = 0;
  double positive_above = -1;

  // Whether the order compares vectors of the texts of `side`, made anew for every epoch.
  bool needs_vectors() const;
  // In what those are computed, by its name in kernel/precision.h: auto is bytes on the CPU, which
  // group nearly the same examples for a fraction of the time, and floats on another device.
  std::string chosen_precision(bool on_cpu) const;
  // Whether it looks at the texts of an example one by one, which a joint sequence does not have.
  bool needs_texts() const;

  void visit(OptionVisitor& v);

 private:
  void visit_labelled_negatives(OptionVisitor& v);
};

// Errors (kRecipe), which name the data `file`: options set that the order does not take;
// positive_above without labelled_negatives.
void check_order_options(const OrderOptions& options, const std::string& file);

}  // namespace simile
