// SPDX-License-Identifier: Apache-2.0
// The trajectories of tests/golden/optimizers.json, followed by one optimiser after the other: what
// the tests of both forms of the optimiser share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/train/optimizer_rule.h"

namespace simile::testing {

inline nlohmann::json read_golden_optimizers() {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/optimizers.json");
  return nlohmann::json::parse(file);
}

// The options of one run of a set with one `clip_norm`.
inline OptimizerOptions golden_options(const nlohmann::json& set, const nlohmann::json& run) {
  OptimizerOptions options;
  options.name = run["name"];
  options.bias_correction = run["bias_correction"];
  options.epsilon = run["epsilon"];
  options.momentum = run["momentum"];
  options.weight_decay = options.l2 = run["weight_decay"];
  options.clip_norm = set["clip_norm"];
  return options;
}

// Steps along one run: `step(number, gradient)`, from 0, gives the norm before clipping,
// `weights()` the current weights.
template <typename Step, typename Weights>
void follow_golden_run(const nlohmann::json& set, const nlohmann::json& run, const Step& step,
                       const Weights& weights) {
  const auto gradients = set["gradients"].get<std::vector<std::vector<float>>>();
  const auto steps = set["steps"].get<std::vector<size_t>>();
  size_t kept = 0;
  for (size_t number = 0; number < gradients.size(); ++number) {
    EXPECT_NEAR(step(number, gradients[number]), set["norms"][number], 1e-5);
    if (number + 1 != steps[kept]) continue;
    const std::vector<float> found = weights();
    for (size_t i = 0; i < found.size(); ++i) {
      // Adam divides by the root of a gradient that coupled decay may nearly cancel, in float.
      EXPECT_NEAR(found[i], run["weights"][kept][i].get<double>(), 2e-5)
          << "weight " << i << ", step " << steps[kept];
    }
    ++kept;
  }
  EXPECT_EQ(kept, steps.size());
}

// For each trajectory `make(options, slots, start)` gives an object with `double step(rate,
// gradient)`, the norm before clipping, and `std::vector<float> weights()`.
template <typename Make>
void follow_golden_trajectories(const Make& make) {
  const nlohmann::json golden = read_golden_optimizers();
  const auto start = golden["start"].get<std::vector<float>>();
  const int64_t size = static_cast<int64_t>(start.size()), decaying = golden["decaying"];
  const std::vector<ParameterSlot> slots = {
      {"a", {decaying}, 0, decaying, true},
      {"b", {size - decaying}, decaying, size - decaying, false}};
  for (const auto& run : golden["runs"]) {
    OptimizerOptions options = golden_options(golden, run);
    SCOPED_TRACE(options_to_json(options));
    auto optimizer = make(options, slots, start);
    follow_golden_run(
        golden, run,
        [&](size_t, const auto& gradient) {
          return optimizer.step(run["learning_rate"], gradient);
        },
        [&] { return optimizer.weights(); });
  }
}

// The same for a table whose steps update only the rows they use: `make(options, slots, start,
// rows)`, and `prepare(used)` before each step.
template <typename Make>
void follow_golden_rows(const Make& make) {
  const nlohmann::json golden = read_golden_optimizers()["used_rows"];
  const auto start = golden["start"].get<std::vector<float>>();
  const int64_t rows = golden["rows"], columns = golden["columns"];
  const std::vector<ParameterSlot> slots = {{"word", {rows, columns}, 0, rows * columns, true}};
  for (const auto& run : golden["runs"]) {
    OptimizerOptions options = golden_options(golden, run);
    options.rows = "used";
    SCOPED_TRACE(options_to_json(options));
    auto optimizer = make(options, slots, start, rows);
    follow_golden_run(
        golden, run,
        [&](size_t number, const auto& gradient) {
          optimizer.prepare(golden["used"][number].get<std::vector<int32_t>>());
          return optimizer.step(run["learning_rate"], gradient);
        },
        [&] { return optimizer.weights(); });
  }
}

}  // namespace simile::testing
