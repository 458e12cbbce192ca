// SPDX-License-Identifier: Apache-2.0
#include "simile/train/data_review.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simile/core/check.h"
#include "simile/loss/loss.h"
#include "simile/train/evaluations.h"
#include "simile/train/objective.h"
#include "simile/train/read_recipe.h"
#include "simile/train/run_data.h"
#include "simile/train/start_model.h"

namespace simile {
namespace {

constexpr double kSmallTarget = 0.25;
constexpr size_t kShownClasses = 10;
constexpr int64_t kNoLimit = 16777216;  // of an encoder that takes texts of any length

std::string describe_counts(const TrainingSet& set) {
  const DataReview& review = set.review;
  std::string line = fmt::format("{}: {} {} of {} distinct texts", set.file, review.examples,
                                 review.has_right ? "pairs" : "texts", review.distinct_texts);
  if (review.duplicate_examples > 0)
    line += fmt::format(", {} repeated", review.duplicate_examples);
  if (review.equal_sides > 0) line += fmt::format(", {} of two equal sides", review.equal_sides);
  if (review.empty_texts > 0) line += fmt::format(", {} empty texts", review.empty_texts);
  if (set.offer.has_target) {
    line += fmt::format("; scores from {:g} to {:g}, mean {:.3g}", review.score_minimum,
                        review.score_maximum, review.score_mean);
  }
  std::vector<std::string> classes;
  for (const auto& [name, count] : review.classes) {
    if (classes.size() < kShownClasses) classes.push_back(fmt::format("{} {}", name, count));
  }
  if (classes.empty()) return line;
  line += fmt::format("; classes: {}", fmt::join(classes, ", "));
  const size_t more = review.classes.size() - classes.size();
  return more == 0 ? line : line + fmt::format(" and {} more", more);
}

std::string describe_lengths(const TrainingSet& set) {
  std::vector<size_t> lengths;
  for (const auto& ids : set.texts) lengths.push_back(ids.size());
  std::sort(lengths.begin(), lengths.end());
  const auto quantile = [&](size_t percent) {
    return lengths[(lengths.size() - 1) * percent / 100];
  };
  const double cut = static_cast<double>(set.cut_texts) / static_cast<double>(lengths.size());
  std::string line = fmt::format("{}: tokens of {}: median {}, 95 % up to {}, longest {}", set.file,
                                 set.second.empty() ? "a text" : "a joint sequence", quantile(50),
                                 quantile(95), lengths.back());
  if (set.max_length == 0 || set.max_length >= kNoLimit) return line;
  return line + fmt::format("; {} ({:.1f} %) cut at the limit of {}", set.cut_texts, 100 * cut,
                            set.max_length);
}

// An evaluation or test, as often as it is looked for.
struct ReviewedTest {
  std::string what;  // "test 'sts12'"
  const EvaluationOptions& options;
  TestTexts texts;
  TestReview review;

  const char* unit() const {
    if (texts.is_ranking) return "judged pairs";
    return texts.right == nullptr ? "texts" : "pairs";
  }
  std::string file() const { return options.data.empty() ? options.ranking.queries : options.data; }
};

// "test 'faq' 1 of 339 judged pairs, 2 of 300 queries, 90 of 150 relevant documents (of 190 pairs)"
std::string describe_leak(const ReviewedTest& test, const Leak& leak) {
  const std::string found =
      fmt::format("{}: {} of {} {}", test.what, leak.found, leak.examples, test.unit());
  if (!test.texts.is_ranking) {
    return fmt::format("{}, {:.1f} % of its texts", found, 100 * leak.texts_share());
  }
  return fmt::format("{}, {} of {} queries, {} of {} relevant documents (of {} pairs)", found,
                     leak.queries_found, leak.queries, leak.documents_found, leak.documents,
                     leak.examples_of_seen);
}

class Reviewer {
 public:
  Reviewer(const TrainOptions& options, const Evaluations& evaluations, const Evaluations& tests,
           bool checks)
      : options_(options), checks_(checks) {
    for (const auto* list : {&evaluations, &tests}) {
      for (const Evaluation& each : list->list()) {
        const TestTexts texts = each.task->texts();
        tests_.push_back(
            {fmt::format("{} '{}'", list == &tests ? "test" : "evaluation", each.options.name),
             each.options, texts, TestReview(texts)});
      }
    }
  }

  RunReview review(const std::vector<std::vector<ObjectiveData>>& data) {
    for (size_t stage = 0; stage < data.size(); ++stage) {
      if (checks_) add(review_steps(options_.stages[stage]));
      for (size_t i = 0; i < data[stage].size(); ++i) {
        const ObjectiveOptions& objective = options_.stages[stage].objectives[i];
        const ObjectiveData& sets = data[stage][i];
        if (sets.train.examples) review_objective(stage, i, objective, *sets.train.examples);
        if (sets.dev.examples) report_set(*sets.dev.examples);
      }
    }
    if (checks_) {
      for (const ReviewedTest& test : tests_) {
        if (!test.texts.is_ranking) check_columns(test.what, data_of(test.options));
      }
    }
    return std::move(result_);
  }

 private:
  // False for a set that another objective has too and that was reported before.
  bool report_set(const TrainingSet& set) {
    if (!reported_.insert(&set).second) return false;
    result_.report.push_back(describe_counts(set));
    result_.report.push_back(describe_lengths(set));
    return true;
  }

  void review_objective(size_t stage, size_t number, const ObjectiveOptions& objective,
                        const TrainingSet& set) {
    const std::string place = fmt::format("stages.{}.objectives.{}", stage, number);
    const bool is_new = report_set(set);
    if (checks_) add(review_teaching(place, objective, set));
    if (checks_) check_columns(place, objective.data);
    if (checks_) check_scale(place, objective.data, set);
    std::vector<std::string> shares;
    for (const ReviewedTest& test : tests_) {
      if (checks_) check_sides(place, objective, set, test);
      if (!is_new) continue;
      const Leak leak = find_leak(set.review, test.review);
      shares.push_back(describe_leak(test, leak));
      if (checks_) check_leak(place, set, test, leak);
    }
    if (shares.empty()) return;
    result_.report.push_back(
        fmt::format("{}: overlap with {}", set.file, fmt::join(shares, "; with ")));
  }

  void find(bool is_mistake, const std::string& message) {
    for (const DataFinding& finding : result_.findings) {
      if (finding.message == message) return;
    }
    result_.findings.push_back({is_mistake, message});
  }

  void add(const std::vector<DataFinding>& findings) {
    for (const DataFinding& finding : findings) find(finding.is_mistake, finding.message);
  }

  void check_columns(const std::string& place, const PairDataOptions& data) {
    const std::vector<SideColumn> sides = side_columns(data);
    if (sides.empty()) return;
    const std::vector<std::string> files = pair_files(data);
    const std::string wrong =
        files.empty() ? "" : find_misplaced_side(files.front(), sides, data.table);
    if (!wrong.empty()) find(true, fmt::format("{} (in {}.data)", wrong, place));
  }

  void check_scale(const std::string& place, const PairDataOptions& data, const TrainingSet& set) {
    if (!set.offer.has_target || data.score_scale <= 1) return;
    if (set.review.score_maximum > kSmallTarget || set.review.score_maximum <= 0) return;
    find(false,
         fmt::format("{}: the scores lie between {:g} and {:g} before score_scale {:g} divides "
                     "them, so that the highest target is {:g}; is the scale one of other data? "
                     "Set {}.data.score_scale=1",
                     set.file, set.review.score_minimum * data.score_scale + data.score_offset,
                     set.review.score_maximum * data.score_scale + data.score_offset,
                     data.score_scale, set.review.score_maximum, place));
  }

  void check_sides(const std::string& place, const ObjectiveOptions& objective,
                   const TrainingSet& set, const ReviewedTest& test) {
    const SideMatch match = match_sides(set.review, test.review);
    const char* left = test.texts.is_ranking ? "queries" : "left texts";
    const char* right = test.texts.is_ranking ? "documents" : "right texts";
    const std::string advice = fmt::format(
        "exchange data.left and data.right in {} (now left: {}, right: {}), or the sides of the {}",
        place, objective.data.left, objective.data.right, test.what);
    if (match.is_mistake()) {
      if (!exchanged_.insert(place).second) return;  // one test says it for all
      find(true, fmt::format("{}: left and right are exchanged against the {}: {} texts ({:.1f} % "
                             "of a side) are left here and among its {}, or right here and among "
                             "its {}; the straight way it is {:.1f} %; {}",
                             set.file, test.what, match.exchanged_texts, 100 * match.exchanged,
                             right, left, 100 * match.straight, advice));
    } else if (match.lengths_oppose &&
               find_loss(objective.loss.name).needs(objective.loss).directed) {
      find(false, fmt::format("{}: left texts have {} words and right texts {} (medians), but the "
                              "{} of the {} have {} and its {} {}; loss '{}' looks from left to "
                              "right: if the sides are exchanged, {}",
                              set.file, set.review.left_words, set.review.right_words, left,
                              test.what, test.review.left_words, right, test.review.right_words,
                              objective.loss.name, advice));
    }
  }

  void check_leak(const std::string& place, const TrainingSet& set, const ReviewedTest& test,
                  const Leak& leak) {
    if (leak.found == 0) return;
    std::vector<std::string> shown;
    for (const int64_t example : leak.first) {
      shown.push_back(test.texts.text(static_cast<size_t>(example)));
    }
    find(leak.is_mistake(),
         fmt::format(
             "{}: {} of the {} {} of the {} ({:.1f} %) stand in this training data, such as {}{}",
             set.file, leak.found, leak.examples, test.unit(), test.what, 100 * leak.found_share(),
             fmt::join(shown, " and "), leak.is_mistake() ? "; " + leak_advice(place, test) : ""));
  }

  std::string leak_advice(const std::string& place, const ReviewedTest& test) const {
    const std::string file = test.file();
    if (is_training_file(file)) {
      return fmt::format("{} is read by both: give the two parts of it that have no {} in common",
                         file, test.unit());
    }
    if (file.empty()) return "test on another split";
    const std::string exclude = fmt::format("{}.data.exclude=[{}]", place, file);
    return test.texts.is_ranking
               ? fmt::format("test on other queries, or leave out the pairs of that file's with {}",
                             exclude)
               : fmt::format("leave them out with {}, or test on another split", exclude);
  }

  bool is_training_file(const std::string& file) const {
    if (file.empty()) return false;
    for (const StageOptions& stage : options_.stages) {
      for (const ObjectiveOptions& objective : stage.objectives) {
        const std::vector<std::string> files = pair_files(objective.data);
        if (std::count(files.begin(), files.end(), file) > 0) return true;
        if (objective.data.ranking.queries == file) return true;
      }
    }
    return false;
  }

  const TrainOptions& options_;
  bool checks_;
  std::vector<ReviewedTest> tests_;
  std::set<const TrainingSet*> reported_;
  std::set<std::string> exchanged_;  // places of objectives
  RunReview result_;
};

}  // namespace

void review_run_data(const TrainOptions& options,
                     const std::vector<std::vector<ObjectiveData>>& data,
                     const Evaluations& evaluations, const Evaluations& tests, EventSink& events) {
  const bool stops = options.data_checks == "stop";
  const RunReview review =
      Reviewer(options, evaluations, tests, options.data_checks != "off").review(data);
  for (const std::string& line : review.report) events.info(line);
  std::vector<std::string> mistakes;
  for (const DataFinding& finding : review.findings) {
    if (stops && finding.is_mistake) {
      mistakes.push_back(finding.message);
    } else {
      events.warning(finding.message);
    }
  }
  SIMILE_CHECK(mistakes.empty(), ErrorKind::kRecipe,
               "{}; to train all the same set data_checks: warn", fmt::join(mistakes, "\n"));
}

RunReview review_recipe(const ConfigNode& recipe, EventSink& events) {
  const TrainOptions options = read_recipe(recipe, events);
  const StartModel start = load_start_model(options, events);
  const Evaluations evaluations(options.evaluations, events), tests(options.tests, events);
  return Reviewer(options, evaluations, tests, true).review(read_run_data(options, start, events));
}

}  // namespace simile
