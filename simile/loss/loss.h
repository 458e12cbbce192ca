// SPDX-License-Identifier: Apache-2.0
// A loss as a recipe names it: options, and the trained temperature if it has one.
#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

#include "simile/loss/loss_input.h"
#include "simile/loss/loss_options.h"
#include "simile/loss/loss_table.h"
#include "simile/loss/temperature.h"

namespace simile {

// A tensor that the optimiser trains beside the model: float, without weight decay.
struct LossParameter {
  std::string name;
  torch::Tensor tensor;
  double learning_rate;  // its own peak; follows the model's schedule
};

class Loss {
 public:
  // Errors (kRecipe): an unknown name.
  explicit Loss(const LossOptions& options);
  Loss(const Loss&) = delete;  // a copy would share the trained parameter
  Loss(Loss&&) = default;

  // The loss of one batch: one number, with gradients to the embeddings and to parameters().
  // Errors: as the chosen loss's function.
  torch::Tensor operator()(const LossInput& input) const;

  std::vector<LossParameter> parameters() const;
  void clamp_parameters();  // after each optimiser step: keeps τ in [0.001, 100]

  // Numbers for the log: {"temperature", τ} for losses that have one.
  std::vector<std::pair<std::string, double>> values() const;

  // What a checkpoint stores, by name; empty without parameters. Errors of load_state() (kInput): a
  // name that is missing or not known, a number that is not finite.
  std::vector<std::pair<std::string, double>> state() const;
  void load_state(const std::vector<std::pair<std::string, double>>& state);

  const LossRow& row() const { return *row_; }
  bool needs_groups() const;  // LossInput's groups must be given

 private:
  LossOptions options_;
  const LossRow* row_;
  std::vector<Temperature> temperature_;  // none or one
};

// Compares a loss with the data before training. Errors (kRecipe): the loss lacks something
// (targets, negatives, targets in [0, 1], a target above its threshold); the message says what the
// loss needs, what the data has, and which losses would fit. Returns warnings: data the loss does
// not look at.
std::vector<std::string> check_loss_data(const LossOptions& options, const LossData& data);

// Warnings about options that rarely belong together: a temperature near 0.1 with a normalisation
// by coordinate, or of 1 and more with l2.
std::vector<std::string> loss_option_warnings(const LossOptions& options);

}  // namespace simile
