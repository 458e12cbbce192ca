// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/ranking.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "simile/core/check.h"
#include "simile/metric/significance.h"

namespace simile {

// The inputs of a metric for one query.
struct Retrieved {
  const JudgedRanking& ranking;
  Gain gain;
  size_t cut;       // k, or the whole list
  double relevant;  // R, above 0
  double hits = 0,
         precisions = 0;  // sums over the first k: of r_i, and of precision where r_i is 1
  size_t first = 0;       // rank of the first relevant document; 0: none
};

struct RankingMetricRow {
  const char* name;
  bool needs_cut;
  double (*value)(const Retrieved&);
};

namespace {

double gain_of(int64_t relevance, Gain gain) {
  constexpr int64_t kMostExponent = 1000;  // sums of powers of two stay finite
  SIMILE_CHECK(
      gain == Gain::kLinear || relevance <= kMostExponent, ErrorKind::kInput,
      "gain exponential is 2^relevance - 1 for relevances up to {}, found {}; use gain linear",
      kMostExponent, relevance);
  const double g = static_cast<double>(std::max<int64_t>(relevance, 0));
  return gain == Gain::kLinear ? g : std::exp2(g) - 1;
}

double discounted_gain(const std::vector<int64_t>& relevances, size_t cut, Gain gain) {
  double sum = 0;
  for (size_t i = 0; i < std::min(cut, relevances.size()); ++i) {
    sum += gain_of(relevances[i], gain) / std::log2(static_cast<double>(i) + 2);
  }
  return sum;
}

int64_t count_relevant(const std::vector<int64_t>& relevances) {
  return std::count_if(relevances.begin(), relevances.end(), [](int64_t r) { return r >= 1; });
}

const RankingMetricRow kRows[] = {
    {"map", false, [](const Retrieved& r) { return r.precisions / r.relevant; }},
    {"mrr", false,
     [](const Retrieved& r) { return r.first > 0 ? 1 / static_cast<double>(r.first) : 0; }},
    {"p", true, [](const Retrieved& r) { return r.hits / static_cast<double>(r.cut); }},
    {"recall", true, [](const Retrieved& r) { return r.hits / r.relevant; }},
    {"ndcg", false,
     [](const Retrieved& r) {
       std::vector<int64_t> ideal = r.ranking.judged;
       std::sort(ideal.begin(), ideal.end(), std::greater<int64_t>());
       const double best = discounted_gain(ideal, r.cut, r.gain);
       return best > 0 ? discounted_gain(r.ranking.retrieved, r.cut, r.gain) / best : 0;
     }},
    {"has_positive", true, [](const Retrieved& r) { return r.hits > 0 ? 1.0 : 0.0; }},
};

[[noreturn]] void fail_unknown(const std::string& name) {
  std::vector<std::string> known;
  for (const RankingMetricRow& metric : kRows) {
    known.push_back(std::string(metric.name) + (metric.needs_cut ? "@k" : ""));
  }
  throw_error(
      ErrorKind::kRecipe,
      "unknown ranking metric '{}'{}; known are {} (k: a number; map, mrr and ndcg may have one)",
      name, did_you_mean(name, known), fmt::join(known, ", "));
}

RankingMetric parse_metric(const std::string& name) {
  const size_t at = name.find('@');
  const std::string head = name.substr(0, at);
  for (const RankingMetricRow& known : kRows) {
    if (head != known.name) continue;
    RankingMetric metric{&known, 0};
    if (at == std::string::npos) {
      if (known.needs_cut) fail_unknown(name);
      return metric;
    }
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + at + 1, end, metric.cut);
    if (parsed.ec != std::errc() || parsed.ptr != end || metric.cut < 1) fail_unknown(name);
    return metric;
  }
  fail_unknown(name);
}

}  // namespace

TieBreak parse_tie_break(const std::string& name) {
  if (name == "trec_eval") return TieBreak::kTrecEval;
  if (name == "input") return TieBreak::kInput;
  if (name == "id") return TieBreak::kId;
  throw_error(ErrorKind::kRecipe, "ties: expected trec_eval, input or id, found '{}'", name);
}

Gain parse_gain(const std::string& name) {
  if (name == "linear") return Gain::kLinear;
  if (name == "exponential") return Gain::kExponential;
  throw_error(ErrorKind::kRecipe, "gain: expected linear or exponential, found '{}'", name);
}

std::string RankingMetric::name() const {
  return cut > 0 ? fmt::format("{}@{}", row->name, cut) : row->name;
}

std::vector<RankingMetric> parse_ranking_metrics(const std::vector<std::string>& names) {
  std::vector<RankingMetric> metrics;
  for (const std::string& part : names) {
    size_t begin = 0;
    while ((begin = part.find_first_not_of(" ,\t\n", begin)) != std::string::npos) {
      const size_t end = std::min(part.find_first_of(" ,\t\n", begin), part.size());
      metrics.push_back(parse_metric(part.substr(begin, end - begin)));
      begin = end;
    }
  }
  SIMILE_CHECK(!metrics.empty(), ErrorKind::kRecipe,
               "expected at least one ranking metric such as map or ndcg@10, found none");
  for (size_t i = 0; i < metrics.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      SIMILE_CHECK(metrics[i].name() != metrics[j].name(), ErrorKind::kRecipe,
                   "the ranking metric {} is named twice; name each once", metrics[i].name());
    }
  }
  return metrics;
}

std::vector<RankingMetric> parse_ranking_metrics(const std::string& names) {
  return parse_ranking_metrics(std::vector<std::string>{names});
}

double compute_ranking_metric(const RankingMetric& metric, const JudgedRanking& ranking,
                              Gain gain) {
  const int64_t relevant = count_relevant(ranking.judged);
  if (relevant == 0) return 0;
  const size_t cut = metric.cut > 0 ? static_cast<size_t>(metric.cut)
                                    : std::max(ranking.retrieved.size(), ranking.judged.size());
  Retrieved r{ranking, gain, cut, static_cast<double>(relevant)};
  for (size_t i = 0; i < std::min(cut, ranking.retrieved.size()); ++i) {
    if (ranking.retrieved[i] < 1) continue;
    r.hits += 1;
    r.precisions += r.hits / static_cast<double>(i + 1);
    if (r.first == 0) r.first = i + 1;
  }
  return metric.row->value(r);
}

RankingScores score_rankings(const std::vector<JudgedRanking>& rankings,
                             const std::vector<RankingMetric>& metrics, Gain gain) {
  RankingScores scores;
  scores.metrics = metrics;
  scores.means.assign(metrics.size(), 0);
  for (const JudgedRanking& ranking : rankings) {
    if (count_relevant(ranking.judged) == 0) {
      ++scores.queries_without_relevant;
      continue;
    }
    if (ranking.retrieved.empty()) ++scores.queries_without_results;
    std::vector<double> values;
    for (const RankingMetric& metric : metrics) {
      values.push_back(compute_ranking_metric(metric, ranking, gain));
      scores.means[values.size() - 1] += values.back();
    }
    scores.queries.push_back(ranking.query);
    scores.per_query.push_back(std::move(values));
  }
  for (double& mean : scores.means) {
    if (!scores.queries.empty()) mean /= static_cast<double>(scores.queries.size());
  }
  return scores;
}

std::vector<int64_t> rank_by_score(const std::vector<double>& scores,
                                   const std::vector<std::string>& ids, TieBreak ties) {
  check_same_length("ranking", scores.size(), ids.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    SIMILE_CHECK(!std::isnan(scores[i]), ErrorKind::kInput,
                 "the score of document '{}' is not a number", ids[i]);
  }
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t left, int64_t right) {
    const size_t a = static_cast<size_t>(left), b = static_cast<size_t>(right);
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    if (ties == TieBreak::kInput) return false;
    return ties == TieBreak::kId ? ids[a] < ids[b] : ids[b] < ids[a];
  });
  return order;
}

}  // namespace simile
