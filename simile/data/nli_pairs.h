// SPDX-License-Identifier: Apache-2.0
// Triples for training out of a natural language inference set, as SimCSE makes them (Gao et al.,
// EMNLP 2021, section 4): premise, a hypothesis it entails, a hypothesis it contradicts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_dataset.h"

namespace simile {

struct NliColumns {
  std::string premise = "sentence1";
  std::string hypothesis = "sentence2";
  std::string label = "label";  // entailment, neutral, contradiction, or 0, 1, 2 in this order
  std::vector<std::string> labels = {};  // what stands in place of these three; empty: nothing
};

// One triple for each entailed hypothesis of each premise that also has contradicted ones, which
// are taken in turn: left premise, right the entailed one, one column of negatives; score 1.
// Premises in the order of their first row; `limit` > 0 keeps the first triples. Rows whose
// annotators did not agree (label "-", "-1" or nothing) and rows with an empty text are not used.
// `notes` tells how many rows and premises were left out. Memory: the file.
//
// `rows` says which rows are read; another label is a malformed one.
//
// Errors: ErrorKind::kRecipe for `labels` that are not three; ErrorKind::kInput: another label
// (file and line), no triple at all, and what TableReader reports.
PairDataset read_nli_pairs(const std::vector<std::string>& paths, const NliColumns& columns,
                           int64_t limit, const ReadOptions& rows = {});

}  // namespace simile
