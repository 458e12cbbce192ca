// SPDX-License-Identifier: Apache-2.0
// The optimiser of the fused engine: one flat array of weights in the host's memory, with a
// deferred update of embedding rows. The update of a single weight is the rule that the options
// name (optimizer_rule.h); the gradient of all weights together is clipped before it.
//
// Rows of the deferred table that no text of the step used have gradient zero, but their moments
// and decay still move them. They are not touched, and the missed steps are replayed one by one, in
// the same arithmetic, when the row is next used or all rows are read: the bits equal those of the
// dense update. Both flush numbers below the smallest normal float to zero where the processor can
// (x86). A replay is short once the row's first moment is zero, except with coupled decay (not
// adamw), which gives every row a gradient for ever: then nothing is saved but the memory traffic.
//
// With `rows: used` nothing is replayed: such rows stay as they are, with their moments.
//
// Work is shared among OpenMP threads; the bits do not depend on how many.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/train/optimizer.h"

namespace simile {

// A table [rows, columns] at `offset` of the flat array whose rows are updated when they are used.
struct DeferredTable {
  int64_t offset = 0;
  int64_t rows = 0;  // 0: no table, every weight is updated at every step
  int64_t columns = 0;
};

// The slot as a deferred table. Errors (kInput): not a matrix.
DeferredTable deferred_table(const ParameterSlot& slot);

class FlatOptimizer final : public Optimizer {
 public:
  // `parameters` and `gradients` [P] are the flat tensors in the host's memory that `slots`,
  // adjacent from 0, describe; a gradient is zero in rows of the table that were not prepared. The
  // table must be one slot. With no slots (a frozen encoder) the extras are all that is trained.
  // Errors: kInput for slots with gaps, a table that is none; kRecipe: another optimiser.
  FlatOptimizer(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
                const torch::Tensor& parameters, const torch::Tensor& gradients,
                const DeferredTable& table = {}, const std::vector<TrainedTensor>& extras = {});

  // Brings waiting rows up to date, and sets rows that step() has gradients of; needs a table.
  void prepare_rows(const std::vector<int32_t>& ids) override;
  double step(double learning_rate) override;
  void clear_gradients() override;
  void flush_rows() override;
  OptimizerState state() const override { return state_; }
  void load_state(OptimizerState state) override;

 private:
  struct Section {  // one slot or extra: a matrix [rows, columns] with the same settings
    float *values, *gradient;
    int64_t moment_offset, rows, columns;
    int64_t first_sum;  // of row 0 in row_sums_
    double learning_rate_factor;
    bool decays;
  };
  struct Piece {  // rows of one section that one thread updates
    size_t section;
    int64_t first_row, rows;
  };

  void add_section(float* values, float* gradient, int64_t rows, int64_t columns, double factor,
                   bool decays);
  StepConstants make_constants(int64_t step, double learning_rate, const Section& section) const;
  float* second_moment(int64_t offset);  // null where there is none
  void replay_row(int64_t row);
  double gradient_norm();
  void update_rows(const Section& section, int64_t row, int64_t rows,
                   const StepConstants& constants);
  void forget_touched();

  OptimizerRule rule_;
  double clip_norm_;
  bool used_rows_;
  DeferredTable table_;
  size_t table_section_ = 0;
  torch::Tensor parameters_, gradients_;
  std::vector<TrainedTensor> extras_;
  std::vector<Section> sections_;
  std::vector<Piece> pieces_;     // all but the deferred table
  std::vector<double> row_sums_;  // squares of the gradient per row, rows of all sections in order
  OptimizerState state_;
  std::vector<StepConstants> history_;  // of the table, one per entry of state_.learning_rates
  std::vector<int64_t> touched_;        // rows prepared since the last step
  std::vector<char> is_touched_;        // [rows]
  std::vector<float> zeros_;            // the gradient of a row that is not used
};

}  // namespace simile
