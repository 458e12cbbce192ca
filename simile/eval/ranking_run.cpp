// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/data/ranking_files.h"
#include "simile/eval/ranking_task.h"

namespace simile {
namespace {

// The rank of the first relevant document; 0 where none was found.
int64_t first_relevant_rank(const JudgedRanking& judged) {
  const auto found = std::find_if(judged.retrieved.begin(), judged.retrieved.end(),
                                  [](int64_t relevance) { return relevance >= 1; });
  return found == judged.retrieved.end() ? 0 : found - judged.retrieved.begin() + 1;
}

// The metrics of each query that counts, in the order of the scores.
Predictions make_query_metrics(const RankingScores& scores) {
  Predictions table;
  table.kind = PredictionKind::kQueries;
  for (const RankingMetric& metric : scores.metrics) table.metrics.push_back(metric.name());
  table.values.resize(table.metrics.size());
  for (const std::vector<double>& query : scores.per_query) {
    for (size_t m = 0; m < query.size(); ++m) table.values[m].push_back(query[m]);
  }
  return table;
}

}  // namespace

Predictions make_query_table(const RankingData& data, const std::vector<int64_t>& queries,
                             const std::vector<Ranking>& rankings,
                             const std::vector<JudgedRanking>& judged,
                             const RankingScores& scores) {
  Predictions table = make_query_metrics(scores);
  const auto add_document = [&data](int64_t document, std::vector<std::string>& ids,
                                    std::vector<std::string>& texts) {
    ids.push_back(document < 0 ? "" : data.document_ids[static_cast<size_t>(document)]);
    texts.push_back(document < 0 ? "" : data.document_texts[static_cast<size_t>(document)]);
  };
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto q = static_cast<size_t>(queries[i]);
    const int64_t rank = first_relevant_rank(judged[i]);
    table.left.push_back(data.query_ids[q]);
    table.right.push_back(data.query_texts[q]);
    table.first_relevant.push_back(rank);
    add_document(rankings[i].empty() ? -1 : rankings[i][0].document, table.top_id, table.top_text);
    // The relevant document ranked highest, or else the most relevant one of the corpus.
    JudgedDocument best{-1, 0};
    if (rank > 0) best.document = rankings[i][static_cast<size_t>(rank) - 1].document;
    for (const JudgedDocument& document : data.judged[q]) {
      if (rank > 0 || document.document < 0 || document.relevance <= best.relevance) continue;
      best = document;
    }
    add_document(best.document, table.relevant_id, table.relevant_text);
  }
  return table;
}

void write_ranking(const std::string& path, const std::string& scorer, const RankingData& data,
                   const std::vector<int64_t>& queries, const std::vector<Ranking>& rankings) {
  std::vector<RunQuery> run;
  for (size_t i = 0; i < queries.size(); ++i) {
    RunQuery& query = run.emplace_back();
    query.query = data.query_ids[static_cast<size_t>(queries[i])];
    for (const RankedDocument& document : rankings[i]) {
      query.documents.push_back(data.document_ids[static_cast<size_t>(document.document)]);
      query.scores.push_back(document.score);
    }
  }
  std::string tag = scorer.empty() ? "simile" : scorer;  // it may hold no white space
  std::replace_if(
      tag.begin(), tag.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; }, '_');
  write_run(path, run, tag);
}

void add_ranking_metrics(const RankingScores& scores, Report& report) {
  for (size_t m = 0; m < scores.metrics.size(); ++m) {
    report.metrics.emplace_back(scores.metrics[m].name(), scores.means[m]);
  }
  report.examples = static_cast<int64_t>(scores.queries.size());
  if (scores.queries_without_relevant > 0) {
    report.notes.push_back(fmt::format("{} judged queries without a relevant document left out",
                                       scores.queries_without_relevant));
  }
  if (scores.queries_without_results > 0) {
    report.notes.push_back(
        fmt::format("{} queries without results counted as 0", scores.queries_without_results));
  }
}

std::vector<JudgedRanking> judge_run(const std::string& run_path, const std::string& qrels_path,
                                     TieBreak ties) {
  std::unordered_map<std::string, RunQuery> run;
  for (RunQuery& query : read_run(run_path)) run.emplace(query.query, std::move(query));

  std::vector<JudgedRanking> rankings;
  std::unordered_map<std::string, size_t> position;
  std::vector<std::unordered_map<std::string, int64_t>> relevance;
  for (const Judgement& judgement : read_qrels(qrels_path)) {
    const auto added = position.emplace(judgement.query, rankings.size());
    if (added.second) {
      rankings.push_back({judgement.query, {}, {}});
      relevance.emplace_back();
    }
    rankings[added.first->second].judged.push_back(judgement.relevance);
    relevance[added.first->second][judgement.document] = judgement.relevance;
  }
  for (size_t q = 0; q < rankings.size(); ++q) {
    const auto found = run.find(rankings[q].query);
    if (found == run.end()) continue;
    const RunQuery& query = found->second;
    for (const int64_t i : rank_by_score(query.scores, query.documents, ties)) {
      const auto judged = relevance[q].find(query.documents[static_cast<size_t>(i)]);
      rankings[q].retrieved.push_back(judged == relevance[q].end() ? 0 : judged->second);
    }
  }
  return rankings;
}

Report evaluate_run(const std::string& run_path, const std::string& qrels_path,
                    const std::vector<RankingMetric>& metrics, TieBreak ties, Gain gain,
                    Predictions* predictions) {
  Report report;
  report.task = "ranking";
  report.model = run_path;
  const std::vector<JudgedRanking> judged = judge_run(run_path, qrels_path, ties);
  const RankingScores scores = score_rankings(judged, metrics, gain);
  add_ranking_metrics(scores, report);
  SIMILE_CHECK(report.examples > 0, ErrorKind::kInput,
               qrels_path + ": no query has a relevant document (relevance of at least 1)");
  if (predictions == nullptr) return report;
  *predictions = make_query_metrics(scores);
  predictions->left = scores.queries;
  for (const JudgedRanking& ranking : judged) {
    const size_t next = predictions->first_relevant.size();
    if (next == scores.queries.size()) break;
    if (ranking.query != scores.queries[next]) continue;
    predictions->first_relevant.push_back(first_relevant_rank(ranking));
  }
  for (auto* column : {&predictions->right, &predictions->top_id, &predictions->top_text,
                       &predictions->relevant_id, &predictions->relevant_text}) {
    column->resize(predictions->left.size());
  }
  return report;
}

}  // namespace simile
