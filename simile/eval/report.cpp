// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/kernel/numerics.h"
#include "simile/metric/agreement.h"

namespace simile {
namespace {

using Positions = std::vector<int64_t>;

template <typename T>
std::vector<T> choose(const std::vector<T>& values, const Positions& positions) {
  std::vector<T> chosen;
  chosen.reserve(positions.size());
  for (const int64_t position : positions) chosen.push_back(values[static_cast<size_t>(position)]);
  return chosen;
}

std::vector<int> binary_labels(const std::vector<double>& gold) {
  std::vector<int> labels;
  for (const double value : gold) labels.push_back(value != 0 ? 1 : 0);
  return labels;
}

Statistic spearman_of(const Answers& answers) {
  return [gold = SortedValues(answers.gold), score = SortedValues(answers.score)](
             const Positions& at) { return pearson(score.ranks(at), gold.ranks(at)); };
}

Statistic pearson_of(const Answers& answers) {
  return [gold = answers.gold, score = answers.score](const Positions& at) {
    return pearson(choose(score, at), choose(gold, at));
  };
}

Statistic average_precision_of(const Answers& answers) {
  return AveragePrecision(answers.score, binary_labels(answers.gold));
}

// A value at one of the thresholds, which stays as it is whatever examples are chosen.
template <double Answers::*threshold, double (BinaryCounts::*value)() const>
Statistic at_threshold(const Answers& answers) {
  if (std::isnan(answers.*threshold)) return nullptr;
  return [scores = answers.score, labels = binary_labels(answers.gold),
          limit = answers.*threshold](const Positions& at) {
    return (apply_threshold(choose(scores, at), choose(labels, at), limit).*value)();
  };
}

template <double ClassificationScores::*value>
Statistic class_score(const Answers& answers) {
  return [gold = answers.gold_class, predicted = answers.predicted,
          classes = answers.classes](const Positions& at) {
    return score_classes(choose(gold, at), choose(predicted, at), classes).*value;
  };
}

// A number that is not a mean over single examples.
Statistic whole(double value) {
  return [value](const Positions&) { return value; };
}

template <int count>
Statistic first_shares(const Answers& answers) {
  const auto kept = std::min<size_t>(count, answers.shares.size());
  return whole(std::accumulate(answers.shares.begin(),
                               answers.shares.begin() + static_cast<std::ptrdiff_t>(kept), 0.0));
}

std::vector<std::string> metric_names(const std::vector<Report>& reports) {
  std::vector<std::string> names;
  for (const Report& report : reports) {
    for (const auto& metric : report.metrics) {
      if (std::count(names.begin(), names.end(), metric.first) == 0) names.push_back(metric.first);
    }
  }
  return names;
}

// With its interval, where there is one: 57.79 [50.75, 64.32].
std::string show_metric(const Report& report, const std::string& name) {
  const double* value = report.find_metric(name);
  if (value == nullptr) return "-";
  const bool x100 = is_fraction(name);
  std::string text = show_figure(*value, x100);
  for (const auto& [metric, interval] : report.intervals) {
    if (metric != name) continue;
    text +=
        fmt::format(" [{}, {}]", show_figure(interval.low, x100), show_figure(interval.high, x100));
  }
  return text;
}

// More classes than a terminal is wide are left to the JSON form.
constexpr size_t kTableClasses = 20;

std::string show_confusion(const std::string& model, const ConfusionMatrix& confusion) {
  const std::vector<std::string>& classes = confusion.classes;
  if (classes.empty() || classes.size() > kTableClasses) return "";
  TableRows rows(1, {""});
  for (const std::string& name : classes) rows[0].push_back(fmt::format("{:>6}", name));
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t* counts = confusion.counts.row(static_cast<int64_t>(i));
    rows.push_back({classes[i]});
    for (size_t j = 0; j < classes.size(); ++j) rows.back().push_back(std::to_string(counts[j]));
  }
  return fmt::format("  {}: gold classes in rows, predicted ones in columns\n{}", model,
                     text_table(rows, {4, "lr"}));
}

// A table of reports on the same data.
std::string show_group(const std::vector<Report>& reports) {
  const Report& first = reports.front();
  int64_t examples = 0;
  for (const Report& report : reports) examples = std::max(examples, report.examples);
  std::string table =
      fmt::format("{} ({}{} examples)\n", first.name.empty() ? first.task : first.name,
                  first.name.empty() ? "" : first.task + ", ", examples);
  const std::vector<std::string> names = metric_names(reports);
  TableRows rows(1, {""});
  for (const Report& report : reports) rows[0].push_back(fmt::format("{:>7}", report.model));
  for (const std::string& name : names) {
    rows.push_back({name});
    for (const Report& report : reports) rows.back().push_back(show_metric(report, name));
  }
  table += text_table(rows, {2, "lr"});
  if (std::any_of(reports.begin(), reports.end(),
                  [](const Report& report) { return !report.intervals.empty(); })) {
    table += "  []: 95 % interval, bootstrap over the examples\n";
  }
  for (const Report& report : reports) {
    for (const std::string& note : report.notes) {
      table += fmt::format("  {}: {}\n", report.model, note);
    }
  }
  for (const Report& report : reports) table += show_confusion(report.model, report.confusion);
  return table;
}

}  // namespace

const std::vector<MetricRow>& metric_table() {
  constexpr auto kFraction = MetricUnit::kFraction;
  constexpr auto kNumber = MetricUnit::kNumber;
  constexpr auto kScore = MetricUnit::kScore;
  constexpr auto kHigher = Better::kHigher;
  constexpr auto kLower = Better::kLower;
  constexpr auto kNeither = Better::kNeither;
  static const std::vector<MetricRow> rows = {
      {"spearman", "sts", kFraction, kHigher, spearman_of},
      {"pearson", "sts", kFraction, kHigher, pearson_of},
      {"f1", "pairs", kFraction, kHigher, at_threshold<&Answers::f1_threshold, &BinaryCounts::f1>},
      {"accuracy", "pairs", kFraction, kHigher,
       at_threshold<&Answers::threshold, &BinaryCounts::accuracy>},
      {"ap", "pairs", kFraction, kHigher, average_precision_of},
      {"mcc", "pairs", kFraction, kHigher,
       at_threshold<&Answers::f1_threshold, &BinaryCounts::mcc>},
      {"threshold", "pairs", kScore, kNeither,
       [](const Answers& answers) { return whole(answers.threshold); }},
      {"f1_threshold", "pairs", kScore, kNeither,
       [](const Answers& answers) { return whole(answers.f1_threshold); }},
      {"accuracy", "classification", kFraction, kHigher,
       class_score<&ClassificationScores::accuracy>},
      {"macro_f1", "classification", kFraction, kHigher,
       class_score<&ClassificationScores::macro_f1>},
      {"alignment", "geometry", kNumber, kLower,
       [](const Answers& answers) { return whole(alignment_of(answers.left, answers.right)); }},
      {"uniformity", "geometry", kNumber, kLower,
       [](const Answers& answers) { return whole(uniformity_of(answers.texts)); }},
      {"mean_cosine", "geometry", kFraction, kLower,
       [](const Answers& answers) { return whole(mean_cosine(answers.texts)); }},
      {"pc@1", "geometry", kFraction, kLower, first_shares<1>},
      {"pc@10", "geometry", kFraction, kLower, first_shares<10>},
      {"masked_accuracy", "pre-training", kFraction, kHigher},
      {"perplexity", "pre-training", kNumber, kLower},
  };
  return rows;
}

std::vector<MetricRow> metrics_of_task(const std::string& task) {
  std::vector<MetricRow> rows;
  for (const MetricRow& row : metric_table()) {
    if (row.task == task) rows.push_back(row);
  }
  return rows;
}

MetricRow find_metric_row(const std::string& name) {
  std::string known = name.substr(0, name.find(':'));
  for (const char* mean : {"_wmean", "_mean"}) {
    if (ends_with(known, mean)) known.resize(known.size() - std::string(mean).size());
  }
  for (const MetricRow& row : metric_table()) {
    if (row.name == known) return row;
  }
  MetricRow other;  // metrics of rankings are all fractions, and higher is better
  other.name = known;
  return other;
}

bool is_fraction(const std::string& name) {
  return find_metric_row(name).unit == MetricUnit::kFraction;
}

FigureName split_figure_name(const std::string& name) {
  const size_t dot = std::min(name.find('.'), name.size());
  return {name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))};
}

const double* Report::find_metric(const std::string& metric_name) const {
  for (const auto& [name, value] : metrics) {
    if (name == metric_name) return &value;
  }
  return nullptr;
}

double Report::metric(const std::string& metric_name) const {
  const double* value = find_metric(metric_name);
  if (value != nullptr) return *value;
  const std::vector<std::string> names = metric_names({*this});
  throw_error(ErrorKind::kRecipe, "the evaluation '{}' has no metric '{}'{}; it has {}",
              name.empty() ? task : name, metric_name, did_you_mean(metric_name, names),
              fmt::join(names, ", "));
}

std::string Report::to_json() const {
  nlohmann::ordered_json json;
  json["task"] = task;
  if (!name.empty()) json["name"] = name;
  json["model"] = model;
  json["examples"] = examples;
  json["metrics"] = nlohmann::ordered_json::object();
  for (const auto& metric : metrics) json["metrics"][metric.first] = metric.second;
  for (const auto& [metric, interval] : intervals) {
    json["intervals"][metric] = {{"low", interval.low}, {"high", interval.high}};
  }
  if (!confusion.classes.empty()) {
    json["confusion"] = {{"classes", confusion.classes},
                         {"matrix", nlohmann::ordered_json::array()}};
    for (int64_t i = 0; i < confusion.counts.rows; ++i) {
      const int64_t* row = confusion.counts.row(i);
      json["confusion"]["matrix"].push_back(std::vector(row, row + confusion.counts.cols));
    }
  }
  if (chosen_fusion) {
    json["hybrid"] = {{"weight", chosen_fusion->weight}, {"rule", chosen_fusion->rule}};
  }
  if (!notes.empty()) json["notes"] = notes;
  // Names may come from file names, which need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string reports_to_json(const std::vector<Report>& reports) {
  std::vector<std::string> texts;
  for (const Report& report : reports) texts.push_back(report.to_json());
  return fmt::format("[{}]", fmt::join(texts, ","));
}

Report mean_report(const std::vector<Report>& reports) {
  Report mean;
  mean.task = reports[0].task;
  mean.name = "mean";
  mean.model = reports[0].model;
  for (const Report& report : reports) mean.examples += report.examples;
  for (const std::string& name : metric_names({reports[0]})) {
    double sum = 0;
    bool in_all = find_metric_row(name).unit != MetricUnit::kScore;
    for (const Report& report : reports) {
      const double* value = report.find_metric(name);
      in_all = in_all && value != nullptr;
      if (in_all) sum += *value;
    }
    if (in_all) mean.metrics.emplace_back(name, sum / static_cast<double>(reports.size()));
  }
  mean.notes.push_back(fmt::format("mean of {} sets", reports.size()));
  return mean;
}

std::array<Report, 2> mean_and_deviation(const std::vector<Report>& runs) {
  Report mean = runs[0];
  mean.model = "mean";
  mean.notes.clear();
  mean.confusion = {};
  mean.metrics.clear();
  Report deviation = mean;
  deviation.model = "sd";
  for (const std::string& name : metric_names({runs[0]})) {
    std::vector<double> values;
    for (const Report& run : runs) {
      if (const double* value = run.find_metric(name)) values.push_back(*value);
    }
    if (values.size() < runs.size()) continue;
    const Spread spread = measure_spread(values);
    mean.metrics.emplace_back(name, spread.mean);
    deviation.metrics.emplace_back(name, spread.deviation);
  }
  return {mean, deviation};
}

Report parse_report(const std::string& json, const std::string& path) {
  const auto parsed = nlohmann::ordered_json::parse(json);  // the order of metrics is that to show
  SIMILE_CHECK(parsed.is_object(), ErrorKind::kInput, path + ": a report must be an object");
  const detail::Json plain(parsed);
  const detail::JsonObject object(plain, path);
  Report report;
  report.task = object.text_or("task", "");
  report.name = object.text_or("name", "");
  report.model = object.text_or("model", "");
  report.examples = object.integer_or("examples", 0, 0, std::numeric_limits<int64_t>::max());
  if (object.has("metrics")) {
    for (const auto& [name, value] : parsed.at("metrics").items()) {
      if (value.is_number()) report.metrics.emplace_back(name, value.get<double>());
    }
  }
  if (object.has("notes")) {
    for (const auto& note : parsed.at("notes")) {
      report.notes.push_back(note.is_string() ? note.get<std::string>() : note.dump());
    }
  }
  return report;
}

std::string to_table(const std::vector<Report>& reports) {
  std::string tables;
  for (size_t begin = 0; begin < reports.size();) {
    size_t end = begin + 1;
    while (end < reports.size() && reports[end].task == reports[begin].task &&
           reports[end].name == reports[begin].name) {
      ++end;
    }
    if (begin > 0) tables += '\n';
    tables += show_group({reports.begin() + static_cast<std::ptrdiff_t>(begin),
                          reports.begin() + static_cast<std::ptrdiff_t>(end)});
    begin = end;
  }
  return tables;
}

}  // namespace simile
