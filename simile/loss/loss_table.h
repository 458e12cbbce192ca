// SPDX-License-Identifier: Apache-2.0
// Every loss as one row of a table: what it is called, what it needs, how it is computed.
//
// To add a loss: its header, source and test, a member in LossOptions, and a row in loss_table.cpp.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "simile/loss/loss_input.h"
#include "simile/loss/loss_options.h"

namespace simile {

// What a data set, as the recipe maps it, has to offer a loss. A right column is always there.
struct LossData {
  int64_t negatives = 0;  // columns of explicit negatives
  bool has_target = false;
  double target_minimum = 1.0;
  double target_maximum = 1.0;
};

// The options several losses have in common; null where a loss has none.
struct LossParts {
  const TemperatureOptions* temperature = nullptr;
  const std::string* normalize = nullptr;
  const double* threshold = nullptr;
  const std::string* duplicates = nullptr;
};

enum class Requirement { kIgnored, kOptional, kRequired };

struct LossRow {
  const char* name;
  Requirement target;
  Requirement negatives;
  bool unit_target;  // targets must lie in [0, 1]
  const char* formula;
  const char* paper;
  const char* advice;  // when to use it
  void (*visit)(LossOptions& options, OptionVisitor& v);
  // `scale` is 1/τ for losses with a temperature, not defined for the others.
  torch::Tensor (*compute)(const LossOptions& options, const LossInput& input,
                           const torch::Tensor& scale);
  LossParts (*parts)(const LossOptions& options);
};

const std::vector<LossRow>& loss_table();  // sorted by name

// Errors (kRecipe): no such loss, with the nearest name.
const LossRow& find_loss(const std::string& name);

// docs/losses.md: one overview table and, per loss, formula, paper, advice and options.
std::string losses_to_markdown();

}  // namespace simile
