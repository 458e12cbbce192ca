// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/detail/check.h"
#include "simile/core/random.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {
namespace {

constexpr const char* kTemperature = "temperature";
constexpr const char* kProjection = "projection";

// [E, D], so that a vector of independent numbers keeps its length on average.
torch::Tensor make_projection(const LossSizes& sizes) {
  torch::Tensor projection = torch::empty({sizes.teacher, sizes.embedding}, torch::kFloat32);
  RandomStream random(sizes.seed, kProjection);
  const double deviation = 1.0 / std::sqrt(static_cast<double>(sizes.teacher));
  float* values = projection.data_ptr<float>();
  for (int64_t i = 0; i < projection.numel(); ++i) {
    values[i] = static_cast<float>(deviation * random.normal());
  }
  return projection.to(sizes.device).requires_grad_(true);
}

}  // namespace

Loss::Loss(const LossOptions& options, const LossSizes& sizes)
    : options_(options), row_(&find_loss(options.name)) {
  const LossParts parts = row_->parts(options_);
  if (parts.temperature != nullptr) temperature_.emplace_back(*parts.temperature, sizes.device);
  if (parts.projection_learning_rate != nullptr && sizes.teacher != 0 &&
      sizes.teacher != sizes.embedding) {
    projection_ = make_projection(sizes);
  }
  for (const LossTerm& term : options_.of) terms_.emplace_back(term, sizes);
  row_->needs(options_);  // refuses a sum of none, and what has no prefixes
}

LossContext Loss::context(const LossInput& input) const {
  LossContext context;
  if (!temperature_.empty()) context.scale = temperature_[0].scale(input.left);
  context.projection = projection_;
  if (terms_.empty()) return context;
  context.terms = [this](const LossInput& batch) {
    torch::Tensor sum;
    for (size_t i = 0; i < terms_.size(); ++i) {
      const torch::Tensor part = options_.of[i].weight * terms_[i](batch);
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  };
  return context;
}

torch::Tensor Loss::operator()(const LossInput& input) const {
  check_loss_input(input);
  return row_->compute(options_, input, context(input));
}

SmoothOutput Loss::output(const LossInput& input) const {
  if (!terms_.empty()) return terms_[0].output(input);
  check_loss_input(input);
  return row_->output(options_, input, context(input));
}

// Nothing for a single term, so that its temperature is logged as that of a plain loss.
std::string Loss::prefix_of(size_t term) const {
  if (terms_.size() == 1) return "";
  const std::string& name = options_.of[term].name;
  int64_t before = 0, all = 0;
  for (size_t i = 0; i < terms_.size(); ++i) {
    all += options_.of[i].name == name ? 1 : 0;
    before += options_.of[i].name == name && i < term ? 1 : 0;
  }
  return all == 1 ? name + "." : fmt::format("{} {}.", name, before);
}

std::vector<LossParameter> Loss::parameters() const {
  std::vector<LossParameter> parameters;
  for (const Temperature& t : temperature_) {
    if (t.trainable()) parameters.push_back({kTemperature, t.parameter(), t.learning_rate()});
  }
  if (projection_.defined()) {
    parameters.push_back(
        {kProjection, projection_, *row_->parts(options_).projection_learning_rate});
  }
  for (size_t i = 0; i < terms_.size(); ++i) {
    for (LossParameter parameter : terms_[i].parameters()) {
      parameter.name.insert(0, prefix_of(i));
      parameters.push_back(std::move(parameter));
    }
  }
  return parameters;
}

void Loss::clamp_parameters() {
  for (Temperature& t : temperature_) t.clamp();
  for (Loss& term : terms_) term.clamp_parameters();
}

std::vector<std::pair<std::string, double>> Loss::values() const {
  std::vector<std::pair<std::string, double>> values;
  for (const Temperature& t : temperature_) values.emplace_back(kTemperature, t.value());
  for (size_t i = 0; i < terms_.size(); ++i) {
    for (const auto& [name, value] : terms_[i].values()) {
      values.emplace_back(prefix_of(i) + name, value);
    }
  }
  return values;
}

LossState Loss::state() const {
  LossState state;
  for (const LossParameter& parameter : parameters()) {
    state.emplace_back(parameter.name, copy_to_host(parameter.tensor));
  }
  return state;
}

void Loss::load_state(const LossState& state) {
  const std::vector<LossParameter> expected = parameters();
  const auto fail = [&](const std::string& found) {
    detail::throw_error(ErrorKind::kInput,
                        "checkpoint: loss '{}' has {} trained parameters, {}; was it written "
                        "by another recipe?",
                        row_->name, expected.size(), found);
  };
  if (state.size() != expected.size()) fail(fmt::format("the checkpoint {}", state.size()));
  for (size_t i = 0; i < state.size(); ++i) {
    const auto& [name, values] = state[i];
    if (name != expected[i].name ||
        static_cast<int64_t>(values.size()) != expected[i].tensor.numel())
      fail(fmt::format("of which '{}' is not in the checkpoint", expected[i].name));
    SIMILE_CHECK(
        std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }),
        ErrorKind::kInput,
        "checkpoint: '{}' of loss '{}' should be finite; the checkpoint is damaged: "
        "resume from an earlier one",
        name, row_->name);
    copy_from_host(values.data(), expected[i].tensor);
  }
  clamp_parameters();
}

// Temperatures of differently normalised embeddings are in different units.
std::string Loss::temperature_key() const {
  const std::string* normalize = row_->parts(options_).normalize;
  return normalize == nullptr ? options_.name : fmt::format("{} {}", options_.name, *normalize);
}

void Loss::add_temperatures(Temperatures& trained) const {
  for (const Temperature& t : temperature_) {
    if (t.trainable()) trained[temperature_key()] = t.value();
  }
  for (const Loss& term : terms_) term.add_temperatures(trained);
}

int Loss::start_from(const Temperatures& trained) {
  int count = 0;
  for (Temperature& t : temperature_) {
    const auto found = trained.find(temperature_key());
    if (!t.trainable() || found == trained.end()) continue;
    t.set_value(found->second);
    ++count;
  }
  for (Loss& term : terms_) count += term.start_from(trained);
  return count;
}

bool Loss::needs_groups() const {
  const std::string* duplicates = row_->parts(options_).duplicates;
  return (duplicates != nullptr && *duplicates != "negatives") ||
         std::any_of(terms_.begin(), terms_.end(),
                     [](const Loss& term) { return term.needs_groups(); });
}

}  // namespace simile
