// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/nn/row_products.h"
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
    throw_error(ErrorKind::kInput,
                "checkpoint: loss '{}' has {} trained parameters, {}; is it of another recipe?",
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
        "checkpoint: '{}' of loss '{}' is not finite; resume from an earlier one", name,
        row_->name);
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

const std::vector<LossRow>& loss_table() {
  static const std::vector<LossRow> table = [] {
    std::vector<LossRow> all;
    for (const auto rows : {bsc_rows, combined_rows, graded_rows, margin_rows, teacher_rows}) {
      for (const LossRow& row : rows()) all.push_back(row);
    }
    std::sort(all.begin(), all.end(),
              [](const LossRow& a, const LossRow& b) { return std::string_view(a.name) < b.name; });
    return all;
  }();
  return table;
}

const LossRow& find_loss(const std::string& name) {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) {
    if (name == row.name) return row;
    names.push_back(row.name);
  }
  const std::string hint = hint_of_foreign_loss(name);
  throw_error(ErrorKind::kRecipe, "'{}' is no loss{}; choose one of {}", name,
              hint.empty() ? did_you_mean(name, names) : hint, fmt::join(names, ", "));
}

std::string losses_to_markdown() {
  std::string overview =
      "# Losses\n\n"
      "This page lists the losses, normalisations, heads and regularisers that a recipe can name, "
      "with\nformulas, options and papers. `simile docs losses` prints it.\n\n"
      "In formulas, `u` and `v` are the left and right embedding, `m` the number of pairs in a "
      "batch, `y`\nthe target, `t` the threshold, `τ` the temperature, and `s = 1/τ`.\n\n"
      "| loss | needs | formula |\n| --- | --- | --- |\n";
  std::string sections;
  for (const LossRow& row : loss_table()) {
    std::string formula;  // a bar would end a cell of the table
    for (const char* c = row.formula; *c != '\0'; ++c)
      formula += *c == '|' ? "\\|" : std::string(1, *c);
    LossOptions example;
    read_options(parse_config(row.example, row.name), example);
    overview +=
        fmt::format("| `{}` | {} | {} |\n", row.name, describe(row.needs(example)), formula);
    LossOptions defaults;
    sections += "\n" + option_members_to_markdown([&](OptionVisitor& v) { row.visit(defaults, v); },
                                                  row.name);
    sections += fmt::format("\nFor {}.\n\nPaper: {}.\n\nRecipe: `loss: {}`\n", row.advice,
                            row.paper, row.example);
  }
  return overview + sections;
}

LossNeeds pairs(Requirement target, Requirement negatives, bool unit_target) {
  LossNeeds needs;
  needs.target = target;
  needs.negatives = negatives;
  needs.unit_target = unit_target;
  return needs;
}

LossNeeds batch_pairs(Requirement target, Requirement negatives) {
  LossNeeds needs = pairs(target, negatives);
  needs.compares = Compares::kOtherTexts;
  needs.keeps_apart = true;
  return needs;
}

LossNeeds batch_pairs(const std::string& same_class) {
  LossNeeds needs = batch_pairs(kOptional, kOptional);
  if (same_class == "mask") needs.classes = kRequired;
  return needs;
}

LossNeeds ranked_pairs(LossNeeds needs) {
  needs.compares = Compares::kOtherTargets;
  return needs;
}

LossNeeds scored_pairs(bool unit_target) {
  LossNeeds needs = pairs(kRequired, kIgnored, unit_target);
  needs.head = HeadNeed::kNumberIfGiven;
  return needs;
}

LossNeeds needs_of_terms(const LossOptions& options) {
  SIMILE_CHECK(!options.of.empty(), ErrorKind::kRecipe,
               "loss '{}' is made of others and has no `of`; name at least one, such as of: bsc",
               options.name);
  LossNeeds needs = find_loss(options.of[0].name).needs(options.of[0]);
  for (const LossTerm& term : options.of) needs = needs | find_loss(term.name).needs(term);
  return needs;
}

void visit_terms(LossOptions& options, OptionVisitor& v) {
  v.list("of", options.of, "the losses, each with its options and a weight");
}

void visit_threshold(OptionVisitor& v, double& threshold) {
  v.field("threshold", threshold, {"pairs with a target above it are positive, the rest negative"});
}

void visit_duplicates(OptionVisitor& v, std::string& duplicates) {
  v.field("duplicates", duplicates,
          choice_info("texts that occur several times in a batch: positives of each other, left "
                      "out of the denominator, or negatives like any other",
                      {"positives", "mask", "negatives"}));
}

void visit_same_class(OptionVisitor& v, std::string& same_class) {
  v.field(
      "same_class", same_class,
      choice_info("texts of other pairs of the batch that have the same class (data of `format: "
                  "classes`): negatives like any other, or left out of the denominator",
                  {"negatives", "mask"}));
}

LossParts no_parts(const LossOptions&) { return {}; }

LossParts parts_of_bsc(const BscOptions& options) {
  return {&options.temperature, &options.normalize, &options.threshold, &options.duplicates,
          &options.same_class};
}

// A softmax over one column says nothing, whatever its score.
SmoothOutput row_output(const torch::Tensor& scores) {
  if (scores.size(1) == 1) return {scores.squeeze(1) * 0.0, false};
  return {scores, true};
}

SmoothOutput head_output(const LossOptions&, const LossInput& input, const LossContext&) {
  return {input.logits, true};
}

SmoothOutput score_output(const LossOptions&, const LossInput& input, const LossContext&) {
  if (input.logits.defined() || input.right.defined()) return {pair_scores(input), false};
  const torch::Tensor unit = normalize_embeddings(input.left, "l2");
  return {inner_products(unit, unit), false};
}

}  // namespace simile
