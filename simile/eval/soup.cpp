// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/soup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "simile/core/error.h"
#include "simile/encode/mean_model.h"
#include "simile/eval/encoder_scorer.h"
#include "simile/model/fingerprint.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

void check_weights(const SoupOptions& options) {
  const std::vector<double>& weights = options.weights;
  if (weights.empty()) return;
  SIMILE_CHECK(options.metric.empty(), ErrorKind::kUsage,
               "weights and a metric to choose models by do not go together: those that are chosen "
               "count alike; leave one out");
  SIMILE_CHECK(weights.size() == options.models.size(), ErrorKind::kUsage,
               fmt::format("{} models and {} weights; give each model a weight, in the same order, "
                           "or none for equal ones",
                           options.models.size(), weights.size()));
  for (size_t i = 0; i < weights.size(); ++i) {
    SIMILE_CHECK(std::isfinite(weights[i]) && weights[i] > 0, ErrorKind::kUsage,
                 fmt::format("the weight of '{}' is {}; expected a number above 0, such as 0.5",
                             options.models[i], weights[i]));
  }
}

std::string name_of_model(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

std::vector<std::unique_ptr<Task>> load_all(const std::vector<EvaluationOptions>& options,
                                            EventSink& events) {
  std::vector<std::unique_ptr<Task>> tasks;
  for (const EvaluationOptions& each : options) {
    tasks.push_back(load_task(each));
    for (const std::string& warning : tasks.back()->warnings()) events.warning(warning);
    for (const std::string& note : tasks.back()->notes()) events.info(note);
  }
  return tasks;
}

// Where in the tasks' reports the metric is.
struct MetricPlace {
  std::string name;
  std::vector<size_t> tasks;

  double of(const std::vector<Report>& reports) const {
    double sum = 0;
    for (const size_t i : tasks) sum += reports[i].metric(name);
    return sum / static_cast<double>(tasks.size());
  }
};

void check_metric(const std::string& given, const std::string& name, const Task& task,
                  const EvaluationOptions& options) {
  const std::vector<std::string> names = task.metric_names();
  SIMILE_CHECK(
      std::count(names.begin(), names.end(), name) > 0, ErrorKind::kUsage,
      fmt::format("the metric '{}' is none of the task '{}'; give METRIC or NAME.METRIC, with one "
                  "of: {}",
                  given, options.name.empty() ? options.task : options.name,
                  fmt::join(names, ", ")));
  SIMILE_CHECK(
      is_fraction(name), ErrorKind::kUsage,
      fmt::format("models cannot be chosen by '{}', which is not better the higher it is", given));
}

MetricPlace find_soup_metric(const SoupOptions& options,
                             const std::vector<std::unique_ptr<Task>>& tasks) {
  const std::string& given = options.metric;
  SIMILE_CHECK(!tasks.empty(), ErrorKind::kUsage,
               fmt::format("the metric '{}' is of an evaluation, and none is given; add a task "
                           "file (--task)",
                           given));
  MetricPlace place;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::string prefix = options.tasks[i].name + ".";
    if (prefix == "." || given.compare(0, prefix.size(), prefix) != 0) continue;
    place = {given.substr(prefix.size()), {i}};
  }
  if (place.tasks.empty()) {
    place.name = given;
    place.tasks.resize(tasks.size());
    std::iota(place.tasks.begin(), place.tasks.end(), size_t{0});
  }
  for (const size_t i : place.tasks) check_metric(given, place.name, *tasks[i], options.tasks[i]);
  return place;
}

class SoupMaker {
 public:
  SoupMaker(const SoupOptions& options, EventSink& events)
      : options_(options), events_(events), family_(options.models, events) {
    family_.check_output(options.output);
    tasks_ = load_all(options.tasks, events);
    tests_ = load_all(options.tests, events);
    if (!options.metric.empty()) metric_ = find_soup_metric(options, tasks_);
  }

  SoupReport run() {
    for (size_t i = 0; i < family_.size(); ++i) measure_part(i);
    const std::vector<size_t> used = options_.metric.empty() ? take_all() : take_greedily();
    for (const size_t i : used) soup_.parts[i].share = weight(i) / mean_.weight;
    if (used.size() == 1) {
      events_.warning(
          fmt::format("no mean of weights was as good as '{}' alone, which is what was "
                      "written",
                      options_.models[used[0]]));
    }
    const Scores scores = measure(mean_, name_of_model(options_.output), true);
    if (metric_) soup_.value = metric_->of(scores.tasks);
    list_reports(scores);
    family_.save(options_.output, mean_, make_card());
    return std::move(soup_);
  }

 private:
  struct Scores {
    std::vector<Report> tasks, tests;
  };

  double weight(size_t i) const { return options_.weights.empty() ? 1 : options_.weights[i]; }

  Scores measure(const ModelNumbers& numbers, const std::string& name, bool with_tests) {
    Scores scores;
    if (tasks_.empty() && tests_.empty()) return scores;
    const auto encoder = std::make_shared<const SentenceEncoder>(family_.encoder(numbers));
    const std::unique_ptr<EmbeddingScorer> scorer =
        make_encoder_scorer(name, encoder, family_.heads(numbers), {}, events_);
    for (const auto& task : tasks_) scores.tasks.push_back(task->evaluate(*scorer));
    if (!with_tests) return scores;
    for (const auto& test : tests_) scores.tests.push_back(test->evaluate(*scorer));
    return scores;
  }

  void measure_part(size_t i) {
    const std::string& model = options_.models[i];
    soup_.parts.push_back({model, model_fingerprint(family_.folder(i)), 0, {}, {}});
    const bool is_measured = !tasks_.empty() || !tests_.empty();
    scores_.push_back(is_measured ? measure(family_.read(i, 1, events_), model, true) : Scores());
    if (!metric_) return;
    soup_.parts[i].value = metric_->of(scores_[i].tasks);
    events_.info(fmt::format("{}: {} {:.2f}", model, options_.metric, 100 * *soup_.parts[i].value));
  }

  std::vector<size_t> take_all() {
    std::vector<size_t> all(family_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    mean_ = family_.read(0, weight(0), events_);
    for (size_t i = 1; i < all.size(); ++i) {
      average_into(mean_, family_.read(i, weight(i), silent_events()));
    }
    return all;
  }

  std::vector<size_t> take_greedily() {
    std::vector<size_t> order(family_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return *soup_.parts[a].value > *soup_.parts[b].value;
    });
    std::vector<size_t> used = {order[0]};
    mean_ = family_.read(order[0], 1, events_);
    double best = *soup_.parts[order[0]].value;
    for (size_t k = 1; k < order.size(); ++k) {
      SoupPart& part = soup_.parts[order[k]];
      ModelNumbers tried = mean_;
      average_into(tried, family_.read(order[k], 1, silent_events()));
      part.joined = metric_->of(measure(tried, part.model, false).tasks);
      const bool helps = *part.joined >= best;
      events_.info(fmt::format("with {}: {} {:.2f}, {}", part.model, options_.metric,
                               100 * *part.joined, helps ? "taken" : "left out"));
      if (!helps) continue;
      best = *part.joined;
      mean_ = std::move(tried);
      used.push_back(order[k]);
    }
    return used;
  }

  void list_reports(const Scores& mean) {
    const auto list = [&](const std::vector<Report> Scores::*which) {
      for (size_t t = 0; t < (mean.*which).size(); ++t) {
        soup_.reports.push_back((mean.*which)[t]);
        for (const Scores& part : scores_) soup_.reports.push_back((part.*which)[t]);
      }
    };
    list(&Scores::tasks);
    list(&Scores::tests);
  }

  std::string make_card() const {
    ModelCard card;
    card.title = name_of_model(options_.output);
    card.introduction = fmt::format(
        "The mean of the weights of {} models of one architecture, made by `simile fuse`{}.",
        std::count_if(soup_.parts.begin(), soup_.parts.end(),
                      [](const SoupPart& part) { return part.share > 0; }),
        options_.metric.empty() ? ""
                                : ", those of " + std::to_string(soup_.parts.size()) +
                                      " that do not lower " + options_.metric);
    card.body = "## Parts\n\n| model | share | fingerprint |\n| --- | --- | --- |\n";
    for (const SoupPart& part : soup_.parts) {
      if (part.share > 0) card.part_models.push_back(part.model);
      card.body += fmt::format("| {} | {:.4g} | {} |\n", part.model, part.share, part.fingerprint);
    }
    if (!soup_.reports.empty()) {
      card.body += "\n## Results\n\n```\n" + to_table(soup_.reports) + "```\n";
    }
    return make_model_card(card, family_.settings(mean_));
  }

  const SoupOptions& options_;
  EventSink& events_;
  ModelFamily family_;
  std::vector<std::unique_ptr<Task>> tasks_, tests_;
  std::vector<Scores> scores_;  // of the parts
  std::optional<MetricPlace> metric_;
  ModelNumbers mean_;
  SoupReport soup_;
};

}  // namespace

SoupReport make_soup(const SoupOptions& options, EventSink& events) {
  check_weights(options);
  return SoupMaker(options, events).run();
}

}  // namespace simile
