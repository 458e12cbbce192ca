// SPDX-License-Identifier: Apache-2.0
// An optimiser of an encoder's flat weights and of small tensors beside them, as a stage drives it.
//
// One update of a weight is the rule that the options name (optimizer_rule.h); the gradients of all
// weights together are clipped before it. flat_optimizer.h updates the host's memory, row by row
// where a table's rows wait for use, TensorOptimizer whole tensors in place; placement.h chooses.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/train/optimizer_rule.h"

namespace simile {

// A small tensor trained beside the encoder: a part of a head, a temperature.
struct TrainedTensor {
  std::string name;
  torch::Tensor values;               // float, contiguous; changed in place
  torch::Tensor gradient;             // likewise, of the same size and on the same device
  double learning_rate_factor = 1.0;  // times the learning rate of the step
  bool decays = false;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // To be called before each forward pass with the token ids it reads. Several calls before a step
  // add up. Errors (kInput): an id outside the table.
  virtual void prepare_rows(const std::vector<int32_t>& ids) = 0;

  // One update of all weights by their gradients, which are zero on return. Returns the norm of all
  // gradients together before clipping; if it is not finite, nothing but the gradients is changed.
  virtual double step(double learning_rate) = 0;

  // Forgets the gradients of a step that was not finished. Rows stay prepared.
  virtual void clear_gradients() = 0;

  // Brings every row up to date: before the weights are evaluated, averaged or saved.
  virtual void flush_rows() = 0;

  // The current state; rows of the table may lag behind, in the state and in the weights alike.
  // With the weights of the same moment, load_state() continues bit for bit. Errors (kInput): sizes
  // that do not match this optimiser, steps that cannot be, rows that lag behind where none may.
  virtual OptimizerState state() const = 0;
  virtual void load_state(OptimizerState state) = 0;
};

// The optimiser of weights that are tensors on some device: every weight is updated at every step,
// by calls on whole tensors, and the host waits for nothing but the norm of the gradients. With
// `rows: used` the rows of the table that were prepared are taken out, updated and put back.
//
// Numbers and state equal those of flat_optimizer.h within rounding; no row lags behind.
class TensorOptimizer final : public Optimizer {
 public:
  // `parameters` and `gradients` [P] are the flat tensors that `slots` describe; `rows` are those
  // of the table that flat_optimizer.h defers, the first slot. Errors (kRecipe): unknown optimiser.
  TensorOptimizer(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
                  const torch::Tensor& parameters, const torch::Tensor& gradients,
                  const std::vector<TrainedTensor>& extras = {}, int64_t rows = 0);

  void prepare_rows(const std::vector<int32_t>& ids) override;
  double step(double learning_rate) override;
  void clear_gradients() override;
  void flush_rows() override {}
  OptimizerState state() const override;
  void load_state(OptimizerState state) override;

 private:
  struct Part {                                     // tensors updated by one call
    torch::Tensor values, gradient, first, second;  // `second` of sgd is not defined
    double learning_rate_factor;
    std::vector<std::pair<int64_t, int64_t>> decaying;  // first and number of weights that decay
  };

  void add_part(const torch::Tensor& values, const torch::Tensor& gradient, double factor);
  double gradient_norm() const;
  void update(const Part& part, const StepConstants& constants) const;
  void update_used_rows(const Part& table, const StepConstants& constants) const;

  OptimizerOptions options_;
  OptimizerRule rule_;
  int64_t rows_ = 0;        // of the table, which is parts_[0] where its used rows are updated
  std::vector<char> used_;  // [rows], of the step at hand; empty: every row is updated
  int64_t step_ = 0;
  std::vector<Part> parts_;
};

}  // namespace simile
