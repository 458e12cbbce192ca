// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/kernel/numerics.h"
#include "simile/train/optimizer_rule.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

using Metrics = std::vector<std::string>;

// The last stage that selects; null where none does.
const StageOptions* selecting_stage(const TrainOptions& options) {
  const StageOptions* stage = nullptr;
  for (const StageOptions& each : options.stages) {
    if (!each.selection.metric.empty()) stage = &each;
  }
  return stage;
}

// The fewest examples of an evaluation with one of the metrics; 0 where none has.
int64_t fewest_examples(const Scores& scores, const Metrics& metrics) {
  int64_t fewest = 0;
  for (const Report& report : scores.reports) {
    if (is_of(metrics, report.name) && (fewest == 0 || report.examples < fewest))
      fewest = report.examples;
  }
  return fewest;
}

// The gain of a loss: from the stage's first value to the one that it kept.
Gain loss_gain(const StageOptions& stage, const StageCourse& course, bool of_several_stages) {
  Gain gain;
  gain.metrics = stage.selection.metric;
  gain.title = course.metric + (of_several_stages ? fmt::format(" of stage '{}'", stage.name) : "");
  gain.of = "loss";
  gain.lower_is_better = true;
  gain.start = {course.values.front().y};
  StageCourse kept = course;
  if (stage.selection.keeps_best() && !stage.selection.may_keep_start()) {
    const auto first = static_cast<double>(first_trained_step(stage.schedule, course.steps));
    auto& values = kept.values;
    while (values.size() > 1 && values.front().x < first) values.erase(values.begin());
  }
  gain.trained = {stage.selection.keeps_best() ? kept.best().y : kept.values.back().y};
  gain.no_interval = "losses are means over batches, not of single examples";
  return gain;
}

std::vector<Gain> measure_gains(const TrainOptions& options, const std::string& log_path,
                                const JudgedMetrics& judged, const RunScores& scores,
                                bool is_start_kept) {
  const Metrics& metrics = judged.metrics;
  std::vector<Gain> gains;
  const auto add = [&gains](std::optional<Gain> gain) {
    if (gain) gains.push_back(std::move(*gain));
  };
  const Scores &start = scores.start, &trained = scores.trained;
  add(measure_gain("start", metrics, start, trained));
  if (judged.are_rankings && !is_start_kept) {
    add(measure_gain("seen", metrics, start, trained));
    add(measure_gain("unseen", metrics, start, trained));
    add(measure_gain("hybrid", metrics, scores.start_hybrid, scores.trained_hybrid));
  }
  if (judged.are_rankings) add(measure_gain("bm25", metrics, scores.bm25, trained));
  add(measure_gain("majority", metrics, trained, trained));
  const StageOptions* stage = selecting_stage(options);
  if (stage == nullptr) return gains;
  const Metrics& selecting = stage->selection.metric;
  const bool is_loss = is_loss_metric(selecting[0]);
  if (is_loss) {
    const StageCourse course = read_stage_course(log_path, *stage, selecting);
    if (!course.values.empty())
      gains.push_back(loss_gain(*stage, course, options.stages.size() > 1));
  } else if (selecting != metrics) {
    add(measure_gain("selected", selecting, start, trained));
  }
  for (Gain& gain : gains) {
    if (is_loss || gain.metrics != selecting) continue;
    gain.selects = stage->selection.keeps_best() && (gain.of == "start" || gain.of == "selected");
    gain.lower_is_better = selection_rules(stage->selection).direction == "min";
  }
  return gains;
}

// The courses of stages that kept the weights they began with.
std::vector<StageCourse> find_kept_starts(const TrainOptions& options, const std::string& log_path,
                                          const Scores& start) {
  std::vector<StageCourse> kept;
  for (const StageOptions& stage : options.stages) {
    const SelectionOptions& selection = stage.selection;
    if (selection.metric.empty() || !selection.may_keep_start()) continue;
    StageCourse course = read_stage_course(log_path, stage, selection.metric);
    course.examples = fewest_examples(start, selection.metric);
    if (course.is_start_best()) kept.push_back(std::move(course));
  }
  return kept;
}

// Back from the last stage through those whose weights each began with.
bool is_start_kept(const TrainOptions& options, const std::vector<StageCourse>& kept) {
  auto stage = static_cast<int64_t>(options.stages.size()) - 1;
  while (stage >= 0) {
    const StageOptions& one = options.stages[static_cast<size_t>(stage)];
    const bool keeps = std::any_of(kept.begin(), kept.end(), [&](const StageCourse& course) {
      return course.stage == one.name;
    });
    if (!keeps) return false;
    if (one.from == "start") return true;
    stage = one.from == "previous" ? stage - 1
                                   : find_stage(options, one.from, static_cast<size_t>(stage));
  }
  return true;
}

// "; dev.map was 19.45 at step 0, later at best 2.10 (step 17 of 34)"
std::string describe_course(const StageCourse& course) {
  if (course.values.size() < 2) return "";
  const CurvePoint* best = &course.values[1];
  for (size_t i = 2; i < course.values.size(); ++i) {
    if (is_better(course.values[i].y, best->y, course.lower_is_better)) best = &course.values[i];
  }
  return fmt::format("; {} was {} at step 0, later at best {} (step {:.0f} of {})", course.metric,
                     course.show(course.values[0].y), course.show(best->y), best->x, course.steps);
}

constexpr size_t kSampledTexts = 200;
constexpr double kAlike = 0.99;
// Parts of the margin. Batches without a triplet, such as an epoch's last of one text, count 0.
constexpr double kNearMargin = 0.15;
constexpr double kNearZero = 0.2;

double mean_distance(const Matrix<float>& vectors) {
  double sum = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      double square = 0;
      for (int64_t d = 0; d < vectors.cols; ++d) {
        const double difference = static_cast<double>(vectors.at(i, d)) - vectors.at(j, d);
        square += difference * difference;
      }
      sum += std::sqrt(square);
    }
  }
  const auto n = static_cast<double>(vectors.rows);
  return sum / (n * (n - 1) / 2);
}

}  // namespace

JudgedMetrics judged_metrics(const TrainOptions& options, const Evaluations& evaluations,
                             const Evaluations& tests) {
  const StageOptions* stage = selecting_stage(options);
  JudgedMetrics judged;
  if (stage != nullptr && !is_loss_metric(stage->selection.metric[0])) {
    judged.metrics = stage->selection.metric;
  }
  const Evaluations& set = tests.list().empty() ? evaluations : tests;
  if (!set.list().empty() && (&set == &tests || judged.metrics.empty())) {
    const Metrics names = set.list()[0].task->metric_names();
    const auto selects = [&judged](const std::string& name) {
      return std::any_of(judged.metrics.begin(), judged.metrics.end(), [&](const auto& metric) {
        return split_figure_name(metric).metric == name;
      });
    };
    const auto metric = std::find_if(names.begin(), names.end(), selects);
    judged.metrics = {set.list()[0].options.name + "." +
                      (metric == names.end() ? names[0] : *metric)};
  }
  for (const Evaluation& each : set.list()) {
    if (is_of(judged.metrics, each.options.name)) {
      judged.are_rankings = each.options.task == "ranking";
    }
  }
  return judged;
}

Verdict judge_run(const TrainOptions& options, const std::string& log_path,
                  const JudgedMetrics& judged, const RunScores& scores, EventSink& events) {
  Verdict verdict;
  const std::vector<StageCourse> kept = find_kept_starts(options, log_path, scores.start);
  verdict.start_kept = is_start_kept(options, kept) ? 1 : 0;
  verdict.gains = measure_gains(options, log_path, judged, scores, verdict.start_kept > 0);
  for (const StageCourse& course : kept) verdict.stages_that_kept_theirs.push_back(course.stage);
  const auto warn = [&](const std::string& message, const std::vector<StageCourse>& courses) {
    std::string text = message;
    for (const StageCourse& course : courses) {
      for (const std::string& cause : likely_causes(course)) {
        const std::string told =
            options.stages.size() > 1 ? fmt::format("stage '{}': {}", course.stage, cause) : cause;
        verdict.causes.push_back(told);
        text += (text.size() == message.size() ? ". Likely causes:\n  - " : "\n  - ") + told;
      }
    }
    events.warning(text);
  };
  if (verdict.start_kept > 0) {
    std::string message =
        "NOTHING WAS GAINED: the best weights are those before the first step, so the model saved "
        "is the one that the run started from";
    for (const StageCourse& course : kept) message += describe_course(course);
    warn(message, kept);
    return verdict;
  }
  for (const StageCourse& course : kept) {
    warn(fmt::format("the stage '{}' gained nothing and kept the weights that it began with{}",
                     course.stage, describe_course(course)),
         {course});
  }
  // Weights may be worse where the last are kept, or the best that were trained.
  const Gain* gain = verdict.find("selected");
  if (gain == nullptr) gain = verdict.find("start");
  if (!kept.empty() || gain == nullptr || gain->direction() >= 0) return verdict;
  const StageCourse course = read_stage_course(log_path, options.stages.back(), gain->metrics);
  const bool is_told = course.is_start_best() || !options.stages.back().selection.keeps_best();
  warn(fmt::format("the trained model is worse than its start on {}", gain->title),
       is_told ? std::vector<StageCourse>{course} : std::vector<StageCourse>{});
  return verdict;
}

std::vector<std::vector<int32_t>> sample_texts(
    const std::vector<std::vector<ObjectiveData>>& data) {
  for (const auto& stage : data) {
    for (const ObjectiveData& objective : stage) {
      const TrainingSet& set = *objective.train.examples;
      if (!set.second.empty() || set.texts.size() < 2) continue;
      const size_t count = std::min(kSampledTexts, set.texts.size());
      std::vector<std::vector<int32_t>> texts;
      for (size_t i = 0; i < count; ++i) texts.push_back(set.texts[i * set.texts.size() / count]);
      return texts;
    }
  }
  return {};
}

std::string describe_collapse(const Matrix<float>& vectors) {
  const double mean = mean_cosine(vectors);
  if (mean <= kAlike) return "";
  return fmt::format(
      "THE MODEL HAS COLLAPSED: {} different texts of the training data have a mean cosine of "
      "{:.4f}, so that it can hardly tell them apart. Train with negatives (mnrl, bsc) or with "
      "scores that differ, with a lower learning rate or fewer steps",
      vectors.rows, mean);
}

std::string describe_margin(const std::string& stage, const TripletOptions& options, double loss,
                            const Matrix<float>& vectors) {
  if (vectors.rows < 2 || std::abs(loss - options.margin) > kNearMargin * options.margin) return "";
  const double distance =
      options.distance == "cosine" ? 1 - mean_cosine(vectors) : mean_distance(vectors);
  if (distance > kNearZero * options.margin) return "";
  return fmt::format(
      "stage '{}': THE TRIPLETS HAVE COLLAPSED: the loss stands at its margin ({:.4f} of {:g}), as "
      "the distances of {} different texts are near 0 ({:.4f} on average), where a positive is as "
      "far as a negative and nothing is learned. {} a lower learning_rate, and order: classes, "
      "which gives every anchor positives",
      stage, loss, options.margin, vectors.rows, distance,
      options.mining == "batch_hard" ? "mining: batch_hard, the hardest triplets alone, often ends "
                                       "so: take batch_semi_hard or batch_all,"
                                     : "Take");
}

}  // namespace simile
