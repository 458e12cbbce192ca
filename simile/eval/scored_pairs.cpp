// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/detail/scored_pairs.h"

#include <fmt/format.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {

std::vector<std::string> reading_warnings(const PairDataset& data) {
  const std::string warning = data.report.warning();
  return warning.empty() ? std::vector<std::string>() : std::vector<std::string>{warning};
}

std::vector<double> score_checked(Scorer& scorer, const PairDataset& data,
                                  const std::string& head) {
  if (!head.empty()) return head_scores(scorer.run_head(head, data.left, data.right), data.size());
  std::vector<double> scores = scorer.score_pairs(data.left, data.right);
  SIMILE_CHECK(
      static_cast<int64_t>(scores.size()) == data.size(), ErrorKind::kFailed,
      fmt::format("{} gave {} scores for {} pairs", scorer.name(), scores.size(), data.size()));
  for (size_t i = 0; i < scores.size(); ++i) {
    SIMILE_CHECK(
        std::isfinite(scores[i]), ErrorKind::kFailed,
        fmt::format("{} gave the score {} for the pair '{:.60}', '{:.60}': the model or its "
                    "training is broken",
                    scorer.name(), scores[i], data.left[i], data.right[i]));
  }
  return scores;
}

void keep_scored_pairs(const PairDataset& data, const std::vector<double>& scores,
                       const std::string& path, Predictions* predictions) {
  if (path.empty() && predictions == nullptr) return;
  Predictions table;
  table.left = data.left;
  table.right = data.right;
  table.gold = data.score;
  table.score = scores;
  keep_predictions(std::move(table), path, predictions);
}

}  // namespace simile
