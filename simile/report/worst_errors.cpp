// SPDX-License-Identifier: Apache-2.0
#include "simile/report/worst_errors.h"

#include <algorithm>
#include <cmath>

#include "simile/metric/correlation.h"

namespace simile {
namespace {

// average_ranks() as shares: 0 for the lowest of all, 1 for the highest.
std::vector<double> rank_shares(const std::vector<double>& values) {
  std::vector<double> ranks = average_ranks(values);
  const double last = std::max<double>(static_cast<double>(ranks.size()) - 1, 1);
  for (double& rank : ranks) rank = (rank - 1) / last;
  return ranks;
}

std::vector<WorstError> score_errors(const Predictions& predictions) {
  const std::vector<double> gold = rank_shares(predictions.gold);
  const std::vector<double> score = rank_shares(predictions.score);
  std::vector<WorstError> errors;
  for (size_t i = 0; i < gold.size(); ++i) {
    errors.push_back({static_cast<int64_t>(i), std::abs(gold[i] - score[i]), gold[i], score[i]});
  }
  return errors;
}

std::vector<WorstError> class_errors(const Predictions& predictions) {
  std::vector<WorstError> errors;
  for (size_t i = 0; i < predictions.predicted.size(); ++i) {
    if (predictions.predicted[i] == predictions.gold_class[i]) continue;
    errors.push_back({static_cast<int64_t>(i), predictions.probability[i], 0, 0});
  }
  return errors;
}

std::vector<WorstError> query_errors(const Predictions& predictions) {
  const std::vector<double>& values = predictions.values[error_metric(predictions)];
  std::vector<WorstError> errors;
  for (size_t q = 0; q < values.size(); ++q) {
    errors.push_back({static_cast<int64_t>(q), 1 - values[q], 0, 0});
  }
  return errors;
}

}  // namespace

size_t error_metric(const Predictions& predictions) {
  const auto& names = predictions.metrics;
  const auto found = std::find(names.begin(), names.end(), "map");
  return found == names.end() ? 0 : static_cast<size_t>(found - names.begin());
}

std::vector<WorstError> find_worst_errors(const Predictions& predictions, int64_t count) {
  std::vector<WorstError> errors =
      predictions.kind == PredictionKind::kScores    ? score_errors(predictions)
      : predictions.kind == PredictionKind::kClasses ? class_errors(predictions)
                                                     : query_errors(predictions);
  errors.erase(std::remove_if(errors.begin(), errors.end(),
                              [](const WorstError& error) { return error.error <= 0; }),
               errors.end());
  std::stable_sort(errors.begin(), errors.end(),
                   [](const WorstError& a, const WorstError& b) { return a.error > b.error; });
  if (static_cast<int64_t>(errors.size()) > count) errors.resize(static_cast<size_t>(count));
  return errors;
}

}  // namespace simile
