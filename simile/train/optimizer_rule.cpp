// SPDX-License-Identifier: Apache-2.0
#include "simile/train/optimizer_rule.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/kernel/optimizer_update.h"

namespace simile {
namespace {

// In the order of OptimizerRule::Kind.
const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"adamw", "adam", "adamax", "sgd"};
  return all;
}

// 1 - β^t for the β that the kernel computes with.
float correction(double beta, int64_t step) {
  const double rounded = static_cast<float>(beta);
  return static_cast<float>(1.0 - std::pow(rounded, static_cast<double>(step)));
}

constexpr double kPi = 3.14159265358979323846;
constexpr double kRoundingSlack = 1e-9;  // 0.1 of 30 steps is 3, whatever the product's last bit

}  // namespace

void OptimizerOptions::visit(OptionVisitor& v) {
  v.field("name", name, choice_info("update rule of the weights", names()));
  v.only_for("name", {"adamw", "adam", "adamax"}, [this](OptionVisitor& of) {
    of.field("bias_correction", bias_correction,
             {"correct the moments for their start at zero (BERT's own optimiser did not)"});
    of.field("beta1", beta1, {"decay of the mean of gradients", "", 0.0, 0.9999});
    of.field("beta2", beta2,
             {"decay of the mean of squared gradients, or of the largest", "", 0.0, 0.999999});
    of.field("epsilon", epsilon,
             {"added to the root of the second moment, or to a gradient's size", "", 1e-30, 1.0});
  });
  v.only_for("name", {"sgd"}, [this](OptionVisitor& of) {
    of.field("momentum", momentum,
             {"how much of the last step's direction is kept", "", 0.0, 0.9999});
  });
  // Added to a gradient that Adam then scales to one size, it shrinks every row of the word
  // embedding that no text uses as fast as texts move the others: by default none.
  v.field("weight_decay", name == "adamw" ? weight_decay : l2,
          {"adamw: share of a weight that is subtracted, times the learning rate; others: share of "
           "it added to its gradient, 0 by default; not of biases and LayerNorm",
           "", 0.0, 1.0});
  v.field("clip_norm", clip_norm,
          {"largest norm of all gradients together; 0 for no limit", "", 0.0});
  v.field("rows", rows,
          choice_info("rows of the word embedding that a step updates: all, also those without a "
                      "gradient, by their moments and decay; or used, only those of the step's "
                      "texts, as in sparse Adam: much less work if a vocabulary is large",
                      {"all", "used"}));
}

OptimizerRule::OptimizerRule(const OptimizerOptions& options) : options_(options) {
  const auto found = std::find(names().begin(), names().end(), options.name);
  SIMILE_CHECK(found != names().end(), ErrorKind::kRecipe,
               "optimizer '" + options.name + "': expected adamw, adam, adamax or sgd");
  kind_ = static_cast<Kind>(found - names().begin());
}

StepConstants OptimizerRule::constants(int64_t step, double learning_rate, bool decays) const {
  StepConstants c{};
  c.learning_rate = static_cast<float>(learning_rate);
  if (decays && kind_ == Kind::kAdamW) c.decay = static_cast<float>(options_.weight_decay);
  if (decays && kind_ != Kind::kAdamW) c.l2 = static_cast<float>(options_.l2);
  c.first_correction = options_.bias_correction ? correction(options_.beta1, step) : 1.0f;
  c.second_correction = options_.bias_correction ? correction(options_.beta2, step) : 1.0f;
  c.gradient_scale = 1.0f;
  c.shrink = 1.0f;
  if (kind_ == Kind::kAdamW) {
    // The factor of one step without a gradient: its result for a weight of 1.
    const float gradient = 0.0f;
    float first = 0.0f, second = 0.0f;
    update(c, 1, &gradient, &c.shrink, &first, &second);
  }
  return c;
}

void OptimizerRule::update(const StepConstants& c, int64_t size, const float* gradient,
                           float* weight, float* first, float* second) const {
  if (kind_ == Kind::kSgd) {
    sgd_update({c.learning_rate, static_cast<float>(options_.momentum), c.l2, c.gradient_scale},
               size, weight, first, gradient);
    return;
  }
  AdamUpdate call;
  call.learning_rate = c.learning_rate;
  call.beta1 = static_cast<float>(options_.beta1);
  call.beta2 = static_cast<float>(options_.beta2);
  call.eps = static_cast<float>(options_.epsilon);
  call.decay = c.decay;
  call.l2 = c.l2;
  call.first_correction = c.first_correction;
  call.second_correction = c.second_correction;
  call.gradient_scale = c.gradient_scale;
  (kind_ == Kind::kAdamax ? adamax_update : adam_update)(call, size, weight, first, second,
                                                         gradient);
}

void OptimizerRule::update_still(const StepConstants& c, int64_t size, float* weight,
                                 float* second) const {
  if (kind_ == Kind::kSgd) return;
  const float beta2 = static_cast<float>(options_.beta2);
  const float least = kind_ == Kind::kAdamax ? static_cast<float>(options_.epsilon) : 0.0f;
  for (int64_t i = 0; i < size; ++i) {
    second[i] = std::max(beta2 * second[i], least);
    weight[i] = c.shrink * weight[i];
  }
}

void ScheduleOptions::visit(OptionVisitor& v) {
  v.field("name", name,
          choice_info(
              "learning rate after the warm-up: a line or a half cosine down to 0, or no change",
              {"linear", "cosine", "constant"}));
  v.field("warmup_fraction", warmup_fraction,
          {"share of all steps during which the learning rate rises from 0", "", 0.0, 1.0});
  v.field("warmup_steps", warmup_steps,
          {"warm-up as a number of steps; -1: use the fraction", "steps", -1.0});
}

void OptimizerState::check_sizes(const OptimizerState& like) const {
  const auto check = [](const char* what, const auto& expected, const auto& found) {
    SIMILE_CHECK(found.size() == expected.size(), ErrorKind::kInput,
                 "checkpoint: the optimiser's {} should be {} numbers, found {}; was it "
                 "written by another recipe?",
                 what, expected.size(), found.size());
  };
  check("first moment", like.first_moment, first_moment);
  check("second moment", like.second_moment, second_moment);
  check("row steps", like.row_steps, row_steps);
}

int64_t warmup_step_count(const ScheduleOptions& options, int64_t total_steps) {
  const int64_t most = std::max<int64_t>(total_steps - 1, 0);
  if (options.warmup_steps >= 0) return std::min(options.warmup_steps, most);
  const double steps = options.warmup_fraction * static_cast<double>(total_steps);
  return std::min(static_cast<int64_t>(std::ceil(steps - kRoundingSlack)), most);
}

double schedule_factor(const ScheduleOptions& options, int64_t step, int64_t total_steps) {
  const int64_t warmup = warmup_step_count(options, total_steps);
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  if (options.name == "constant") return 1.0;
  if (step >= total_steps) return 0.0;
  const double rest = static_cast<double>(total_steps - warmup);
  const double done = static_cast<double>(step - warmup) / rest;
  if (options.name == "linear") return static_cast<double>(total_steps - step) / rest;
  if (options.name == "cosine") return 0.5 * (1.0 + std::cos(kPi * done));
  throw_error(ErrorKind::kRecipe, "'{}' is no schedule; choose one of linear, cosine, constant",
              options.name);
}

int64_t first_trained_step(const ScheduleOptions& options, int64_t total_steps) {
  return schedule_factor(options, 0, total_steps) > 0 ? 1 : 2;
}

}  // namespace simile
