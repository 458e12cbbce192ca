// SPDX-License-Identifier: Apache-2.0
// The temperature τ of a softmax over scores, fixed or trained.
//
// Scores are multiplied by the scale s = 1/τ. A trained temperature is one parameter: log s
// (`parametrization: log`) or s itself (`scale`, as the BSC authors' code does), kept so that τ
// stays in [0.001, 100].
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"

namespace simile {

constexpr double kMinimumTemperature = 0.001;
constexpr double kMaximumTemperature = 100.0;

struct TemperatureOptions {
  double value = 0.1;
  bool trainable = false;
  double learning_rate = 1e-3;
  std::string parametrization = "log";

  void visit(OptionVisitor& v) {
    v.field("value", value,
            {"temperature the scores are divided by; where it starts, if trained, unless the model "
             "or an "
             "earlier stage has one trained under the same loss",
             "", kMinimumTemperature, kMaximumTemperature});
    v.field("trainable", trainable, {"train the temperature with the model"});
    v.field("learning_rate", learning_rate,
            {"peak learning rate of a trained temperature; follows the model's schedule", "", 0.0});
    OptionInfo parametrization_info{
        "what is trained: the logarithm of 1/temperature or 1/temperature"};
    parametrization_info.choices = {"log", "scale"};
    v.field("parametrization", parametrization, parametrization_info);
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
