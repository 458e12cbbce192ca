// SPDX-License-Identifier: Apache-2.0
// Single texts, or pairs of texts, each of one of k classes: sentiment, topics, entailment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_dataset.h"

namespace simile {

struct ClassColumns {
  std::string text = "sentence";  // empty: the texts are pairs, of `left` and `right`
  std::string left = "sentence1";
  std::string right = "sentence2";
  std::string label = "label";
};

// One element per row, in the order of the files: texts in `left` (pairs in `left` and `right`),
// the number of the class in `classes`, score 1. `class_names` are the classes as the label column
// has them, in the order of their numbers; empty: those of the rows that are used, sorted, as
// numbers when all of them are whole numbers. `skip` rows are passed over at the start; `rows` says
// which are read (its limit counts those passed over). `notes` tells which classes there are.
//
// Malformed rows: those of TableReader, an empty text, a label that is empty or not in
// `class_names`. Errors: ErrorKind::kInput for one of these (file, line, column and the names
// known), for nothing left after `skip`, and what TableReader reports; ErrorKind::kRecipe for a
// class named twice.
PairDataset read_class_data(const std::vector<std::string>& paths, const ClassColumns& columns,
                            const std::vector<std::string>& class_names, int64_t skip,
                            const ReadOptions& rows);

}  // namespace simile
