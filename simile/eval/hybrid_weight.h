// SPDX-License-Identifier: Apache-2.0
// The weight of the vectors in a hybrid, chosen on judged queries that are not tested on. A metric
// of some 80 queries is flat over the weights and its best one mostly chance, so queries are drawn
// with replacement (simile/metric/significance.h), every sample votes for the weight that is best
// on it, and the mean of the votes is taken: near the middle of the weights that do alike.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/metric/significance.h"

namespace simile {

// 0, 0.05, .. 1.
std::vector<double> hybrid_weights();

struct WeightChoice {
  double weight = 0;  // one of hybrid_weights()
  Interval votes;     // between which nine of ten samples' weights lie
  double value = 0;   // mean of the metric over all queries, with that weight
};

// values [queries, hybrid_weights()]: a metric of each query, higher being better. Of weights that
// are best alike the one next to `preferred` gets the vote, of two as near the lower. 1,000 samples
// of the stream "bootstrap" under seed 1; same choice for any number of threads. Errors
// (ErrorKind::kInput): no queries.
WeightChoice choose_hybrid_weight(const Matrix<double>& values, double preferred);

}  // namespace simile
