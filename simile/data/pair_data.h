// SPDX-License-Identifier: Apache-2.0
// Pairs of texts with a score, read by column name from .tsv, .csv or .jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/reader.h"

namespace simile {

// Columns side by side; all non-empty members have the same length.
struct PairDataset {
  std::vector<std::string> left, right;
  std::vector<double> score;       // always there: 1 for every pair of a set without scores
  std::vector<std::string> group;  // empty without a group column
  std::vector<std::vector<std::string>>
      negatives;  // [columns][pairs]; training refuses an empty text
  ReadReport report;

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

struct PairDataOptions {
  std::string path;
  std::string left = "sentence1";
  std::string right = "sentence2";
  std::string score = "score";
  double score_scale = 1;
  std::vector<std::string> score_names;
  std::string group;
  std::vector<std::string> negatives;
  int64_t limit = 0;

  void visit(OptionVisitor& v) {
    v.field("path", path, path_info("file of pairs: .tsv, .csv or .jsonl, also with .gz"));
    visit_columns(v);
    v.field("limit", limit, {"pairs to read; 0 reads all", "pairs", 0});
  }
  void visit_columns(OptionVisitor& v) {
    v.field("left", left, {"column of the first text"});
    v.field("right", right, {"column of the second text"});
    v.field("score", score, {"column of the score; empty when the set has none: all pairs get 1"});
    v.field("score_scale", score_scale,
            {"scores are divided by this: 5 brings 0..5 to 0..1", "", 1e-300});
    v.field("score_names", score_names,
            {"numbers for scores given as names: [Good=1, Bad=0]; scaled like the others"});
    v.field("group", group,
            {"column that names what belongs together, such as a query; may be empty"});
    v.field("negatives", negatives, {"columns of texts that do not match the first text"});
  }
};

// Errors: ErrorKind::kInput from the reader and for a score that is neither a number nor a known
// name; ErrorKind::kRecipe for score_names that are not NAME=NUMBER and for an empty path.
PairDataset read_pairs(const PairDataOptions& options);

}  // namespace simile
