// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/data/column_kinds.h"
#include "simile/loss/loss.h"
#include "simile/loss/similarity.h"

namespace simile {
namespace {

bool in_unit_range(const LossData& data) {
  return data.target_minimum >= 0.0 && data.target_maximum <= 1.0;
}

// "a score", "a score (optional)", or nothing.
void add_need(std::vector<std::string>& parts, Requirement requirement, const std::string& what) {
  if (requirement == Requirement::kIgnored) return;
  parts.push_back(requirement == Requirement::kOptional ? what + " (optional)" : what);
}

bool reads_head(const LossNeeds& needs, const LossData& data) {
  return needs.head != HeadNeed::kNone && data.head_outputs > 0;
}

std::string find_head_lack(const LossNeeds& needs, const LossData& data) {
  if (needs.head == HeadNeed::kNone) return "";
  if (data.head_outputs == 0) {
    return needs.head == HeadNeed::kNumberIfGiven ? "" : "a head (`head:` in the objective)";
  }
  if (needs.head == HeadNeed::kClasses) {
    return data.head_outputs >= data.classes
               ? ""
               : fmt::format("a head with the data's {} classes, not {}", data.classes,
                             data.head_outputs);
  }
  if (data.head_outputs != 1) return "a head that gives one number";
  if (needs.cross_logits && !data.has_right) return "a head on pairs (`input: pair`)";
  return needs.head == HeadNeed::kNumberIfGiven && data.head_is_probability
             ? "a head whose number is the score itself (`output: score`)"
             : "";
}

}  // namespace

LossNeeds operator|(const LossNeeds& a, const LossNeeds& b) {
  LossNeeds both;
  both.texts = a.texts == TextNeed::kEither ? b.texts : a.texts;
  both.target = std::max(a.target, b.target);
  both.negatives = std::max(a.negatives, b.negatives);
  both.classes = std::max(a.classes, b.classes);
  both.teachers = std::max(a.teachers, b.teachers);
  both.head = std::max(a.head, b.head);
  both.unit_target = a.unit_target || b.unit_target;
  both.cross_logits = a.cross_logits || b.cross_logits;
  both.keeps_apart = a.keeps_apart || b.keeps_apart;
  return both;
}

std::string describe(const LossData& data) {
  std::string text = !data.has_right      ? "single texts"
                     : data.negatives > 0 ? "triples (left, right, negative)"
                                          : "pairs (left, right)";
  if (data.has_target) {
    text +=
        fmt::format(" with targets from {:g} to {:g}", data.target_minimum, data.target_maximum);
  }
  if (data.classes > 0) text += fmt::format(" with {} classes", data.classes);
  if (data.teachers > 0) text += fmt::format(" with vectors of {} teachers", data.teachers);
  if (data.head_outputs > 0) text += fmt::format(" and a head of {} numbers", data.head_outputs);
  return text;
}

std::string describe(const LossNeeds& needs) {
  std::vector<std::string> parts;
  parts.push_back(needs.texts == TextNeed::kPairs     ? "pairs"
                  : needs.texts == TextNeed::kSingles ? "single texts"
                                                      : "pairs or single texts");
  add_need(parts, needs.target, needs.unit_target ? "a score in [0, 1]" : "a score");
  add_need(parts, needs.negatives, "negatives");
  add_need(parts, needs.classes, "classes");
  add_need(parts, needs.teachers, "teachers");
  if (needs.head == HeadNeed::kNumberIfGiven) parts.push_back("a head (optional)");
  if (needs.head == HeadNeed::kNumber || needs.head == HeadNeed::kClasses) {
    parts.push_back("a head");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string find_lack(const LossNeeds& needs, const LossData& data) {
  const std::string head = find_head_lack(needs, data);
  if (!head.empty()) return head;
  if (!reads_head(needs, data)) {
    if (needs.texts == TextNeed::kPairs && !data.has_right) return "pairs of texts";
    if (needs.texts == TextNeed::kSingles && data.has_right) return "single texts";
  }
  if (needs.negatives == Requirement::kRequired && data.negatives == 0) return "a negative column";
  if (needs.classes == Requirement::kRequired && data.classes == 0) {
    return "classes (data of `format: classes`)";
  }
  if (needs.target == Requirement::kRequired && !data.has_target) return "a score column";
  if (needs.unit_target && !in_unit_range(data)) return kUnitTargets;
  if (needs.teachers == Requirement::kRequired && data.teachers == 0) {
    return "vectors of frozen models (`teachers:` in the objective)";
  }
  return "";
}

namespace {

// Between the usual temperatures of the two kinds of normalisation.
constexpr double kLowForCoordinates = 0.5;
constexpr double kHighForL2 = 1.0;

// " or choose a loss that fits: ...", or nothing when none does. Losses that are made of others fit
// whatever those fit.
std::string fitting_losses(const LossData& data) {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) {
    LossOptions options;
    read_options(parse_config(row.example, row.name), options);
    if (options.of.empty() && find_lack(row.needs(options), data).empty()) {
      names.push_back(row.name);
    }
  }
  if (names.empty()) return "";
  return fmt::format(" or choose a loss that fits: {}", fmt::join(names, ", "));
}

std::string where(const LossData& data) { return data.file.empty() ? "" : data.file + ": "; }

// How the scores as the file has them would come to lie in [0, 1].
std::string rescaling(const LossData& data) {
  const double low = data.target_minimum * data.score_scale + data.score_offset;
  const double high = data.target_maximum * data.score_scale + data.score_offset;
  return fmt::format("{} (the scores lie between {:g} and {:g})",
                     describe_score_mapping(guess_score_mapping(low, high)), low, high);
}

// Of the loss itself, or of each that it is made of.
void check_terms(const LossOptions& options, const LossData& data) {
  const LossRow& row = find_loss(options.name);
  if (!options.of.empty()) {
    LossData seen = data;
    if (row.needs(options).head == HeadNeed::kNone) seen.head_outputs = 0;
    for (const LossTerm& term : options.of) check_terms(term, seen);
    return;
  }
  const std::string lack = find_lack(row.needs(options), data);
  SIMILE_CHECK(
      lack.empty(), ErrorKind::kRecipe,
      fmt::format("{}loss '{}' needs {}; the data has {}; {}{}", where(data), options.name, lack,
                  describe(data), lack == kUnitTargets ? rescaling(data) : "map what is missing",
                  fitting_losses(data)));
  const double* threshold = row.parts(options).threshold;
  SIMILE_CHECK(
      threshold == nullptr || !data.has_target || data.target_maximum > *threshold,
      ErrorKind::kRecipe,
      fmt::format("{}loss '{}' needs pairs with a target above its threshold {:g}; the data has "
                  "{}; lower the threshold, or change data.score_scale (now {:g})",
                  where(data), options.name, threshold != nullptr ? *threshold : 0.0,
                  describe(data), data.score_scale));
}

}  // namespace

std::vector<std::string> check_loss_data(const LossOptions& options, const LossData& data) {
  const LossNeeds needs = find_loss(options.name).needs(options);
  check_terms(options, data);
  std::vector<std::string> warnings;
  const auto warn = [&](bool is_there, bool is_used, const char* what) {
    if (is_there && !is_used) {
      warnings.push_back(fmt::format("loss '{}' does not use the {}", options.name, what));
    }
  };
  warn(data.negatives > 0, needs.negatives != Requirement::kIgnored, "negative columns");
  warn(data.has_target, needs.target != Requirement::kIgnored, "targets");
  warn(data.classes > 0, needs.classes != Requirement::kIgnored, "classes");
  warn(data.teachers > 0, needs.teachers != Requirement::kIgnored, "teachers");
  warn(data.head_outputs > 0, needs.head != HeadNeed::kNone, "head");
  return warnings;
}

void try_loss(const LossOptions& options, const LossData& data, int64_t hidden,
              const std::vector<int64_t>& teachers) {
  constexpr int64_t kPairs = 2;
  const torch::NoGradGuard guard;
  const Loss loss(options, {hidden, teachers.empty() ? 0 : teachers[0], 1});
  LossInput input;
  input.left = torch::ones({kPairs, hidden});
  if (data.has_right) input.right = torch::ones({kPairs, hidden});
  for (int64_t i = 0; i < data.negatives; ++i) input.negatives.push_back(input.left);
  input.target = torch::ones({kPairs});
  if (data.classes > 0) input.classes = torch::zeros({kPairs}, torch::kInt64);
  input.left_group = input.right_group = torch::arange(kPairs);
  if (data.head_outputs > 0) input.logits = torch::zeros({kPairs, data.head_outputs});
  if (loss.needs().cross_logits) {
    input.cross_logits = torch::zeros({kPairs, kPairs * (1 + data.negatives)});
  }
  for (const int64_t size : teachers) {
    input.left_teachers.push_back(torch::ones({kPairs, size}));
    if (data.has_right) input.right_teachers.push_back(input.left_teachers.back());
  }
  loss(input);
}

std::vector<std::string> loss_option_warnings(const LossOptions& options) {
  std::vector<std::string> warnings;
  for (const LossTerm& term : options.of) {
    for (std::string& warning : loss_option_warnings(term)) warnings.push_back(std::move(warning));
  }
  const LossParts parts = find_loss(options.name).parts(options);
  if (parts.temperature == nullptr || parts.normalize == nullptr) return warnings;
  const double tau = parts.temperature->value;
  if (is_coordinate_normalization(*parts.normalize) && tau < kLowForCoordinates) {
    warnings.push_back(
        fmt::format("loss '{}': temperature {:g} is low for normalize: {}, which usually goes with "
                    "1 to 3; values near 0.1 go with l2",
                    options.name, tau, *parts.normalize));
  }
  if (*parts.normalize == "l2" && tau >= kHighForL2) {
    warnings.push_back(
        fmt::format("loss '{}': temperature {:g} is high for normalize: l2, which usually goes "
                    "with values near 0.1; 1 to 3 go with the coordinate normalisations",
                    options.name, tau));
  }
  return warnings;
}

}  // namespace simile
