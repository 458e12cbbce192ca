// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/normalize.h"

namespace simile {
namespace {

constexpr const char* kTemperature = "temperature";
// Between the usual temperatures of the two kinds of normalisation.
constexpr double kLowForCoordinates = 0.5;
constexpr double kHighForL2 = 1.0;

std::string data_text(const LossData& data) {
  std::string text = data.negatives > 0 ? "triples (left, right, negative)" : "pairs (left, right)";
  if (data.has_target) {
    text +=
        fmt::format(" with targets from {:g} to {:g}", data.target_minimum, data.target_maximum);
  }
  return text;
}

bool in_unit_range(const LossData& data) {
  return data.target_minimum >= 0.0 && data.target_maximum <= 1.0;
}

// What the loss lacks, or an empty text.
std::string lack_text(const LossRow& row, const LossData& data) {
  if (row.negatives == Requirement::kRequired && data.negatives == 0) return "a negative column";
  if (row.target == Requirement::kRequired && !data.has_target) return "a score column";
  if (row.unit_target && !in_unit_range(data)) return "targets between 0 and 1";
  return "";
}

std::string fitting_losses(const LossData& data) {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) {
    if (lack_text(row, data).empty()) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Loss::Loss(const LossOptions& options) : options_(options), row_(&find_loss(options.name)) {
  const LossParts parts = row_->parts(options_);
  if (parts.temperature != nullptr) temperature_.emplace_back(*parts.temperature);
}

torch::Tensor Loss::operator()(const LossInput& input) const {
  check_loss_input(input);
  torch::Tensor scale;
  if (!temperature_.empty()) scale = temperature_[0].scale(input.left);
  return row_->compute(options_, input, scale);
}

std::vector<LossParameter> Loss::parameters() const {
  std::vector<LossParameter> parameters;
  for (const Temperature& t : temperature_) {
    if (t.trainable()) parameters.push_back({kTemperature, t.parameter(), t.learning_rate()});
  }
  return parameters;
}

void Loss::clamp_parameters() {
  for (Temperature& t : temperature_) t.clamp();
}

std::vector<std::pair<std::string, double>> Loss::values() const {
  std::vector<std::pair<std::string, double>> values;
  for (const Temperature& t : temperature_) values.emplace_back(kTemperature, t.value());
  return values;
}

std::vector<std::pair<std::string, double>> Loss::state() const {
  std::vector<std::pair<std::string, double>> state;
  for (const Temperature& t : temperature_) {
    if (t.trainable()) state.emplace_back(kTemperature, t.state());
  }
  return state;
}

void Loss::load_state(const std::vector<std::pair<std::string, double>>& state) {
  const size_t expected = parameters().size();
  SIMILE_CHECK(
      state.size() == expected && (expected == 0 || state[0].first == kTemperature),
      ErrorKind::kInput,
      fmt::format("checkpoint: loss '{}' has {} trained parameters, the checkpoint {}; was "
                  "it written by another recipe?",
                  row_->name, expected, state.size()));
  if (expected > 0) temperature_[0].load_state(state[0].second);
}

bool Loss::needs_groups() const {
  const std::string* duplicates = row_->parts(options_).duplicates;
  return duplicates != nullptr && *duplicates != "negatives";
}

std::vector<std::string> check_loss_data(const LossOptions& options, const LossData& data) {
  const LossRow& row = find_loss(options.name);
  const std::string lack = lack_text(row, data);
  SIMILE_CHECK(
      lack.empty(), ErrorKind::kRecipe,
      fmt::format("loss '{}' needs {}; the data has {}; map what is missing or choose a loss "
                  "that fits: {}",
                  row.name, lack, data_text(data), fitting_losses(data)));
  const double* threshold = row.parts(options).threshold;
  SIMILE_CHECK(
      threshold == nullptr || !data.has_target || data.target_maximum > *threshold,
      ErrorKind::kRecipe,
      fmt::format("loss '{}' needs pairs with a target above its threshold {:g}; the data has "
                  "{}; lower the threshold or rescale the targets",
                  row.name, threshold != nullptr ? *threshold : 0.0, data_text(data)));
  std::vector<std::string> warnings;
  if (row.negatives == Requirement::kIgnored && data.negatives > 0) {
    warnings.push_back(fmt::format("loss '{}' does not use the negative columns", row.name));
  }
  if (row.target == Requirement::kIgnored && data.has_target) {
    warnings.push_back(fmt::format("loss '{}' does not use the targets", row.name));
  }
  return warnings;
}

std::vector<std::string> loss_option_warnings(const LossOptions& options) {
  const LossParts parts = find_loss(options.name).parts(options);
  if (parts.temperature == nullptr || parts.normalize == nullptr) return {};
  const double tau = parts.temperature->value;
  if (is_coordinate_normalization(*parts.normalize) && tau < kLowForCoordinates) {
    return {
        fmt::format("loss '{}': temperature {:g} is low for normalize: {}, which usually goes with "
                    "1 to 3; values near 0.1 go with l2",
                    options.name, tau, *parts.normalize)};
  }
  if (*parts.normalize == "l2" && tau >= kHighForL2) {
    return {
        fmt::format("loss '{}': temperature {:g} is high for normalize: l2, which usually goes "
                    "with values near 0.1; 1 to 3 go with the coordinate normalisations",
                    options.name, tau)};
  }
  return {};
}

}  // namespace simile
