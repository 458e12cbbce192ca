// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_options.h"

#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "simile/core/check.h"
#include "simile/data/column_kinds.h"
#include "simile/loss/loss.h"
#include "simile/loss/loss_input.h"

namespace simile {
namespace {

struct ForeignLoss {
  const char* name;
  const char* here;
};

constexpr ForeignLoss kForeignLosses[] = {
    {"AnglELoss", "loss: angle"},
    {"BatchAllTripletLoss", "loss: {name: triplet, mining: batch_all}"},
    {"BatchHardTripletLoss", "loss: {name: triplet, mining: batch_hard}"},
    {"BatchSemiHardTripletLoss", "loss: {name: triplet, mining: batch_semi_hard}"},
    {"CachedMultipleNegativesRankingLoss", "loss: mnrl, with chunk_tokens: 8192 in the objective"},
    {"CoSENTLoss", "loss: cosent"},
    {"ContrastiveLoss", "loss: contrastive"},
    {"CosineSimilarityLoss", "loss: mse"},
    {"DistillKLDivLoss", "loss: distill, with teachers"},
    {"MSELoss", "loss: distill, with teachers"},
    {"MatryoshkaLoss", "loss: {name: matryoshka, dimensions: [...], of: ...}"},
    {"MultipleNegativesRankingLoss", "loss: mnrl"},
    {"MultipleNegativesSymmetricRankingLoss", "loss: {name: bsc, temperature: 0.05}"},
    {"OnlineContrastiveLoss", "loss: online_contrastive"},
    {"SoftmaxLoss", "loss: softmax_classification, with a head"},
    {"TripletLoss", "loss: triplet"}};

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// "a score", "a score (optional)", or nothing.
void add_need(std::vector<std::string>& parts, Requirement requirement, const std::string& what) {
  if (requirement == Requirement::kIgnored) return;
  parts.push_back(requirement == Requirement::kOptional ? what + " (optional)" : what);
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

constexpr const char* kUnitTargets = "targets between 0 and 1";

// Names the part of `needs` that the data lacks; empty if it lacks nothing.
std::string find_lack(const LossNeeds& needs, const LossData& data) {
  const std::string head = find_head_lack(needs, data);
  if (!head.empty()) return head;
  const bool reads_head = needs.head != HeadNeed::kNone && data.head_outputs > 0;
  if (!reads_head) {
    if (needs.texts == TextNeed::kPairs && !data.has_right) return "pairs of texts";
    if (needs.texts == TextNeed::kSingles && data.has_right) return "single texts";
  }
  if (needs.negatives == Requirement::kRequired && data.negatives == 0) return "a negative column";
  if (needs.classes == Requirement::kRequired && data.classes == 0) {
    return "classes (data of `format: classes`)";
  }
  if (needs.target == Requirement::kRequired && !data.has_target) return "a score column";
  if (needs.unit_target && !(data.target_minimum >= 0.0 && data.target_maximum <= 1.0)) {
    return kUnitTargets;
  }
  if (needs.teachers == Requirement::kRequired && data.teachers == 0) {
    return "vectors of frozen models (`teachers:` in the objective)";
  }
  return "";
}

// Between the usual temperatures of the two kinds of normalisation.
constexpr double kLowForCoordinates = 0.5;
constexpr double kHighForL2 = 1.0;

// " or choose a loss that fits: ...", or nothing when none does. Losses of others fit as those.
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

// The options that would bring the file's scores into [0, 1].
std::string rescaling(const LossData& data) {
  const double low = data.target_minimum * data.score_scale + data.score_offset;
  const double high = data.target_maximum * data.score_scale + data.score_offset;
  return fmt::format("{} (the scores lie between {:g} and {:g})",
                     describe_score_mapping(guess_score_mapping(low, high)), low, high);
}

// Checks the loss itself, or each that it is made of.
void check_terms(const LossOptions& options, const LossData& data) {
  const LossRow& row = find_loss(options.name);
  if (!options.of.empty()) {
    LossData seen = data;
    if (row.needs(options).head == HeadNeed::kNone) seen.head_outputs = 0;
    for (const LossTerm& term : options.of) check_terms(term, seen);
    return;
  }
  const std::string lack = find_lack(row.needs(options), data);
  const std::string where = data.file.empty() ? "" : data.file + ": ";
  SIMILE_CHECK(lack.empty(), ErrorKind::kRecipe, "{}loss '{}' needs {}; the data has {}; {}{}",
               where, options.name, lack, describe(data),
               lack == kUnitTargets ? rescaling(data) : "map what is missing",
               fitting_losses(data));
  const double* threshold = row.parts(options).threshold;
  SIMILE_CHECK(threshold == nullptr || !data.has_target || data.target_maximum > *threshold,
               ErrorKind::kRecipe,
               "{}loss '{}' needs pairs with a target above its threshold {:g}; the data has "
               "{}; lower the threshold, or change data.score_scale (now {:g})",
               where, options.name, threshold != nullptr ? *threshold : 0.0, describe(data),
               data.score_scale);
}

}  // namespace

std::string hint_of_foreign_loss(const std::string& text) {
  const std::string searched = lower(text);
  const ForeignLoss* longest = nullptr;
  for (const ForeignLoss& loss : kForeignLosses) {
    if (searched.find(lower(loss.name)) == std::string::npos) continue;
    const bool is_longer = longest == nullptr || std::string_view(loss.name).size() >
                                                     std::string_view(longest->name).size();
    if (is_longer) longest = &loss;
  }
  if (longest == nullptr) return "";
  return fmt::format("; sentence-transformers' {} is `{}` here", longest->name, longest->here);
}

void LossOptions::visit(OptionVisitor& v) {
  OptionInfo info{"the loss; the other keys are its own"};
  for (const LossRow& row : loss_table()) info.choices.push_back(row.name);
  try {
    v.field("name", name, info);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + hint_of_foreign_loss(error.what()));
  }
  find_loss(name).visit(*this, v);
}

void LossTerm::visit(OptionVisitor& v) {
  LossOptions::visit(v);
  v.field("weight", weight, {"factor on this loss in the sum", "", -1e12, 1e12});
}

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
    warnings.push_back(fmt::format(
        "loss '{}': temperature {:g} is low for normalize: {}; 1 to 3 are usual, 0.1 with l2",
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
