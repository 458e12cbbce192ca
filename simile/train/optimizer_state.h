// SPDX-License-Identifier: Apache-2.0
// What an optimiser remembers from step to step, the same for every engine.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

// Everything a checkpoint must hold to continue with the same bits (beside the weights).
struct OptimizerState {
  int64_t step = 0;                    // steps done
  std::vector<float> first_moment;     // m: the flat array, then the extras in order
  std::vector<float> second_moment;    // v; empty for sgd
  std::vector<int64_t> row_steps;      // [rows] step each row of the table stands at; empty where
                                       // rows that are not used are left alone
  std::vector<double> learning_rates;  // of the last steps up to `step`: all that a row may lack
};

}  // namespace simile
