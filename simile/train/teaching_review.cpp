// SPDX-License-Identifier: Apache-2.0
#include "simile/train/teaching_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "simile/loss/loss_table.h"
#include "simile/train/mined_negatives.h"

namespace simile {
namespace {

// Negatives of a pair in a batch that are its own right text, on average: above this they are told.
constexpr double kManyFalseNegatives = 0.5;

// Sides by their role and the column each is read from.
std::vector<std::pair<std::string, std::string>> sides_of(const PairDataOptions& data) {
  std::vector<std::pair<std::string, std::string>> sides;
  const bool is_single = data.format == "classes" && !data.text.empty();
  if ((data.format != "table" && data.format != "nli" && data.format != "classes") || is_single) {
    return sides;
  }
  sides.emplace_back("left", data.left);
  if (!data.right.empty()) sides.emplace_back("right", data.right);
  for (const std::string& column : data.negatives) sides.emplace_back("negatives", column);
  return sides;
}

// How often each text of a side stands there.
std::vector<int64_t> count_equal(const std::vector<int32_t>& numbers) {
  std::unordered_map<int32_t, int64_t> times;
  for (const int32_t number : numbers) ++times[number];
  std::vector<int64_t> counts;
  counts.reserve(times.size());
  for (const auto& each : times) counts.push_back(each.second);
  return counts;
}

class TeachingReviewer {
 public:
  TeachingReviewer(const std::string& place, const ObjectiveOptions& objective,
                   const TrainingSet& set)
      : place_(place),
        objective_(objective),
        set_(set),
        offer_(mined_offer(objective.mine, set.offer)) {}

  std::vector<DataFinding> review() {
    check_columns();
    check_empty_texts();
    review_terms(objective_.loss);
    return std::move(findings_);
  }

 private:
  void find(bool is_mistake, const std::string& message) {
    findings_.push_back({is_mistake, message});
  }

  LossNeeds needs() const { return find_loss(objective_.loss.name).needs(objective_.loss); }

  void check_columns() {
    const auto sides = sides_of(objective_.data);
    for (size_t a = 0; a < sides.size(); ++a) {
      for (size_t b = a + 1; b < sides.size(); ++b) {
        // Of a pair of itself check_equal_sides() tells.
        if (sides[a].second != sides[b].second || sides[b].first == "right") continue;
        find(true, fmt::format("{}: {}.data reads the column '{}' as `{}` and as `{}`, so that a "
                               "text is compared with itself; name another column for one of them",
                               set_.file, place_, sides[a].second, sides[a].first, sides[b].first));
      }
    }
  }

  void check_empty_texts() {
    if (set_.review.empty_texts == 0) return;
    find(false, fmt::format("{}: {} of {} texts have no letter or digit; they say nothing, and "
                            "equal ones are told apart by nothing: leave their rows out, or look "
                            "whether the columns are the right ones",
                            set_.file, set_.review.empty_texts, set_.review.texts));
  }

  void review_terms(const LossOptions& loss) {
    if (!loss.of.empty()) {
      for (const LossTerm& term : loss.of) review_terms(term);
      return;
    }
    const LossRow& row = find_loss(loss.name);
    const LossNeeds needs_of_term = row.needs(loss);
    check_equal_sides(loss, needs_of_term);
    if (offer_.classes > 0) check_classes(loss, needs_of_term.classes);
    if (needs_of_term.compares == Compares::kOtherTexts) check_batch(loss);
    if (needs_of_term.compares == Compares::kOtherTargets) check_targets(loss);
    if (!needs().keeps_apart) warn_of_collapse(loss, needs_of_term);
    check_false_negatives(loss, row);
    check_same_class(loss, row);
  }

  void check_equal_sides(const LossOptions& loss, const LossNeeds& needs_of_term) {
    if (set_.right.empty() || set_.left != set_.right || objective_.data.format == "texts") return;
    if (offer_.teachers > 0 || needs_of_term.compares == Compares::kTeachers) return;
    if (!needs().keeps_apart) {
      find(true,
           fmt::format("{}: both sides of every pair are the same text, whose cosine is 1 "
                       "whatever is trained: loss '{}' learns nothing; look at {}.data.left "
                       "(now {}) and .right (now {})",
                       set_.file, loss.name, place_, objective_.data.left, objective_.data.right));
    } else if (!needs().equal_sides) {
      find(false,
           fmt::format("{}: both sides of every pair are the same text, so that loss '{}' only "
                       "pushes texts apart; if that is meant (SimCSE), take `format: texts` and "
                       "loss simcse, otherwise look at {}.data.left (now {}) and .right (now {})",
                       set_.file, loss.name, place_, objective_.data.left, objective_.data.right));
    }
  }

  void check_classes(const LossOptions& loss, Requirement classes) {
    const auto used = std::count_if(set_.review.classes.begin(), set_.review.classes.end(),
                                    [](const auto& each) { return each.second > 0; });
    if (classes != Requirement::kRequired || used != 1) return;
    find(true, fmt::format("{}: all {} examples are of one class: loss '{}' has nothing to tell "
                           "apart; look at {}.data.label (now {}) and at the rows that are read",
                           set_.file, set_.size(), loss.name, place_, objective_.data.label));
  }

  // Of losses that compare the texts of a batch.
  void check_batch(const LossOptions& loss) {
    if (offer_.negatives > 0) return;
    if (set_.size() == 1 || objective_.batch_size == 1) {
      find(true,
           fmt::format("{}: loss '{}' compares each example with the others of its batch, and {}, "
                       "so that nothing is trained; {}",
                       set_.file, loss.name,
                       set_.size() == 1 ? "the data has one example"
                                        : fmt::format("{}.batch_size is 1", place_),
                       set_.size() == 1
                           ? "it needs more"
                           : "set it to 8 or more (accumulation does not help: its batches are "
                             "apart), or take a loss that looks at one pair, such as mse"));
      return;
    }
    if (!check_one_text(loss, "right", set_.right)) check_one_text(loss, "left", set_.left);
  }

  // True where it is a mistake.
  bool check_one_text(const LossOptions& loss, const char* side,
                      const std::vector<int32_t>& texts) {
    const bool is_one = std::all_of(texts.begin(), texts.end(),
                                    [&](int32_t text) { return text == texts.front(); });
    if (texts.size() < 2 || set_.right.empty() || !is_one || offer_.target_minimum < 0.5) {
      return false;
    }
    find(true, fmt::format("{}: the {} text of all {} pairs is the same: loss '{}' has no other to "
                           "tell it from, and nothing is learned; look at {}.data.{}, or give "
                           "negatives",
                           set_.file, side, set_.size(), loss.name, place_, side));
    return true;
  }

  void check_targets(const LossOptions& loss) {
    if (offer_.target_minimum < offer_.target_maximum && set_.size() > 1 &&
        objective_.batch_size > 1) {
      return;
    }
    const bool is_batch = set_.size() == 1 || objective_.batch_size == 1;
    find(true, fmt::format("{}: loss '{}' compares pairs of different scores, and {}: nothing is "
                           "trained; {}",
                           set_.file, loss.name,
                           is_batch ? "a batch has one pair"
                                    : fmt::format("all {} scores are {:g}", set_.size(),
                                                  offer_.target_minimum),
                           is_batch ? fmt::format("set {}.batch_size to 8 or more", place_)
                                    : fmt::format("is {}.data.score (now '{}') the right column? "
                                                  "For pairs that all belong together take mnrl or "
                                                  "bsc",
                                                  place_, objective_.data.score)));
  }

  void warn_of_collapse(const LossOptions& loss, const LossNeeds& needs) {
    const bool has_variety = offer_.target_minimum < offer_.target_maximum;
    if (needs.target != Requirement::kRequired || has_variety || offer_.negatives > 0) return;
    if (needs.compares == Compares::kOtherTargets) return;  // a mistake, see check_targets()
    find(false,
         fmt::format("{}: all {} scores are {:g}: loss '{}' moves all pairs the same way and "
                     "nothing keeps texts apart, so that all vectors may become alike "
                     "(collapse); give pairs of other scores, or take mnrl or bsc",
                     set_.file, set_.size(), offer_.target_minimum, loss.name));
  }

  // Others that share an example's number, in a batch drawn at random.
  double others_alike(const std::vector<int32_t>& numbers) const {
    double pairs = 0;
    for (const int64_t count : count_equal(numbers)) {
      pairs += static_cast<double>(count) * static_cast<double>(count - 1);
    }
    const auto size = static_cast<double>(set_.size());
    const double others = std::min(static_cast<double>(objective_.batch_size), size) - 1;
    return size < 2 ? 0 : pairs / (size * (size - 1)) * others;
  }

  void check_false_negatives(const LossOptions& loss, const LossRow& row) {
    const std::string* duplicates = row.parts(loss).duplicates;
    const bool keeps_them = duplicates == nullptr ? !row.needs(loss).duplicates_are_negatives
                                                  : *duplicates != "negatives";
    if (keeps_them || set_.right.empty() || objective_.order.name == "no_duplicates") return;
    const double expected = others_alike(set_.right);
    if (expected < kManyFalseNegatives) return;
    find(false,
         fmt::format("{}: in a batch of {}, {:.1f} other pairs have the right text of a "
                     "pair on average, and loss '{}' takes it for a negative of its own "
                     "left text; {}",
                     set_.file, objective_.batch_size, expected, loss.name,
                     duplicates == nullptr ? fmt::format("set {}.order=no_duplicates", place_)
                                           : fmt::format("set {}.loss.duplicates=mask", place_)));
  }

  // Classes of entailment (`format: nli`) are of pairs, not of texts.
  void check_same_class(const LossOptions& loss, const LossRow& row) {
    const std::string* same_class = row.parts(loss).same_class;
    if (same_class == nullptr || *same_class != "negatives" || set_.right.empty()) return;
    if (set_.classes.empty() || objective_.data.format != "classes") return;
    const double expected = others_alike(set_.classes);
    if (expected < kManyFalseNegatives) return;
    find(false, fmt::format("{}: in a batch of {}, {:.1f} other pairs have the class of a pair on "
                            "average, and loss '{}' takes their texts for negatives of each other; "
                            "if a class is what belongs together, set {}.loss.same_class=mask",
                            set_.file, objective_.batch_size, expected, loss.name, place_));
  }

  const std::string& place_;
  const ObjectiveOptions& objective_;
  const TrainingSet& set_;
  LossData offer_;
  std::vector<DataFinding> findings_;
};

}  // namespace

std::vector<DataFinding> review_teaching(const std::string& place,
                                         const ObjectiveOptions& objective,
                                         const TrainingSet& set) {
  return TeachingReviewer(place, objective, set).review();
}

std::vector<DataFinding> review_steps(const StageOptions& stage) {
  if (stage.steps > 0 || stage.epochs > 0) return {};
  return {{false, fmt::format("stage '{}' has no step (epochs: 0, steps: 0): NOTHING IS TRAINED, "
                              "and its weights stay those it begins with; set epochs",
                              stage.name)}};
}

}  // namespace simile
