// SPDX-License-Identifier: Apache-2.0
// The pairs of a table one by one. Used by simile/data/pair_data.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/data/reader.h"

namespace simile {

struct PairRow {
  std::string left, right;  // right is empty for single texts
  double score = 1;
  std::string group;
  std::vector<std::string> negatives;
};

class PairRowReader {
 public:
  // Passes over `skip` pairs, and stops after `limit`.
  explicit PairRowReader(const PairDataOptions& options);

  // False at the end.
  bool next(PairRow& pair);

  // The rows so far had scores of their own.
  bool has_scores() const { return !options_.score.empty() && unscored_ == 0; }

  const ReadReport& report() const { return reader_.report(); }

 private:
  double read_score(const Row& row) const;
  void check(const Row& row, double& score);

  const PairDataOptions options_;
  const std::vector<std::string> files_;
  std::map<std::string, double> score_names_;
  size_t score_column_, group_column_, first_negative_;
  TableReader reader_;
  int64_t passed_over_ = 0, unscored_ = 0;
};

// Columns that are read of a table with the columns `header`.
std::vector<std::string> used_columns(const PairDataOptions& options,
                                      const std::vector<std::string>& header);

// How their rows are read, up to `limit` of them.
ReadOptions row_options(const PairDataOptions& options, int64_t limit);

}  // namespace simile
