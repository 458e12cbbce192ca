// SPDX-License-Identifier: Apache-2.0
// Every loss as one row of a table: its name, needs and computation; and a loss as a recipe names
// it: options, trained parameters (a temperature ...), and the losses in it.
//
// To add a loss: its options and function in the room that it belongs to, its row among the room's
// rows, a test. A new room is declared in detail/row_parts.h and named in loss_table().
#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "simile/loss/loss_input.h"
#include "simile/loss/loss_options.h"
#include "simile/loss/siar.h"
#include "simile/model/model_settings.h"

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

// The inputs of a loss besides its options and the batch.
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
  // The output that smoothness is measured on (siar.h): logits of a head, scores of a row of the
  // batch, or the score of each pair. A composed loss uses that of its first part.
  SmoothOutput (*output)(const LossOptions& options, const LossInput& input,
                         const LossContext& context);
  LossParts (*parts)(const LossOptions& options);
};

const std::vector<LossRow>& loss_table();  // sorted by name

// Errors (kRecipe): no such loss, with the nearest name.
const LossRow& find_loss(const std::string& name);

// docs/losses.md: one overview table and, per loss, formula, needs, paper, advice and options.
std::string losses_to_markdown();

// A tensor that the optimiser trains beside the model: float, without weight decay.
struct LossParameter {
  std::string name;
  torch::Tensor tensor;
  double learning_rate;  // its own peak; follows the model's schedule
};

// The sizes that a loss's own parameters depend on.
struct LossSizes {
  int64_t embedding = 0;                              // D
  int64_t teacher = 0;                                // E of the first teacher; 0: none
  uint64_t seed = 1;                                  // a projection's first weights
  torch::Device device = torch::Device(torch::kCPU);  // where the parameters are: the embeddings'
};

class Loss {
 public:
  // A loss that learns from a teacher's vectors of another size gets a projection onto them.
  // Errors (kRecipe): an unknown name, a sum of no losses.
  explicit Loss(const LossOptions& options, const LossSizes& sizes = {});
  Loss(const Loss&) = delete;  // a copy would share the trained parameters
  Loss(Loss&&) = default;

  // The loss of one batch: one number, with gradients to the embeddings and to parameters().
  // Errors: as the chosen loss's function.
  torch::Tensor operator()(const LossInput& input) const;

  // The output that smoothness-inducing regularisation compares, see siar.h. Errors: as operator().
  SmoothOutput output(const LossInput& input) const;

  // In a composed loss, a parameter's name begins with the name of its part.
  std::vector<LossParameter> parameters() const;
  void clamp_parameters();  // after each optimiser step: keeps τ in [0.001, 100]

  // Numbers for the log: {"temperature", τ} for losses that have one.
  std::vector<std::pair<std::string, double>> values() const;

  // The state that a checkpoint stores: the current parameters(). Errors of load_state() (kInput):
  // a missing or unknown name, another size, a number that is not finite.
  LossState state() const;
  void load_state(const LossState& state);

  // Trained temperatures, to start from in another stage or run; among equal losses the last
  // counts. start_from() leaves losses without an entry unchanged, and returns how many it set.
  void add_temperatures(Temperatures& trained) const;
  int start_from(const Temperatures& trained);

  const LossRow& row() const { return *row_; }
  LossNeeds needs() const { return row_->needs(options_); }
  bool needs_groups() const;  // LossInput's groups must be given

 private:
  LossContext context(const LossInput& input) const;
  std::string prefix_of(size_t term) const;
  std::string temperature_key() const;

  LossOptions options_;
  const LossRow* row_;
  std::vector<Temperature> temperature_;  // none or one
  torch::Tensor projection_;              // [E, D], or not defined
  std::vector<Loss> terms_;
};

}  // namespace simile
