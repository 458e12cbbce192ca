// SPDX-License-Identifier: Apache-2.0
// The optimiser of the fused engine: one flat array of weights in the host's memory, with a
// deferred update of embedding rows. The
// update of a single weight is the rule that the options name (optimizer_rule.h); the gradient of
// all weights together is clipped before it.
//
// Rows of the deferred table that no text of the step used have gradient zero, but their moments
// and decay still move them. They are left alone, and the missed steps are replayed one by one, in
// the same arithmetic, when the row is next used or all are asked for: the bits are those of the
// dense update. Both flush numbers below the smallest normal float to zero where the processor can
// (x86). A replay is short once the row's first moment is zero, except with coupled decay (not
// adamw), which gives every row a gradient for ever: then nothing is saved but the memory traffic.
//
// With `rows: used` nothing is replayed: such rows stay as they are, with their moments.
//
// Work is shared among OpenMP threads; the bits do not depend on how many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/train/optimizer_rule.h"

namespace simile {

// A table [rows, columns] at `offset` of the flat array whose rows are updated when they are used.
struct DeferredTable {
  int64_t offset = 0;
  int64_t rows = 0;  // 0: no table, every weight is updated at every step
  int64_t columns = 0;
};

// The slot as a deferred table. Errors (kInput): not a matrix.
DeferredTable deferred_table(const ParameterSlot& slot);

// A small tensor trained beside the flat array: a temperature, a head.
struct ExtraParameter {
  std::string name;
  float* values = nullptr;  // [size], must outlive the optimiser
  int64_t size = 0;
  double learning_rate_factor = 1.0;  // times the learning rate of the step
  bool decays = false;
};

class FlatOptimizer {
 public:
  // `slots` are adjacent from 0; `weights` is the flat array they describe and must outlive this.
  // The table must be one slot. With no slots (a frozen encoder) `weights` is null and the extras
  // are all that is trained. Errors: kInput for slots with gaps and a table that is no slot;
  // kRecipe for an unknown optimiser.
  FlatOptimizer(const OptimizerOptions& options, const std::vector<ParameterSlot>& slots,
                float* weights, const DeferredTable& table = {},
                const std::vector<ExtraParameter>& extras = {});

  // To be called before each forward pass with the rows it reads (token ids, in any order and
  // number): brings them up to date where they wait, and tells step() which rows may have a
  // gradient. Several calls before a step add up (gradient accumulation). Does nothing without a
  // table. Errors (kInput): an id outside the table.
  void prepare_rows(const std::vector<int32_t>& ids);

  // One update. `gradient` lies as the weights do and is zero in rows not prepared; it is null
  // where there are no slots. `extra_gradients[i]` belongs to extra i (null: zero; none given: all
  // are). Returns the norm of all gradients together before clipping. All gradients are set to zero
  // on return (rows not prepared are not written). If the norm is not finite, nothing but the
  // gradients is changed.
  double step(double learning_rate, float* gradient,
              const std::vector<float*>& extra_gradients = {});

  // Brings every row up to date: before the weights are evaluated or saved.
  void flush_rows();

  // The state as it stands; rows of the table may lag behind, it and the weights alike. With the
  // weights of the same moment, load_state() continues bit for bit. Errors (kInput): sizes that do
  // not match this optimiser, steps that cannot be.
  const OptimizerState& state() const { return state_; }
  void load_state(OptimizerState state);

 private:
  struct Section {  // one slot or extra: a matrix [rows, columns] with the same settings
    float* values;
    int64_t moment_offset;    // into the moments
    int64_t gradient_offset;  // into the flat gradient, or into that of the extra
    int64_t rows, columns;
    int64_t first_sum;  // of row 0 in row_sums_
    double learning_rate_factor;
    bool decays;
    int extra;  // -1: part of the flat array
  };
  struct Piece {  // rows of one section that one thread updates
    size_t section;
    int64_t first_row, rows;
  };

  void add_section(float* values, int64_t rows, int64_t columns, double factor, bool decays,
                   int extra);
  void cut_pieces();
  StepConstants make_constants(int64_t step, double learning_rate, const Section& section) const;
  float* second_moment(int64_t offset);  // null where there is none
  void replay_row(int64_t row);
  // `gradients`: the flat gradient, then those of the extras.
  double gradient_norm(const std::vector<float*>& gradients);
  void update_rows(const Section& section, int64_t row, int64_t rows, float* gradient,
                   const StepConstants& constants);
  void update_all(const std::vector<float*>& gradients,
                  const std::vector<StepConstants>& constants);
  void clear_gradients(const std::vector<float*>& gradients);
  void sort_touched();
  void forget_touched();

  OptimizerRule rule_;
  double clip_norm_;
  bool used_rows_;
  DeferredTable table_;
  size_t table_section_ = 0;
  size_t extra_count_ = 0;
  std::vector<Section> sections_;
  std::vector<Piece> pieces_;     // all but the deferred table
  std::vector<double> row_sums_;  // squares of the gradient per row, rows of all sections in order
  OptimizerState state_;
  std::vector<StepConstants> history_;  // of the table, one per entry of state_.learning_rates
  std::vector<int64_t> touched_;        // rows prepared since the last step
  std::vector<char> is_touched_;        // [rows]
  std::vector<float> zeros_;  // a gradient that is not there: a row not used, an extra without one
};

}  // namespace simile
