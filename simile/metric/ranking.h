// SPDX-License-Identifier: Apache-2.0
// Measures of ranked lists, defined as in trec_eval. With r_i = 1 when the document of rank i (from
// 1) is judged relevant (relevance >= 1; unjudged and negative count as 0) and R the number of
// documents judged relevant for the query, retrieved or not:
//
//   map             (1/R) sum_i r_i (r_1 + .. + r_i) / i over the retrieved list
//   mrr             1 / rank of the first relevant document; 0 when there is none
//   p@k             (r_1 + .. + r_k) / k, divided by k also when fewer are retrieved
//   recall@k        (r_1 + .. + r_k) / R
//   has_positive@k  1 when r_1 + .. + r_k > 0: the accuracy at top k
//   ndcg@k          DCG / IDCG with DCG = sum_{i<=k} g_i / log2(i + 1), linear gain g =
//                   relevance, and IDCG that of all judged documents in the best order; `ndcg` has
//                   no cut
//
// map@k and mrr@k look at the first k ranks only (map@k still divides by R). Each measure is
// averaged over the queries that have a relevant document; the others are left out and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simile {

enum class TieBreak {
  kTrecEval,  // score descending, then id descending (bytes as strcmp), as trec_eval sorts
  kInput,     // score descending, then the order given
  kId,        // score descending, then id ascending
};
// From "trec_eval", "input" or "id"; another name is ErrorKind::kRecipe.
TieBreak parse_tie_break(const std::string& name);

enum class Gain {
  kLinear,       // g = relevance
  kExponential,  // g = 2^relevance - 1 (Burges et al. 2005)
};

// From "linear" or "exponential"; another name is ErrorKind::kRecipe.
Gain parse_gain(const std::string& name);

struct RankingMetricRow;  // a metric's name and formula, in ranking.cpp

struct RankingMetric {
  const RankingMetricRow* row = nullptr;
  int64_t cut = 0;  // k; 0 looks at the whole list

  std::string name() const;  // "ndcg@10"
};

// From names such as "map mrr p@1 ndcg@10 recall@100 has_positive@1", separated by spaces or
// commas. Errors: ErrorKind::kRecipe, with the nearest name and the names known.
std::vector<RankingMetric> parse_ranking_metrics(const std::string& names);
std::vector<RankingMetric> parse_ranking_metrics(const std::vector<std::string>& names);

struct JudgedRanking {
  std::string query;
  std::vector<int64_t> retrieved;  // relevance of the documents from rank 1 on; 0 when not judged
  std::vector<int64_t> judged;     // relevance of all judged documents of the query, in any order
};

// One metric of one query that has a relevant document (0 when it has none).
double compute_ranking_metric(const RankingMetric& metric, const JudgedRanking& ranking,
                              Gain gain = Gain::kLinear);

struct RankingScores {
  std::vector<RankingMetric> metrics;
  std::vector<double> means;                   // per metric; 0 when no query counts
  std::vector<std::string> queries;            // those that count, in the order given
  std::vector<std::vector<double>> per_query;  // [queries][metrics]
  int64_t queries_without_relevant = 0;        // left out
  int64_t queries_without_results = 0;         // nothing retrieved: counted with zeros
};

RankingScores score_rankings(const std::vector<JudgedRanking>& rankings,
                             const std::vector<RankingMetric>& metrics, Gain gain = Gain::kLinear);

// Positions of the documents from best to worst. `ids` has the size of `scores`. Errors: a score
// that is NaN is ErrorKind::kInput with the document's id.
std::vector<int64_t> rank_by_score(const std::vector<double>& scores,
                                   const std::vector<std::string>& ids, TieBreak ties);

}  // namespace simile
