// SPDX-License-Identifier: Apache-2.0
// Makes a recipe for a table from the contents of its columns:
//
//   two texts, perhaps negatives    mnrl, measured as a ranking (map)
//   two texts and a score           cosent, sts (spearman); a score of two values: pairs (ap)
//   one text or two and a class     a head with softmax_classification, classification (accuracy)
//
// Dev, which chooses the best weights, and test are the given files. Without: files dev.* and
// test.* beside a table train.*, or the judgements of a ranking set in its folder; else a tenth of
// the table, for a test only if it has 1,000 rows. Nothing trains on a test.
#pragma once

#include <string>

#include "simile/data/reader.h"

namespace simile {

struct DraftOptions {
  std::string data, model = "simile-mini-3", dev, test;
  std::string left, right, score, label;
  TableOptions table;

  void visit(OptionVisitor& v);  // all but `data`
};

struct RecipeDraft {
  std::string name;   // of the run
  std::string yaml;   // the recipe; its paths are those of the options
  std::string found;  // lines for the user: the columns, the task, dev and test
};

// Errors: ErrorKind::kInput for a table that suggests no task, and the errors of TableReader;
// ErrorKind::kUsage for a missing column, and for a table test.* beside a train.*.
RecipeDraft draft_recipe(const DraftOptions& options);

}  // namespace simile
