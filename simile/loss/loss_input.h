// SPDX-License-Identifier: Apache-2.0
// The inputs of a loss: pooled embeddings of one batch, its targets, and the outputs of heads and
// frozen models for the same texts. Also steps that many losses share: normalised embeddings,
// similarities and distances of rows, one score of each pair, a temperature.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// A batch of m pairs, or of m single texts, with embeddings of size D. Embeddings may be float or
// double, on any device; gradients flow to all of them and to the logits.
struct LossInput {
  torch::Tensor left;                    // [m, D]
  torch::Tensor right;                   // [m, D]; not defined for single texts
  std::vector<torch::Tensor> negatives;  // n tensors [m, D]: row i of each is a negative of left i
  torch::Tensor target;                  // [m]; not defined: every pair is positive (1)
  torch::Tensor classes;                 // [m] of int64 from 0; not defined: there are none

  // Equal ids mean equal texts, [m] of int64 each. Only looked at by losses that treat duplicates;
  // they may be left undefined otherwise.
  torch::Tensor left_group;
  torch::Tensor right_group;

  // Output of the objective's head (simile/nn/head.h): logits of each pair or text and, for losses
  // that compare all lefts with all rights, of all pairs of the batch. Undefined without a head.
  torch::Tensor logits;        // [m, k]
  torch::Tensor cross_logits;  // [m, m + n·m], columns as bsc.h stacks its right side

  // The vectors that frozen models gave the same texts, per model [m, E]; without gradients.
  std::vector<torch::Tensor> left_teachers;
  std::vector<torch::Tensor> right_teachers;  // empty for single texts

  // The product type for the scores of all pairs of a batch, if they are only used in a softmax
  // (simile/nn/row_products.h).
  ProductType products = ProductType::kFloat;
};

// Errors (kInput): an embedding that is not [m, D] with m > 0, sides of different shapes, a target,
// group, class, logit or teacher's vector for another number of pairs, with name and shapes.
void check_loss_input(const LossInput& input);

// The same, and there is a right side.
void check_pair_input(const LossInput& input);

// The target as a tensor like `left` in type and device: ones when it is not defined.
torch::Tensor target_or_ones(const LossInput& input);

// Normalisations of a batch of embeddings x [m, D] (METHODS section 1; BSC-loss section 3.5).
//
//   none              x
//   l2                each row divided by its L2 norm
//   coordinate_l2     each column divided by its L2 norm over the batch
//   coordinate_range  each column divided by (maximum - minimum) over the batch
//   coordinate_minmax (x - minimum) / (maximum - minimum) per column
//
// Gradients flow through norms, minima and maxima (ties share them evenly). A divisor not above
// 1e-12 (a zero row, a constant column) gives zeros with zero gradient, never inf or NaN.
const std::vector<std::string>& normalization_names();

// True for the three that divide by a statistic of the batch's columns.
bool is_coordinate_normalization(const std::string& name);

// Same shape as `x`. Errors (kRecipe): an unknown name.
torch::Tensor normalize_embeddings(const torch::Tensor& x, const std::string& name);

// Similarities and distances of matching rows of u and v, both [m, D]; results are [m]. As in
// normalize_embeddings(), a zero row has cosine 0; equal rows have distance 0 with zero gradient.
torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v);  // cos(u_i, v_i)

// d(u_i, v_i): `cosine` is 1 - cos(u_i, v_i), `euclidean` |u_i - v_i|, `manhattan` the sum of
// |u_ik - v_ik| over k. Errors (kRecipe): an unknown name.
torch::Tensor row_distance(const torch::Tensor& u, const torch::Tensor& v, const std::string& name);

// The one score of each pair that graded losses compare with its target, [m]: the head's number for
// each pair (LossInput::logits) if there is a head, otherwise the cosine of u_i and v_i. Errors: as
// check_loss_input(); kInput for logits that are not [m, 1]; else as check_pair_input().
torch::Tensor pair_scores(const LossInput& input);

// The head's numbers as [m]. Errors (kInput, naming `loss`): logits missing or not [m, 1].
torch::Tensor single_logits(const LossInput& input, const char* loss);

constexpr double kMinimumTemperature = 0.001;
constexpr double kMaximumTemperature = 100.0;

// The temperature τ of a softmax over scores, fixed or trained.
//
// Scores are multiplied by the scale s = 1/τ. A trained temperature is one parameter: log s
// (`parametrization: log`) or s itself (`scale`, as the BSC authors' code), τ in [0.001, 100].
struct TemperatureOptions {
  double value = 0.1;
  bool trainable = false;
  double learning_rate = 1e-3;
  std::string parametrization = "log";

  void visit(OptionVisitor& v) {
    v.field("value", value,
            {"temperature that divides the scores; its start, if trained, unless the model or an "
             "earlier stage has one trained under the same loss",
             "", kMinimumTemperature, kMaximumTemperature});
    v.field("trainable", trainable, {"train the temperature with the model"});
    v.field("learning_rate", learning_rate,
            {"peak learning rate of a trained temperature; follows the model's schedule", "", 0.0});
    v.field("parametrization", parametrization,
            choice_info("the trained number: the logarithm of 1/temperature, or 1/temperature",
                        {"log", "scale"}));
  }
};

class Temperature {
 public:
  // A trained one is a parameter on `device`.
  explicit Temperature(const TemperatureOptions& options,
                       torch::Device device = torch::Device(torch::kCPU));

  // s = 1/τ, one number of the type and on the device of `like`; part of the graph when trainable.
  torch::Tensor scale(const torch::Tensor& like) const;

  double value() const;        // τ now
  void set_value(double tau);  // of a trained one: where it goes on from; clamped
  bool trainable() const { return parameter_.defined(); }
  torch::Tensor parameter() const { return parameter_; }  // one float, requires gradient
  double learning_rate() const { return options_.learning_rate; }

  // Moves the parameter back so that τ is in [0.001, 100]; to be called after each optimiser step.
  void clamp();

  // The parameter as stored in a checkpoint. Errors (kInput): a number that is not finite.
  double state() const;
  void load_state(double state);

 private:
  bool logarithmic() const { return options_.parametrization == "log"; }

  TemperatureOptions options_;
  torch::Tensor parameter_;  // not defined when fixed
};

}  // namespace simile
