// SPDX-License-Identifier: Apache-2.0
// Every loss as one row of a table: what it is called, what it needs, how it is computed.
//
// To add a loss: its options and function in the room that it belongs to, its row among the room's
// rows, a test. A new room is declared in detail/row_parts.h and named in loss_table().
#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "simile/loss/loss_input.h"
#include "simile/loss/loss_options.h"
#include "simile/loss/siar.h"

namespace simile {

struct TripletOptions;

// The options several losses have in common; null where a loss has none.
struct LossParts {
  const TemperatureOptions* temperature = nullptr;
  const std::string* normalize = nullptr;
  const double* threshold = nullptr;
  const std::string* duplicates = nullptr;
  const std::string* same_class = nullptr;
  const double* projection_learning_rate = nullptr;  // of a trained projection onto a teacher
  const TripletOptions* triplet = nullptr;           // margin and distance of triplets
};

// What a loss is computed with beside its options and the batch.
struct LossContext {
  torch::Tensor scale;       // 1/τ for losses with a temperature, not defined for the others
  torch::Tensor projection;  // [E, D] onto a teacher's vectors, or not defined
  std::function<torch::Tensor(const LossInput&)> terms;  // the weighted sum of the losses in `of`
};

struct LossRow {
  const char* name;
  const char* formula;
  const char* paper;
  const char* advice;   // when to use it
  const char* example;  // the recipe's `loss:`
  LossNeeds (*needs)(const LossOptions& options);
  void (*visit)(LossOptions& options, OptionVisitor& v);
  torch::Tensor (*compute)(const LossOptions& options, const LossInput& input,
                           const LossContext& context);
  // What smoothness is measured on (siar.h): logits of a head, scores of a row of the batch,
  // or the score of each pair. A loss made of others has that of its first.
  SmoothOutput (*output)(const LossOptions& options, const LossInput& input,
                         const LossContext& context);
  LossParts (*parts)(const LossOptions& options);
};

const std::vector<LossRow>& loss_table();  // sorted by name

// Errors (kRecipe): no such loss, with the nearest name.
const LossRow& find_loss(const std::string& name);

// docs/losses.md: one overview table and, per loss, formula, needs, paper, advice and options.
std::string losses_to_markdown();

}  // namespace simile
