// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "simile/batch/order_table.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/loss.h"
#include "simile/train/data_review.h"
#include "simile/train/mined_negatives.h"
#include "simile/train/training_set.h"

namespace simile {
namespace {

// Warns if a batch has more negatives per pair, on average, that equal its own right text.
constexpr double kManyFalseNegatives = 0.5;

// The rules, each a row of add(): when it applies, what it is, what to say.
class TeachingReviewer {
 public:
  TeachingReviewer(const std::string& place, const ObjectiveOptions& objective,
                   const TrainingSet& set)
      : place_(place),
        objective_(objective),
        set_(set),
        offer_(mined_offer(objective.mine, set.offer)),
        needs_(find_loss(objective.loss.name).needs(objective.loss)) {}

  std::vector<DataFinding> review() {
    check_columns();
    add(set_.review.empty_texts > 0, kWarning,
        fmt::format("{} of {} texts have no letter or digit and say nothing; leave their rows out, "
                    "or look whether the columns are the right ones",
                    set_.review.empty_texts, set_.review.texts));
    review_terms(objective_.loss);
    return std::move(findings_);
  }

 private:
  static constexpr bool kMistake = true, kWarning = false;

  void add(bool applies, bool is_mistake, const std::string& message) {
    if (applies) findings_.push_back({is_mistake, set_.file + ": " + message});
  }

  void check_columns() {
    const std::vector<SideColumn> sides = side_columns(objective_.data);
    for (size_t a = 0; a < sides.size(); ++a) {
      for (size_t b = a + 1; b < sides.size(); ++b) {
        // check_examples() finds the pair of equal sides.
        add(sides[a].second == sides[b].second && sides[b].first != "right", kMistake,
            fmt::format("{}.data reads the column '{}' as `{}` and as `{}`, so that a text is "
                        "compared with itself; name another column for one of them",
                        place_, sides[a].second, sides[a].first, sides[b].first));
      }
    }
  }

  void review_terms(const LossOptions& loss) {
    for (const LossTerm& term : loss.of) review_terms(term);
    if (!loss.of.empty()) return;
    const LossRow& row = find_loss(loss.name);
    const LossNeeds needs = row.needs(loss);
    check_examples(loss, needs);
    if (needs.compares == Compares::kOtherTexts && offer_.negatives == 0) check_batch(loss);
    check_targets(loss, needs);
    check_false_negatives(loss, row);
  }

  void check_examples(const LossOptions& loss, const LossNeeds& needs) {
    const bool are_equal = !set_.right.empty() && set_.left == set_.right &&
                           objective_.data.format != "texts" && offer_.teachers == 0 &&
                           needs.compares != Compares::kTeachers;
    const std::string sides = fmt::format("look at {}.data.left (now {}) and .right (now {})",
                                          place_, objective_.data.left, objective_.data.right);
    add(are_equal && !needs_.keeps_apart, kMistake,
        fmt::format("both sides of every pair are the same text, whose cosine is 1 whatever is "
                    "trained: loss '{}' learns nothing; {}",
                    loss.name, sides));
    add(are_equal && needs_.keeps_apart && !needs_.equal_sides, kWarning,
        fmt::format("both sides of every pair are the same text: loss '{}' only pushes texts "
                    "apart; for SimCSE take `format: texts` and loss simcse, otherwise {}",
                    loss.name, sides));
    const auto used = std::count_if(set_.review.classes.begin(), set_.review.classes.end(),
                                    [](const auto& each) { return each.second > 0; });
    add(offer_.classes > 0 && needs.classes == Requirement::kRequired && used == 1, kMistake,
        fmt::format("all {} examples are of one class: loss '{}' has nothing to tell apart; look "
                    "at {}.data.label (now {}) and at the rows that are read",
                    set_.size(), loss.name, place_, objective_.data.label));
  }

  // For losses that compare the texts of a batch.
  void check_batch(const LossOptions& loss) {
    const bool is_one = set_.size() == 1, is_batch_of_one = !is_one && objective_.batch_size == 1;
    const std::string compares = fmt::format(
        "loss '{}' compares each example with the others of its batch, and ", loss.name);
    add(is_one, kMistake,
        compares + "the data has one example, so that nothing is trained; it needs more");
    add(is_batch_of_one, kMistake,
        fmt::format("{}{}.batch_size is 1, so that nothing is trained; set it to 8 or more "
                    "(accumulation does not help), or take a loss of one pair, such as mse",
                    compares, place_));
    const bool may_be_one = !is_one && !is_batch_of_one && offer_.target_minimum >= 0.5;
    if (!may_be_one || set_.right.empty()) return;
    for (const char* side : {"right", "left"}) {
      const std::vector<int32_t>& texts = side[0] == 'r' ? set_.right : set_.left;
      const bool are_equal = std::all_of(texts.begin(), texts.end(),
                                         [&](int32_t text) { return text == texts.front(); });
      add(are_equal, kMistake,
          fmt::format("the {} text of all {} pairs is the same: loss '{}' has no other to tell it "
                      "from, and nothing is learned; look at {}.data.{}, or give negatives",
                      side, set_.size(), loss.name, place_, side));
      if (are_equal) return;
    }
  }

  void check_targets(const LossOptions& loss, const LossNeeds& needs) {
    const bool compares = needs.compares == Compares::kOtherTargets;
    const bool is_one = set_.size() == 1 || objective_.batch_size == 1;
    const bool are_equal = offer_.target_minimum >= offer_.target_maximum;
    add(compares && is_one, kMistake,
        fmt::format("loss '{}' compares pairs of different scores, and a batch has one pair: "
                    "nothing is trained; set {}.batch_size to 8 or more",
                    loss.name, place_));
    add(compares && !is_one && are_equal, kMistake,
        fmt::format("loss '{}' compares pairs of different scores, and all {} scores are {:g}: "
                    "nothing is trained; is {}.data.score (now '{}') the right column? For pairs "
                    "that all belong together take mnrl or bsc",
                    loss.name, set_.size(), offer_.target_minimum, place_, objective_.data.score));
    add(!compares && !needs_.keeps_apart && needs.target == Requirement::kRequired && are_equal &&
            offer_.negatives == 0,
        kWarning,
        fmt::format("all {} scores are {:g}: loss '{}' moves all pairs the same way and nothing "
                    "keeps texts apart, so that all vectors may become alike (collapse); give "
                    "pairs of other scores, or take mnrl or bsc",
                    set_.size(), offer_.target_minimum, loss.name));
  }

  // Others that share an example's number, in a batch drawn at random.
  double others_alike(const std::vector<int32_t>& numbers) const {
    std::unordered_map<int32_t, int64_t> times;
    double pairs = 0;
    for (const int32_t number : numbers) pairs += 2 * static_cast<double>(times[number]++);
    const auto size = static_cast<double>(set_.size());
    const double others = std::min(static_cast<double>(objective_.batch_size), size) - 1;
    return size < 2 ? 0 : pairs / (size * (size - 1)) * others;
  }

  // Classes of entailment (`format: nli`) are of pairs, not of texts.
  void check_false_negatives(const LossOptions& loss, const LossRow& row) {
    if (set_.right.empty()) return;
    const std::string* duplicates = row.parts(loss).duplicates;
    const std::string* same_class = row.parts(loss).same_class;
    const bool keeps_them = duplicates == nullptr ? !row.needs(loss).duplicates_are_negatives
                                                  : *duplicates != "negatives";
    const double same_texts = others_alike(set_.right), same = others_alike(set_.classes);
    const bool are_distinct = find_order(objective_.order.name).has(OrderRow::kDistinctTexts);
    add(!keeps_them && !are_distinct && same_texts >= kManyFalseNegatives, kWarning,
        fmt::format("in a batch of {}, {:.1f} other pairs have a pair's right text on average, "
                    "which loss '{}' takes for a negative of its left text; set {}.{}",
                    objective_.batch_size, same_texts, loss.name, place_,
                    duplicates == nullptr ? "order=no_duplicates" : "loss.duplicates=mask"));
    add(same_class != nullptr && *same_class == "negatives" &&
            objective_.data.format == "classes" && same >= kManyFalseNegatives,
        kWarning,
        fmt::format("in a batch of {}, {:.1f} other pairs have the class of a pair on average, and "
                    "loss '{}' takes their texts for negatives of each other; if a class is what "
                    "belongs together, set {}.loss.same_class=mask",
                    objective_.batch_size, same, loss.name, place_));
  }

  const std::string& place_;
  const ObjectiveOptions& objective_;
  const TrainingSet& set_;
  LossData offer_;
  LossNeeds needs_;  // of the objective's whole loss
  std::vector<DataFinding> findings_;
};

}  // namespace

std::vector<SideColumn> side_columns(const PairDataOptions& data) {
  if (data.format == "classes" && !data.text.empty()) return {{"text", data.text}};
  if (data.format != "table" && data.format != "nli" && data.format != "classes") return {};
  std::vector<SideColumn> sides = {{"left", data.left}};
  if (!data.right.empty()) sides.emplace_back("right", data.right);
  for (const std::string& column : data.negatives) sides.emplace_back("negatives", column);
  return sides;
}

std::vector<DataFinding> review_teaching(const std::string& place,
                                         const ObjectiveOptions& objective,
                                         const TrainingSet& set) {
  return TeachingReviewer(place, objective, set).review();
}

std::vector<DataFinding> review_steps(const StageOptions& stage) {
  if (stage.steps > 0 || stage.minutes > 0 || stage.epochs > 0) return {};
  return {{false, fmt::format("stage '{}' has no step (epochs: 0, steps: 0): NOTHING IS TRAINED, "
                              "and its weights stay those it begins with; set epochs",
                              stage.name)}};
}

}  // namespace simile
