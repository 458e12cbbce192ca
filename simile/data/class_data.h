// SPDX-License-Identifier: Apache-2.0
// Tables whose rows have a label: texts or pairs of one of k classes (sentiment, topics,
// entailment), and the triples that natural language inference gives for training.
#pragma once

#include "simile/data/pair_dataset.h"

namespace simile {

struct PairDataOptions;

// One element per row, in the order of the files: texts in `left` (pairs in `left` and `right`
// where the option `text` is empty), the number of the class in `classes`, score 1. `class_names`
// are the classes as the label column has them, in the order of their numbers; empty: the classes of
// the rows that are used, sorted, as numbers when all of them are whole numbers. `notes` names the
// classes.
//
// Malformed rows: those of TableReader, an empty text, a label that is empty or not in
// `class_names`. Errors: ErrorKind::kInput for one of these (file, line, column and the names
// known), for nothing left after `skip`, and what TableReader reports; ErrorKind::kRecipe for a
// class named twice.
PairDataset read_class_data(const PairDataOptions& options);

// Triples as SimCSE makes them (Gao et al., EMNLP 2021, section 4): premise (the column `left`), a
// hypothesis (`right`) it entails, a hypothesis it contradicts. One triple for each entailed
// hypothesis of each premise that also has contradicted ones, which are taken in turn: left premise,
// right the entailed one, one column of negatives; score 1. Premises in the order of their first
// row; `limit` > 0 keeps the first triples. Labels are entailment, neutral and contradiction, or 0, 1
// and 2, or the three `class_names`; another is malformed. Rows whose annotators did not agree
// (label "-", "-1" or nothing) and rows with an empty text are not used. `notes` tells how many rows
// and premises were left out. Memory: the file.
//
// Errors: ErrorKind::kRecipe for class_names that are not three; ErrorKind::kInput: another label
// (file and line), no triple at all, and what TableReader reports.
PairDataset read_nli_pairs(const PairDataOptions& options);

}  // namespace simile
