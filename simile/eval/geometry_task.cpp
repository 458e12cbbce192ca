// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/geometry_task.h"

#include <fmt/format.h>

#include <numeric>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/eval/detail/scored_pairs.h"
#include "simile/kernel/embedding_geometry.h"

namespace simile {
namespace {

constexpr size_t kLookedAt = 5000;

double share_of_first(const std::vector<double>& shares, size_t count) {
  const auto end = shares.begin() + static_cast<std::ptrdiff_t>(std::min(count, shares.size()));
  return std::accumulate(shares.begin(), end, 0.0);
}

std::vector<std::string> distinct_texts(const PairDataset& data) {
  std::vector<std::string> distinct;
  std::unordered_set<std::string> seen;
  for (const auto* side : {&data.left, &data.right}) {
    for (const std::string& text : *side) {
      if (seen.insert(text).second) distinct.push_back(text);
    }
  }
  return distinct;
}

std::vector<std::string> spread_evenly(const std::vector<std::string>& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<std::string> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(all[i * all.size() / count]);
  return chosen;
}

}  // namespace

GeometryTask::GeometryTask(std::string name, PairDataset data, double positive_above)
    : name_(std::move(name)), data_(std::move(data)) {
  for (size_t i = 0; i < data_.left.size(); ++i) {
    if (data_.score[i] <= positive_above) continue;
    left_.push_back(data_.left[i]);
    right_.push_back(data_.right[i]);
  }
  SIMILE_CHECK(!left_.empty(), ErrorKind::kInput,
               fmt::format("{}: none of the {} pairs has a score above positive_above {:g}, and "
                           "alignment is of pairs that belong together; set it, or score_scale",
                           data_.report.file, data_.size(), positive_above));
  const std::vector<std::string> all = distinct_texts(data_);
  SIMILE_CHECK(all.size() >= 2, ErrorKind::kInput,
               fmt::format("{}: task geometry needs at least two different texts, found {}",
                           data_.report.file, all.size()));
  distinct_count_ = static_cast<int64_t>(all.size());
  distinct_ = spread_evenly(all, kLookedAt);
}

Report GeometryTask::evaluate(Scorer& scorer, const std::string&, Predictions*) const {
  Report report;
  report.task = "geometry";
  report.name = name_;
  report.model = scorer.name();
  report.notes = scorer.notes();
  report.examples = data_.size();
  const Matrix<float> vectors = scorer.embed(distinct_);
  const std::vector<double> shares = principal_shares(vectors);
  report.metrics = {{"alignment", alignment_of(scorer.embed(left_), scorer.embed(right_))},
                    {"uniformity", uniformity_of(vectors)},
                    {"mean_cosine", mean_cosine(vectors)},
                    {"pc@1", share_of_first(shares, 1)},
                    {"pc@10", share_of_first(shares, 10)}};
  report.notes.push_back(fmt::format("alignment of {} positive pairs, the rest of {} texts{}",
                                     left_.size(), distinct_.size(),
                                     static_cast<int64_t>(distinct_.size()) < distinct_count_
                                         ? fmt::format(" out of {}", distinct_count_)
                                         : ""));
  return report;
}

std::vector<std::string> GeometryTask::metric_names() const {
  return {"alignment", "uniformity", "mean_cosine", "pc@1", "pc@10"};
}

std::vector<std::string> GeometryTask::warnings() const { return reading_warnings(data_); }

TestTexts GeometryTask::texts() const { return pair_texts(data_); }

}  // namespace simile
