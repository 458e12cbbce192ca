// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/unused_options.h"
#include "simile/data/pair_data.h"
#include "simile/data/text_list.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/text_mining.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, output;
  std::string format = "triplet";
  double positive_above = 0.5;
  int64_t seed = 1;
  PairDataOptions data;
  RankingDataOptions ranking;  // its corpus, on_error and folds also for a table of pairs
  MiningOptions mining;
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field(
        "model", model,
        OptionInfo{std::string(kModelHelp) + ", or the lexical scorers bm25 and tfidf"}.required());
    v.field("data", data.path, {"Table of pairs whose lefts are the anchors: .tsv, .csv, .jsonl"});
    v.all_but({"group", "negatives"}, [&](OptionVisitor& of) {
      data.visit_columns(of);
      data.visit_filter(of);
    });
    v.field("positive_above", positive_above,
            {"Pairs with a score above this are positives", "", -1e9, 1e9});
    v.all_but({"corpus"}, [&](OptionVisitor& of) { ranking.visit(of); });
    v.field("corpus", ranking.corpus,
            {"Texts to choose negatives from: a table with a column text, or one text per line "
             "(default: all right texts of the pairs). For a ranking set the table of documents, "
             "with columns id and text"});
    v.field("output", output, OptionInfo{"Table to write: .tsv or .jsonl"}.required());
    v.field("format", format,
            choice_info("triplet: anchor, positive, negative; n-tuple: anchor, positive, "
                        "negative_1 .. negative_n; labelled-pair: anchor, text, score of 1 or 0",
                        {"triplet", "n-tuple", "labelled-pair"}));
    mining.visit(v);
    v.field("seed", seed, {"Seed of the method random", "", 0});
    encode.visit(v);
  }
};

// The judged documents of a ranking set are the positives, and all documents the candidates.
TextMining read_ranking(const Arguments& arguments, Terminal& terminal) {
  const RankingData data = read_ranking_data(arguments.ranking);
  for (const ReadReport& report : data.reports) warn_about(report, terminal);
  for (const std::string& note : data.notes) terminal.info(note);
  const int64_t unknown = data.judgements_of_unknown_queries + data.judgements_of_unknown_documents;
  if (unknown > 0) {
    terminal.warning(fmt::format("{}: {} judgements of unknown queries or documents were left out",
                                 arguments.ranking.file(), unknown));
  }
  PairDataset pairs = pairs_from_ranking(data);
  return {std::move(pairs.left), std::move(pairs.right), data.document_texts};
}

bool is_ranking_set(const RankingDataOptions& options) {
  return !options.queries.empty() || !options.qrels.empty() || !options.folder.empty();
}

// Without a corpus, the right texts of all pairs are the candidates, not only of the positive ones.
TextMining read_table(const Arguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(!arguments.data.right.empty(), ErrorKind::kUsage,
               "--right is empty: negatives are mined for pairs of texts");
  PairDataOptions data = arguments.data;
  data.ranking = arguments.ranking;  // read_pairs() refuses what belongs to ranking sets alone
  data.ranking.corpus.clear();
  data.table = std::exchange(data.ranking.columns.table, {});
  data.ranking.columns.text.clear();
  data.folds = std::exchange(data.ranking.folds, {});
  PairDataset pairs = read_pairs(data);
  warn_about(pairs.report, terminal);
  for (const std::string& note : pairs.notes) terminal.info(note);
  TextMining mining;
  for (size_t i = 0; i < pairs.left.size(); ++i) {
    if (!(pairs.score[i] > arguments.positive_above)) continue;
    mining.left.push_back(pairs.left[i]);
    mining.right.push_back(pairs.right[i]);
  }
  const std::string& corpus = arguments.ranking.corpus;
  mining.candidates = corpus.empty() ? std::move(pairs.right)
                                     : read_candidate_texts(corpus, terminal, data.table,
                                                            arguments.ranking.columns.text);
  return mining;
}

// Rejects options of pair tables for judgements, and a seed that draws nothing.
void check_idle_options(const Arguments& arguments) {
  SIMILE_CHECK(arguments.mining.method == "random" || arguments.seed == Arguments().seed,
               ErrorKind::kUsage, "--seed is of --method random; remove it");
  const std::vector<IdleOptions> idle = find_idle_options(
      arguments.data,
      {{is_ranking_set(arguments.ranking),
        {"left", "right", "score", "score_offset", "score_scale", "score_names", "filter"},
        ""}});
  const bool has_threshold = arguments.positive_above != Arguments().positive_above;
  SIMILE_CHECK(!is_ranking_set(arguments.ranking) || (idle.empty() && !has_threshold),
               ErrorKind::kUsage,
               "columns, --filter and --positive-above are of a table of pairs (--data); of a "
               "ranking set the judgements tell the positives");
}

TextMining read_texts_to_mine(const Arguments& arguments, Terminal& terminal) {
  const RankingDataOptions& ranking = arguments.ranking;
  const bool is_ranking = is_ranking_set(ranking);
  SIMILE_CHECK(is_ranking != !arguments.data.path.empty(), ErrorKind::kUsage,
               "give --data for a table of pairs, or for a ranking set --queries, --corpus and "
               "--qrels, or --folder");
  TextMining mining =
      is_ranking ? read_ranking(arguments, terminal) : read_table(arguments, terminal);
  SIMILE_CHECK(!mining.left.empty(), ErrorKind::kInput, "{}: no positive pair: {}",
               is_ranking ? ranking.file() : arguments.data.path,
               is_ranking ? "no document is judged relevant"
                          : fmt::format("no score is above --positive-above {:g}",
                                        arguments.positive_above));
  return mining;
}

MinedNegatives mine(const Arguments& arguments, const TextMiningPlan& plan, Terminal& terminal) {
  const auto seed = static_cast<uint64_t>(arguments.seed);
  if (const std::unique_ptr<Scorer> lexical = make_lexical_scorer(arguments.model)) {
    return mine_negatives(plan.plan, score_by_scorer(*lexical, plan), arguments.mining, seed);
  }
  const SentenceEncoder encoder = load_encoder(arguments.model, terminal, arguments.encode);
  const VectorMetric metric = mining_metric(encoder.settings().similarity);
  EncodeCounts counts;
  const EncodeOptions documents = index_options(arguments.encode, encoder, TextRole::kDocument);
  const EncodeOptions queries = index_options(arguments.encode, encoder, TextRole::kQuery);
  const bool is_alike = encoder.prompt(queries) == encoder.prompt(documents);
  const Matrix<float> vectors = encoder.encode(plan.texts, documents, terminal, &counts);
  Matrix<float> anchors;
  if (!is_alike) {
    std::vector<std::string> texts;
    for (const int32_t row : plan.plan.anchors) {
      texts.push_back(plan.texts[static_cast<size_t>(row)]);
    }
    anchors = encoder.encode(texts, queries, terminal, &counts);
  }
  warn_of_cut_texts(counts, encoder, terminal);
  return mine_negatives(plan.plan,
                        score_by_vectors(vectors, plan.plan, metric, is_alike ? nullptr : &anchors),
                        arguments.mining, seed);
}

using Summary = nlohmann::ordered_json;

Summary summarise(const TextMining& mining, const TextMiningPlan& plan, const MiningCounts& counts,
                  const MinedRows& rows) {
  return {{"pairs", mining.left.size()},
          {"anchors", counts.anchors},
          {"candidates", plan.plan.candidates},
          {"negatives", counts.negatives},
          {"anchors_without_negative", counts.without},
          {"anchors_with_fewer", counts.fewer},
          {"rejected",
           {{"own", counts.own},
            {"before_range", counts.before_range},
            {"min_score", counts.min_score},
            {"max_score", counts.max_score},
            {"absolute_margin", counts.absolute_margin},
            {"relative_margin", counts.relative_margin}}},
          {"positive_mean", counts.positive_mean},
          {"negative_mean", counts.negative_mean},
          {"rows", rows.rows},
          {"pairs_left_out", rows.pairs_left_out},
          {"repeats", rows.repeats}};
}

// Advises which limit to relax: the one that rejected most candidates.
std::string limit_advice(const MiningCounts& counts, const MiningOptions& options,
                         int64_t candidates) {
  const std::pair<int64_t, const char*> limits[] = {
      {counts.before_range, "a lower --range-min"},
      {counts.min_score, "a lower --min-score"},
      {counts.max_score, "a higher --max-score"},
      {counts.absolute_margin, "a lower --absolute-margin"},
      {counts.relative_margin, "a lower --relative-margin"}};
  const auto& most = *std::max_element(std::begin(limits), std::end(limits));
  if (most.first > 0) {
    return fmt::format("{} would keep more ({} were rejected by it)", most.second, most.first);
  }
  if (options.range_max > 0 && options.range_max < candidates) {
    return "a higher --range-max would look at more candidates";
  }
  return fmt::format(
      "there are {} candidates, and those left are the anchors' own texts: give more with --corpus",
      candidates);
}

void tell(const Summary& summary, const MiningCounts& counts, const MinedRows& rows,
          const MiningOptions& options, const std::string& output, Terminal& terminal) {
  std::string rejected;
  for (const auto& [reason, count] : summary["rejected"].items()) {
    if (count > 0) rejected += fmt::format(", {} {}", reason, count.get<int64_t>());
  }
  terminal.info(fmt::format("{} anchors, {} candidates: {} negatives; passed over: {}",
                            counts.anchors, summary["candidates"].get<int64_t>(), counts.negatives,
                            rejected.empty() ? "none" : rejected.substr(2)));
  terminal.info(
      fmt::format("mean score of positives {:.4f} (the lowest of each anchor that has negatives), "
                  "of negatives {:.4f}",
                  counts.positive_mean, counts.negative_mean));
  if (counts.without > 0) {
    terminal.warning(
        fmt::format("{} anchors have no negative within the limits; {}", counts.without,
                    limit_advice(counts, options, summary["candidates"].get<int64_t>())));
  }
  if (counts.fewer > 0) {
    terminal.warning(fmt::format("{} anchors have fewer negatives than asked for", counts.fewer));
  }
  if (rows.pairs_left_out > 0) {
    terminal.warning(fmt::format("{} pairs are left out: their n-tuple would lack negatives",
                                 rows.pairs_left_out));
  }
  const std::string repeats =
      rows.repeats > 1 ? fmt::format(", each positive {} times", rows.repeats) : "";
  terminal.info(fmt::format("{} rows written to {}{}", rows.rows, output, repeats));
}

void run(Arguments& arguments, bool json, Terminal& terminal) {
  const std::string ending = std::filesystem::path(arguments.output).extension();
  SIMILE_CHECK(ending == ".tsv" || ending == ".jsonl", ErrorKind::kUsage,
               "--output '{}' should end in .tsv or .jsonl", arguments.output);
  const MinedForm form = parse_mined_form(arguments.format);
  check_mining_options(arguments.mining);
  SIMILE_CHECK(arguments.mining.oversample == 0 || form == MinedForm::kLabelledPair,
               ErrorKind::kUsage, "--oversample belongs to --format labelled-pair");
  check_model_options({arguments.model}, arguments.encode);
  check_idle_options(arguments);
  std::vector<std::string> inputs = paths_of(arguments.ranking);
  inputs.insert(inputs.end(), {arguments.data.path, arguments.model});
  check_outputs({arguments.output}, inputs);
  const TextMining mining = read_texts_to_mine(arguments, terminal);
  const TextMiningPlan plan = plan_text_mining(mining);
  const MinedNegatives mined = mine(arguments, plan, terminal);
  check_signal();
  Output file(arguments.output);
  const MinedRows rows =
      write_mined(mining, plan, mined, arguments.mining, form, ending == ".jsonl",
                  [&file](std::string_view bytes) { file.write(bytes); });
  SIMILE_CHECK(
      mined.counts.negatives > 0, ErrorKind::kFailed,
      "no negative was found for any of {} anchors among {} candidates, and nothing is written; {}",
      mined.counts.anchors, plan.plan.candidates,
      limit_advice(mined.counts, arguments.mining, plan.plan.candidates));
  SIMILE_CHECK(rows.rows > 0, ErrorKind::kFailed,
               "none of {} anchors has the {} negatives that a row of --format {} needs, and "
               "nothing is written; lower --count, or: {}",
               mined.counts.anchors, arguments.mining.wanted(), arguments.format,
               limit_advice(mined.counts, arguments.mining, plan.plan.candidates));
  file.finish();
  const Summary summary = summarise(mining, plan, mined.counts, rows);
  tell(summary, mined.counts, rows, arguments.mining, arguments.output, terminal);
  if (json) write_result(json_line(summary));
}

}  // namespace

void add_mine(const Commands& commands) {
  commands.add<Arguments>("mine", "Mine negatives for pairs of texts, to train with", run);
}

}  // namespace simile::cli
