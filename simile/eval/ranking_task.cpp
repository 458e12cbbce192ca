// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/ranking_task.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/check.h"
#include "simile/core/file.h"

namespace simile {
namespace {

// Scorers break ties by position: an order of documents by id makes that an order by id.
void order_documents(RankingData& data, TieBreak ties) {
  if (ties == TieBreak::kInput) return;
  const std::vector<double> equal_scores(data.document_ids.size(), 0);
  const std::vector<int64_t> order = rank_by_score(equal_scores, data.document_ids, ties);
  std::vector<int64_t> position(order.size());
  std::vector<std::string> ids, texts;
  for (const int64_t from : order) {
    position[static_cast<size_t>(from)] = static_cast<int64_t>(ids.size());
    ids.push_back(std::move(data.document_ids[static_cast<size_t>(from)]));
    texts.push_back(std::move(data.document_texts[static_cast<size_t>(from)]));
  }
  data.document_ids = std::move(ids);
  data.document_texts = std::move(texts);
  for (auto& judged : data.judged) {
    for (JudgedDocument& document : judged) {
      if (document.document < 0) continue;
      document.document = position[static_cast<size_t>(document.document)];
    }
  }
}

bool has_relevant(const std::vector<JudgedDocument>& judged) {
  return std::any_of(judged.begin(), judged.end(),
                     [](const JudgedDocument& document) { return document.relevance >= 1; });
}

void check_scores(const std::string& scorer, const std::vector<Ranking>& rankings, size_t queries) {
  SIMILE_CHECK(rankings.size() == queries, ErrorKind::kFailed, "{} gave {} rankings for {} queries",
               scorer, rankings.size(), queries);
  for (const Ranking& ranking : rankings) {
    for (const RankedDocument& document : ranking) {
      SIMILE_CHECK(std::isfinite(document.score), ErrorKind::kFailed,
                   "{} gave the score {}: the model or its training is broken", scorer,
                   document.score);
    }
  }
}

constexpr int64_t kHeldScores = int64_t{1} << 22;  // while a weight is chosen

class RankingTask : public Task {
 public:
  RankingTask(std::string name, RankingData data, const RankingTaskOptions& options,
              std::optional<RankingData> dev)
      : name_(std::move(name)), data_(std::move(data)), options_(options), dev_(std::move(dev)) {
    for (const RankingMetric& metric : options_.metrics) {
      SIMILE_CHECK(options_.depth == 0 || metric.cut <= options_.depth, ErrorKind::kRecipe,
                   "the metric {} needs rankings deeper than depth = {}; set depth to at least {}",
                   metric.name(), options_.depth, metric.cut);
    }
    order_documents(data_, options_.ties);
    queries_ = choose_queries(data_);
    if (!dev_) return;
    order_documents(*dev_, options_.ties);
    dev_queries_ = choose_queries(*dev_);
    check_dev();
    dev_->document_ids.clear();
    dev_->document_texts.clear();
  }

  Report evaluate(Scorer& scorer, const std::string& predictions_path,
                  Predictions* predictions) const override {
    if (!predictions_path.empty()) check_run_ids(predictions_path);  // before the work
    Report report;
    report.task = "ranking";
    report.name = name_;
    report.model = scorer.name();
    report.notes = scorer.notes();
    auto* const hybrid = dynamic_cast<HybridScorer*>(&scorer);
    const std::vector<Ranking> rankings =
        dev_ && hybrid != nullptr ? rank_hybrid(*hybrid, report)
                                  : without_own(data_, queries_,
                                                scorer.rank(queries_.texts, data_.document_texts,
                                                            queries_.candidates, ranked_depth()));
    check_scores(scorer.name(), rankings, queries_.rows.size());
    const std::vector<JudgedRanking> judged = judge_all(data_, queries_, rankings);
    RankingScores scores = score_rankings(judged, options_.metrics, options_.gain);
    if (!predictions_path.empty() || predictions != nullptr) {
      Predictions table = make_query_table(data_, queries_.rows, rankings, judged, scores);
      table.seen = is_seen_;
      if (!predictions_path.empty()) {
        write_ranking(predictions_path, scorer.name(), data_, queries_.rows, rankings);
        // Beside a pipe there is no place for it.
        if (!stream_exists(predictions_path)) {
          write_predictions(query_table_file(predictions_path), table);
        }
      }
      if (predictions != nullptr) *predictions = std::move(table);
    }
    for (size_t q = 0; q < data_.judged.size(); ++q) {
      if (!data_.judged[q].empty() && !has_relevant(data_.judged[q])) {
        ++scores.queries_without_relevant;
      }
    }
    add_ranking_metrics(scores, report);
    if (options_.judged_candidates) report.notes.push_back("ranks the judged documents only");
    if (options_.exclude_self) {
      report.notes.push_back(
          fmt::format("leaves out the document with the query's id, which {} of {} queries have",
                      queries_with_own(), queries_.rows.size()));
    }
    const std::string seen = describe_seen(judged);
    if (!seen.empty()) report.notes.push_back(seen);
    return report;
  }

  std::optional<double> choose_weight(HybridScorer& hybrid, bool on_own) const override {
    if (!on_own && !dev_) return std::nullopt;
    const Queries& queries = on_own ? queries_ : dev_queries_;
    const auto scores = hybrid.score_hybrid(queries.texts, data_.document_texts);
    return choose(*scores, hybrid, on_own ? data_ : *dev_, queries).weight;
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names;
    for (const RankingMetric& metric : options_.metrics) names.push_back(metric.name());
    return names;
  }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings;
    for (const ReadReport& report : data_.reports) {
      if (!report.warning().empty()) warnings.push_back(report.warning());
    }
    if (data_.judgements_of_unknown_queries > 0) {
      warnings.push_back(fmt::format("{} judgements of unknown queries were dropped",
                                     data_.judgements_of_unknown_queries));
    }
    if (data_.judgements_of_unknown_documents > 0) {
      warnings.push_back(
          fmt::format("{} judged documents are not in the corpus and count as not found",
                      data_.judgements_of_unknown_documents));
    }
    const int64_t own = options_.exclude_self ? 0 : queries_with_own();
    if (own > 0) {
      warnings.push_back(fmt::format(
          "{} of {} queries have the id of a document, which is ranked for them too; if "
          "queries are documents of the corpus, as in ArguAna and Quora, leave each "
          "query's own document out by --exclude-self (exclude_self: true in a recipe)",
          own, queries_.rows.size()));
    }
    return warnings;
  }

  std::vector<std::string> notes() const override { return data_.notes; }

  void tell_seen(const KeySet& texts) override {
    is_seen_.assign(queries_.rows.size(), 0);
    for (size_t i = 0; i < queries_.rows.size(); ++i) {
      for (const JudgedDocument& judged : data_.judged[static_cast<size_t>(queries_.rows[i])]) {
        if (judged.document < 0 || judged.relevance < 1) continue;
        const TextForm form = text_form(data_.document_texts[static_cast<size_t>(judged.document)]);
        if (form.is_telling() && contains(texts, form.key)) is_seen_[i] = 1;
      }
    }
  }

  TestTexts texts() const override {
    TestTexts texts;
    texts.left = &queries_.texts;
    texts.right = &data_.document_texts;
    texts.is_ranking = true;
    for (size_t i = 0; i < queries_.rows.size(); ++i) {
      for (const JudgedDocument& judged : data_.judged[static_cast<size_t>(queries_.rows[i])]) {
        if (judged.document < 0 || judged.relevance < 1) continue;
        texts.examples.emplace_back(i, judged.document);
      }
    }
    return texts;
  }

 private:
  void check_run_ids(const std::string& path) const {
    for (const int64_t query : queries_.rows) {
      check_run_id(data_.query_ids[static_cast<size_t>(query)], path);
    }
    for (const std::string& id : data_.document_ids) check_run_id(id, path);
  }

  // The queries that are ranked.
  struct Queries {
    std::vector<int64_t> rows;  // of the data
    std::vector<std::string> texts;
    std::vector<std::vector<int64_t>> candidates;  // empty for the whole corpus
  };

  // Deep enough that `depth` documents are left without the query's own.
  int64_t ranked_depth() const {
    return options_.depth > 0 && options_.exclude_self ? options_.depth + 1 : options_.depth;
  }

  // `data` has the queries; rankings[i] is that of queries.rows[first + i].
  std::vector<Ranking> without_own(const RankingData& data, const Queries& queries,
                                   std::vector<Ranking> rankings, int64_t first = 0) const {
    if (!options_.exclude_self) return rankings;
    for (size_t i = 0; i < rankings.size(); ++i) {
      const std::string& id =
          data.query_ids[static_cast<size_t>(queries.rows[static_cast<size_t>(first) + i])];
      Ranking& ranking = rankings[i];
      ranking.erase(
          std::remove_if(ranking.begin(), ranking.end(),
                         [&](const RankedDocument& document) {
                           return data_.document_ids[static_cast<size_t>(document.document)] == id;
                         }),
          ranking.end());
      const auto depth = static_cast<size_t>(options_.depth);
      if (depth > 0 && ranking.size() > depth) ranking.resize(depth);
    }
    return rankings;
  }

  // Queries that are ranked and have the id of a document.
  int64_t queries_with_own() const {
    const std::unordered_set<std::string> ids(data_.document_ids.begin(), data_.document_ids.end());
    return std::count_if(queries_.rows.begin(), queries_.rows.end(), [&](int64_t q) {
      return ids.count(data_.query_ids[static_cast<size_t>(q)]) > 0;
    });
  }

  Queries choose_queries(const RankingData& data) const {
    Queries queries;
    for (size_t q = 0; q < data.judged.size(); ++q) {
      if (!has_relevant(data.judged[q])) continue;
      queries.rows.push_back(static_cast<int64_t>(q));
      queries.texts.push_back(data.query_texts[q]);
      if (!options_.judged_candidates) continue;
      queries.candidates.emplace_back();
      for (const JudgedDocument& judged : data.judged[q]) {
        if (judged.document >= 0) queries.candidates.back().push_back(judged.document);
      }
    }
    SIMILE_CHECK(!queries.rows.empty(), ErrorKind::kInput,
                 "{}: task ranking needs queries with a relevant document (relevance of at least "
                 "1), found none",
                 data.reports.empty() ? name_ : data.reports.back().file);
    return queries;
  }

  void check_dev() const {
    SIMILE_CHECK(dev_->document_ids == data_.document_ids, ErrorKind::kRecipe,
                 "dev and qrels must judge documents of the same corpus");
    std::unordered_set<std::string> tested;
    for (const int64_t q : queries_.rows) tested.insert(data_.query_ids[static_cast<size_t>(q)]);
    for (const int64_t q : dev_queries_.rows) {
      const std::string& id = dev_->query_ids[static_cast<size_t>(q)];
      SIMILE_CHECK(tested.count(id) == 0, ErrorKind::kRecipe,
                   "the query '{}' stands in dev and is tested too: the weight would be chosen on "
                   "what it is tested on; give judgements of other queries as dev, or none",
                   id);
    }
  }

  // Both sets of queries meet the corpus at once, so that it is embedded once.
  std::vector<Ranking> rank_hybrid(HybridScorer& hybrid, Report& report) const {
    const auto dev_count = static_cast<int64_t>(dev_queries_.texts.size());
    const auto count = static_cast<int64_t>(queries_.texts.size());
    std::vector<std::string> texts = dev_queries_.texts;
    texts.insert(texts.end(), queries_.texts.begin(), queries_.texts.end());
    const auto scores = hybrid.score_hybrid(texts, data_.document_texts);
    const WeightChoice choice = choose(*scores, hybrid, *dev_, dev_queries_);
    report.chosen_fusion = FusionOptions{choice.weight, hybrid.fusion().rule};
    report.notes = {fmt::format(
        "{}, chosen on {} queries of dev ({} {:.2f}; 90 % of samples of them choose {:g} to {:g})",
        hybrid.describe(choice.weight), dev_count, options_.metrics[0].name(), 100 * choice.value,
        choice.votes.low, choice.votes.high)};
    scores->set_weight(choice.weight);
    return without_own(
        data_, queries_,
        rank_by_scores(*scores, {dev_count, count}, queries_.candidates, ranked_depth()));
  }

  // `queries` are the first that `scores` has.
  WeightChoice choose(HybridScores& scores, const HybridScorer& hybrid, const RankingData& data,
                      const Queries& queries) const {
    const auto count = static_cast<int64_t>(queries.rows.size());
    const std::vector<double> weights = hybrid_weights();
    Matrix<double> values(count, static_cast<int64_t>(weights.size()));
    const bool whole_corpus = queries.candidates.empty();
    const int64_t together =
        whole_corpus ? std::max<int64_t>(1, kHeldScores / std::max<int64_t>(1, scores.documents()))
                     : count;
    for (int64_t first = 0; first < count; first += together) {
      const int64_t block = std::min(together, count - first);
      if (whole_corpus) scores.hold(first, block);
      for (size_t w = 0; w < weights.size(); ++w) {
        scores.set_weight(weights[w]);
        const auto rankings = without_own(
            data, queries,
            rank_by_scores(scores, {first, block}, queries.candidates, ranked_depth()), first);
        check_scores(hybrid.name(), rankings, static_cast<size_t>(block));
        for (int64_t i = 0; i < block; ++i) {
          const JudgedRanking judged = judge_query(data, queries, static_cast<size_t>(first + i),
                                                   rankings[static_cast<size_t>(i)]);
          values.at(first + i, static_cast<int64_t>(w)) =
              compute_ranking_metric(options_.metrics[0], judged, options_.gain);
        }
      }
    }
    return choose_hybrid_weight(values, hybrid.fusion().weight);
  }

  std::vector<JudgedRanking> judge_all(const RankingData& data, const Queries& queries,
                                       const std::vector<Ranking>& rankings) const {
    std::vector<JudgedRanking> judged;
    for (size_t i = 0; i < queries.rows.size(); ++i) {
      judged.push_back(judge_query(data, queries, i, rankings[i]));
    }
    return judged;
  }

  static JudgedRanking judge_query(const RankingData& data, const Queries& queries, size_t i,
                                   const Ranking& ranking) {
    const auto q = static_cast<size_t>(queries.rows[i]);
    JudgedRanking result{data.query_ids[q], {}, {}};
    std::unordered_map<int64_t, int64_t> relevance;
    for (const JudgedDocument& document : data.judged[q]) {
      result.judged.push_back(document.relevance);
      if (document.document >= 0) relevance[document.document] = document.relevance;
    }
    for (const RankedDocument& document : ranking) {
      const auto found = relevance.find(document.document);
      result.retrieved.push_back(found == relevance.end() ? 0 : found->second);
    }
    return result;
  }

  // "map 63.50 of 190 queries with a document seen in training, 25.40 of the 149 others", or "".
  std::string describe_seen(const std::vector<JudgedRanking>& judged) const {
    std::vector<JudgedRanking> parts[2];
    for (size_t i = 0; i < is_seen_.size(); ++i)
      parts[is_seen_[i] != 0 ? 1 : 0].push_back(judged[i]);
    if (parts[0].empty() || parts[1].empty()) return "";
    const std::vector<RankingMetric> first = {options_.metrics.front()};
    const auto mean = [&](const std::vector<JudgedRanking>& part) {
      return 100 * score_rankings(part, first, options_.gain).means[0];
    };
    return fmt::format(
        "{} {:.2f} on {} queries whose document was in training, {:.2f} on the other {}",
        first[0].name(), mean(parts[1]), parts[1].size(), mean(parts[0]), parts[0].size());
  }

  std::string name_;
  RankingData data_;  // documents in the order that breaks ties
  RankingTaskOptions options_;
  std::optional<RankingData> dev_;  // without documents
  Queries queries_, dev_queries_;
  std::vector<int64_t> is_seen_;  // of queries_: has a relevant document seen; empty: not known
};

}  // namespace

std::unique_ptr<Task> make_ranking_task(const std::string& name, RankingData data,
                                        const RankingTaskOptions& options,
                                        std::optional<RankingData> dev) {
  return std::make_unique<RankingTask>(name, std::move(data), options, std::move(dev));
}

}  // namespace simile
