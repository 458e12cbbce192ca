// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace simile
