// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/sts_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simile/core/error.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/metric/correlation.h"

namespace simile {

namespace {

using Correlation = double (*)(const std::vector<double>&, const std::vector<double>&);
using Metrics = std::vector<std::pair<std::string, double>>;

const std::pair<const char*, Correlation> kCorrelations[] = {{"spearman", spearman},
                                                             {"pearson", pearson}};

std::vector<double> slice(const std::vector<double>& values, int64_t begin, int64_t count) {
  return {values.begin() + begin, values.begin() + begin + count};
}

// The correlation of each part, behind their mean and their mean weighted by pairs.
void add_parts(const std::string& name, Correlation correlate, const std::vector<StsPart>& parts,
               const std::vector<double>& scores, const std::vector<double>& gold,
               Metrics& metrics) {
  Metrics of_parts;
  double sum = 0, weighted = 0, pairs = 0;
  for (const StsPart& part : parts) {
    const double value =
        correlate(slice(scores, part.begin, part.pairs), slice(gold, part.begin, part.pairs));
    of_parts.emplace_back(name + ":" + part.name, value);
    sum += value;
    weighted += value * static_cast<double>(part.pairs);
    pairs += static_cast<double>(part.pairs);
  }
  metrics.emplace_back(name + "_mean", sum / static_cast<double>(parts.size()));
  metrics.emplace_back(name + "_wmean", weighted / pairs);
  metrics.insert(metrics.end(), of_parts.begin(), of_parts.end());
}

}  // namespace

StsTask::StsTask(std::string name, PairDataset data, std::string head,
                 const std::vector<StsPart>& parts)
    : name_(std::move(name)), data_(std::move(data)), head_(std::move(head)) {
  SIMILE_CHECK(data_.size() >= 2, ErrorKind::kInput,
               fmt::format("{}: task sts needs at least two scored pairs, found {}",
                           data_.report.file, data_.size()));
  const auto [low, high] = std::minmax_element(data_.score.begin(), data_.score.end());
  SIMILE_CHECK(*low < *high, ErrorKind::kInput,
               fmt::format("{}: task sts correlates with graded gold scores, but all {} are {}; is "
                           "the score column the right one?",
                           data_.report.file, data_.size(), *low));
  choose_parts(parts);
}

void StsTask::choose_parts(const std::vector<StsPart>& parts) {
  int64_t begin = 0;
  for (StsPart part : parts) {
    part.begin = begin;
    begin += part.pairs;
    const auto first = data_.score.begin() + part.begin;
    const bool is_constant =
        std::all_of(first, first + part.pairs, [first](double score) { return score == *first; });
    if (part.pairs >= 2 && !is_constant) {
      parts_.push_back(std::move(part));
      continue;
    }
    part_warnings_.push_back(fmt::format(
        "{}: {} and so no correlation: left out of the means over the files, though its pairs "
        "count "
        "among all",
        part.name,
        part.pairs < 2 ? fmt::format("{} scored pairs", part.pairs)
                       : fmt::format("its {} gold scores are all {:g}", part.pairs, *first)));
  }
}

Report StsTask::evaluate(Scorer& scorer, const std::string& predictions_path,
                         Predictions* predictions) const {
  const std::vector<double> scores = score_checked(scorer, data_, head_);
  keep_scored_pairs(data_, scores, predictions_path, predictions);
  Report report;
  report.task = "sts";
  report.name = name_;
  report.model = scorer.name();
  report.notes = scorer.notes();
  report.examples = data_.size();
  for (const auto& [metric, correlate] : kCorrelations) {
    report.metrics.emplace_back(metric, correlate(scores, data_.score));
  }
  for (const auto& [metric, correlate] : kCorrelations) {
    if (parts_.empty()) break;
    add_parts(metric, correlate, parts_, scores, data_.score, report.metrics);
  }
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  if (*low == *high) report.notes.push_back("all scores are equal: correlation is taken as 0");
  return report;
}

std::vector<std::string> StsTask::metric_names() const {
  std::vector<std::string> names = {"spearman", "pearson"};
  for (const char* metric : {"spearman", "pearson"}) {
    if (parts_.empty()) break;
    for (const char* mean : {"_mean", "_wmean"}) names.push_back(std::string(metric) + mean);
    for (const StsPart& part : parts_) names.push_back(fmt::format("{}:{}", metric, part.name));
  }
  return names;
}

std::vector<std::string> StsTask::warnings() const {
  std::vector<std::string> warnings = reading_warnings(data_);
  warnings.insert(warnings.end(), part_warnings_.begin(), part_warnings_.end());
  return warnings;
}

TestTexts StsTask::texts() const { return pair_texts(data_); }

}  // namespace simile
