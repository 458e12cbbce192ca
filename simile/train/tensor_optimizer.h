// SPDX-License-Identifier: Apache-2.0
// The optimiser of weights that are tensors on some device: every weight is updated at every step,
// by calls on whole tensors, and the host waits for nothing but the norm of the gradients. With
// `rows: used` the rows of the table that were prepared are taken out, updated and put back.
//
// The numbers are those of flat_optimizer.h but for rounding, and so is the state, of a moment
// when no row lags behind there.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/train/optimizer.h"
#include "simile/train/optimizer_rule.h"

namespace simile {

class TensorOptimizer final : public Optimizer {
 public:
  // `parameters` and `gradients` [P] are the flat tensors that `slots` describe; `rows` are those
  // of the table that flat_optimizer.h would defer, the first slot. Errors: kRecipe for an unknown
  // optimiser.
  TensorOptimizer(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
                  const torch::Tensor& parameters, const torch::Tensor& gradients,
                  const std::vector<TrainedTensor>& extras = {}, int64_t rows = 0);
  // For a frozen encoder: the extras are all that is trained.
  TensorOptimizer(const OptimizerOptions& options, const std::vector<TrainedTensor>& extras);

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

  void add_slots(const std::vector<ParameterSlot>& slots, size_t begin, size_t end,
                 const torch::Tensor& parameters, const torch::Tensor& gradients);
  void add_extras(const std::vector<TrainedTensor>& extras);
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
