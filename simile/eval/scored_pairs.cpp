// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/detail/scored_pairs.h"

#include <fmt/format.h>

#include <cmath>

#include "simile/core/error.h"
#include "simile/eval/predictions.h"

namespace simile {

std::vector<std::string> reading_notes(const PairDataset& data) {
  std::vector<std::string> notes = data.notes;
  const std::string warning = data.report.warning();
  if (!warning.empty()) notes.push_back(warning);
  return notes;
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

void write_scored_pairs(const std::string& path, const PairDataset& data,
                        const std::vector<double>& scores) {
  Predictions predictions;
  predictions.left = data.left;
  predictions.right = data.right;
  predictions.gold = data.score;
  predictions.score = scores;
  write_predictions(path, predictions);
}

}  // namespace simile
