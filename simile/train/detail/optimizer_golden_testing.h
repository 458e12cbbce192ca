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

// For each trajectory `make(options, slots, start)` gives an object with `double step(rate,
// gradient)`, the norm before clipping, and `std::vector<float> weights()`.
template <typename Make>
void follow_golden_trajectories(const Make& make) {
  using Json = nlohmann::json;
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/optimizers.json");
  const Json golden = Json::parse(file);
  const auto start = golden["start"].get<std::vector<float>>();
  const auto gradients = golden["gradients"].get<std::vector<std::vector<float>>>();
  const auto steps = golden["steps"].get<std::vector<size_t>>();
  const int64_t size = static_cast<int64_t>(start.size()), decaying = golden["decaying"];
  const std::vector<ParameterSlot> slots = {
      {"a", {decaying}, 0, decaying, true},
      {"b", {size - decaying}, decaying, size - decaying, false}};
  for (const Json& expected : golden["runs"]) {
    OptimizerOptions options;
    options.name = expected["name"];
    options.bias_correction = expected["bias_correction"];
    options.epsilon = expected["epsilon"];
    options.momentum = expected["momentum"];
    options.weight_decay = expected["weight_decay"];
    options.clip_norm = golden["clip_norm"];
    SCOPED_TRACE(options_to_json(options));
    auto optimizer = make(options, slots, start);
    size_t kept = 0;
    for (size_t step = 0; step < gradients.size(); ++step) {
      EXPECT_NEAR(optimizer.step(expected["learning_rate"], gradients[step]), golden["norms"][step],
                  1e-5);
      if (step + 1 != steps[kept]) continue;
      const std::vector<float> weights = optimizer.weights();
      for (size_t i = 0; i < start.size(); ++i) {
        EXPECT_NEAR(weights[i], expected["weights"][kept][i].get<double>(), 1e-5)
            << "weight " << i << ", step " << steps[kept];
      }
      ++kept;
    }
    EXPECT_EQ(kept, steps.size());
  }
}

}  // namespace simile::testing
