// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/detail/check.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/nn/row_products.h"

namespace simile {
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
  const std::string nearest = nearest_name(name, names), hint = hint_of_foreign_loss(name);
  detail::throw_error(ErrorKind::kRecipe, "'{}' is no loss{}; choose one of {}", name,
                      !hint.empty()     ? hint
                      : nearest.empty() ? ""
                                        : ", did you mean '" + nearest + "'?",
                      fmt::join(names, ", "));
}

std::string losses_to_markdown() {
  std::string overview =
      "# Losses\n\n`u`, `v` left and right embedding, `m` pairs in a batch, `y` target, `t` "
      "threshold, `τ` temperature, `s = 1/τ`.\n\n"
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
               "loss '{}' is made of others and has no `of`; name at least one, such as "
               "of: bsc",
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
  v.field(
      "duplicates", duplicates,
      choice_info("texts that occur several times in a batch: positives of each other, left out "
                  "of the denominator, or negatives like any other",
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
