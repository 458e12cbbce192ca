// SPDX-License-Identifier: Apache-2.0
// The effect of one training step on weights: the learning rate of the step, and the update rule.
//
// Learning rate schedules: with w warm-up steps of n in all, step s = 0 ... n-1 uses the peak
// learning rate times
//   s < w      s / w                              (every schedule)
//   linear     (n - s) / (n - w)
//   cosine     (1 + cos(π (s - w) / (n - w))) / 2
//   constant   1
// as transformers' get_linear_schedule_with_warmup and its like count steps.
//
// Update rules: what one step makes of a weight w with gradient g (after
// clipping), learning rate η and decay λ (0 for weights that do not decay).
//
//   adamw    w = (1 - η λ) w,  m = β1 m + (1-β1) g,  v = β2 v + (1-β2) g²
//            w = w - η/c1 · m / (sqrt(v)/sqrt(c2) + ε)
//            (Loshchilov & Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2)
//   adam     the same with g + λ w for g and no shrinking of w before
//            (Kingma & Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1)
//   adamax   with g + λ w for g: m as above,  v = max(β2 v, |g| + ε),  w = w - η/c1 · m / v
//            (the same, algorithm 2)
//   sgd      with g + λ w for g: m = μ m + g,  w = w - η m
//
// with c1 = 1-β1^t, c2 = 1-β2^t at step t, or both 1 without bias correction. All in float, as
// PyTorch's optimisers of these names compute them.
//
// A row of the word embedding that no text of a step uses gets a gradient of zero (`rows: all`), or
// is skipped with its moments, without decay (`rows: used`; t still counts every step: PyTorch's
// SparseAdam).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct OptimizerOptions {
  std::string name = "adamw";
  bool bias_correction = true;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double momentum = 0.0;       // μ
  double weight_decay = 0.01;  // λ of adamw
  double l2 = 0.0;             // λ of the others, whose `weight_decay` it is in a recipe
  double clip_norm = 1.0;
  std::string rows = "all";

  bool used_rows() const { return rows == "used"; }
  void visit(OptionVisitor& v);
};

// The numbers of one step's formula, as floats.
struct StepConstants {
  float learning_rate;                        // η
  float decay, l2;                            // λ of adamw, λ of the others
  float first_correction, second_correction;  // c1, c2
  float gradient_scale;                       // of clipping
  float shrink;                               // 1 - η decay, as the kernel rounds it
};

class OptimizerRule {
 public:
  // Errors (kRecipe): an unknown name.
  explicit OptimizerRule(const OptimizerOptions& options);

  bool has_second_moment() const { return kind_ != Kind::kSgd; }

  // The numbers of step `step`, from 1; for weights that decay, or not. gradient_scale is 1.
  StepConstants constants(int64_t step, double learning_rate, bool decays) const;

  // One step on `size` numbers; `second` is null where there is no second moment.
  void update(const StepConstants& c, int64_t size, const float* gradient, float* weight,
              float* first, float* second) const;

  // The same for gradients and first moments of zero, where coupled decay (l2) is zero too.
  void update_still(const StepConstants& c, int64_t size, float* weight, float* second) const;

 private:
  enum class Kind { kAdamW, kAdam, kAdamax, kSgd };

  OptimizerOptions options_;
  Kind kind_;
};

struct ScheduleOptions {
  std::string name = "linear";
  double warmup_fraction = 0.1;
  int64_t warmup_steps = -1;

  void visit(OptionVisitor& v);
};

// Steps of warm-up, fewer than `total_steps`, as the first has the rate 0 and one must have the
// peak: warmup_steps, or else the fraction, rounded up.
int64_t warmup_step_count(const ScheduleOptions& options, int64_t total_steps);

// Factor in [0, 1] of the peak learning rate at `step` (from 0); 0 from total_steps on, except for
// `constant`. Errors (kRecipe): an unknown name.
double schedule_factor(const ScheduleOptions& options, int64_t step, int64_t total_steps);

// The number of steps after which weights have moved: 1, or 2 where the first step's factor is 0.
int64_t first_trained_step(const ScheduleOptions& options, int64_t total_steps);

// The state that an optimiser keeps from step to step, the same for every engine. Besides the
// weights, a checkpoint needs exactly this to continue with the same bits.
struct OptimizerState {
  int64_t step = 0;                    // steps done
  std::vector<float> first_moment;     // m: the flat array, then the extras in order
  std::vector<float> second_moment;    // v; empty for sgd
  std::vector<int64_t> row_steps;      // [rows] step each row of the table stands at; empty where
                                       // rows that are not used are left alone
  std::vector<double> learning_rates;  // of the last steps up to `step`: all that a row may lack

  // Errors (kInput): another number of moments or row steps than `like` has.
  void check_sizes(const OptimizerState& like) const;
};

}  // namespace simile
