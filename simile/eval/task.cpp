// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/task.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/unused_options.h"
#include "simile/data/column_kinds.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_match.h"
#include "simile/eval/pair_tasks.h"
#include "simile/eval/ranking_task.h"

namespace simile {
namespace {

const std::vector<std::string> kTasks = {"sts", "pairs", "ranking", "classification", "geometry"};

// Parts of names, in lower case, that sentence-transformers' evaluators and people have for tasks.
constexpr std::pair<const char*, const char*> kForeignTasks[] = {
    {"accuracy", "classification"},
    {"alignment", "geometry"},
    {"anisotropy", "geometry"},
    {"beir", "ranking, with folder"},
    {"binary", "pairs"},
    {"duplicate", "pairs"},
    {"paraphrase", "pairs"},
    {"rerank", "ranking, with candidates: judged"},
    {"retriev", "ranking"},
    {"search", "ranking"},
    {"similarity", "sts"},
    {"uniformity", "geometry"},
    {"triplet", "ranking, of the anchors and their positives"},
};

// "; that is `task: sts` here" of the message about a task that is none, or nothing.
std::string hint_of_foreign_task(const std::string& message) {
  std::string found = message.substr(std::min(message.rfind("found '"), message.size()));
  std::transform(found.begin(), found.end(), found.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [part, task] : kForeignTasks) {
    if (found.find(part) != std::string::npos)
      return fmt::format("; that is `task: {}` here", task);
  }
  return "";
}

void check_task_options(const EvaluationOptions& options) {
  SIMILE_CHECK(std::count(kTasks.begin(), kTasks.end(), options.task) == 1, ErrorKind::kRecipe,
               "task: expected one of {}, found '{}'", fmt::join(kTasks, ", "), options.task);
  const std::string foreign = find_foreign_options("task", "task", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
  const bool has_gain =
      std::any_of(options.metrics.begin(), options.metrics.end(),
                  [](const std::string& metric) { return starts_with(metric, "ndcg"); });
  refuse_idle_options(
      fmt::format("task {}: ", options.task),
      find_idle_options(options, {{options.dev.empty(), {"dev_skip"}, "without `dev`"},
                                  {options.columns.score.empty(),
                                   {"score_offset", "score_scale", "score_names"},
                                   "without a column `score`"},
                                  {!has_gain, {"gain"}, "where no metric is ndcg"}}));
}

PairDataOptions data_options(const EvaluationOptions& options) {
  PairDataOptions pairs = options.columns;
  pairs.path = options.data;
  pairs.table = options.ranking.columns.table;
  pairs.folds = options.ranking.folds;
  if (options.task == "classification") pairs.format = "classes";
  return pairs;
}

// The files of an sts set of several, each with its pairs; none where only some of them are read.
std::vector<StsPart> find_parts(const EvaluationOptions& options) {
  const PairDataOptions& columns = options.columns;
  const std::vector<std::string> files = expand_paths({options.data});
  if (files.size() < 2 || columns.skip > 0 || columns.limit > 0 || options.ranking.folds.is_set()) {
    return {};
  }
  std::vector<StsPart> parts;
  for (const std::string& file : files) {
    PairDataOptions one = data_options(options);
    one.path = file;
    std::string name = std::filesystem::path(file).filename().string();
    for (const char* ending : {".gz", ".zst", ".tsv", ".csv", ".jsonl"}) {
      if (ends_with(name, ending)) name.resize(name.size() - std::string(ending).size());
    }
    parts.push_back({name, read_pairs(one).size(), 0});
  }
  return parts;
}

// A text is as similar to itself as can be, whatever the model.
void check_sides(const EvaluationOptions& options) {
  const PairDataOptions& columns = options.columns;
  SIMILE_CHECK(columns.left != columns.right, ErrorKind::kRecipe,
               "{}: left and right are both the column '{}', so that every text would be compared "
               "with itself; name another column for one of them",
               options.data, columns.left);
}

void check_pair_options(const EvaluationOptions& options) {
  const char* rows = options.task == "classification" ? "texts with a class" : "scored pairs";
  SIMILE_CHECK(!options.data.empty(), ErrorKind::kRecipe, "task {} needs 'data', a file of {}",
               options.task, rows);
  SIMILE_CHECK(!options.columns.right.empty(), ErrorKind::kRecipe,
               "task {} compares pairs: give 'right', the column of the second text", options.task);
  check_sides(options);
  if (options.dev.empty()) return;
  // Dev from the same file would hold the rows to test on, unless it begins behind them.
  const bool is_behind =
      options.columns.limit > 0 && options.dev_skip >= options.columns.skip + options.columns.limit;
  const std::vector<std::string> tested = expand_paths({options.data});
  for (const std::string& file : expand_paths({options.dev})) {
    SIMILE_CHECK(
        (is_behind && !options.ranking.folds.is_set()) ||
            std::count(tested.begin(), tested.end(), file) == 0,
        ErrorKind::kRecipe,
        "dev and data both read '{}': the threshold would be chosen on the rows tested; give "
        "another file as dev, or none, or without folds other rows of it (limit, dev_skip)",
        file);
  }
}

// Its option `text` is the one of classification, of which `sentence` is the default.
RankingDataOptions files_of_ranking(const EvaluationOptions& options) {
  RankingDataOptions files = options.ranking;
  if (options.columns.text != PairDataOptions().text) files.columns.text = options.columns.text;
  return files;
}

// Judgements of other queries on the same corpus.
std::optional<RankingData> read_dev_judgements(const EvaluationOptions& options) {
  if (options.dev.empty()) return std::nullopt;
  RankingDataOptions dev = files_of_ranking(options);
  dev.qrels = options.dev;
  dev.skip_queries = options.dev_skip;
  dev.limit_queries = 0;
  dev.folds = {};
  RankingData data = read_ranking_data(dev);
  if (!options.ranking.folds.is_set()) return data;
  // From a set in folds, take only queries of its dev part, and queries without judgements in it.
  RankingDataOptions whole = files_of_ranking(options), part = whole;
  whole.folds = {};
  part.folds.part = "dev";
  const RankingData cut = read_ranking_data(whole), kept = read_ranking_data(part);
  for (size_t q = 0; q < data.judged.size(); ++q) {
    if (!cut.judged[q].empty() && kept.judged[q].empty()) data.judged[q].clear();
  }
  return data;
}

// Options of a ranking that only one of its two sources has.
struct RankingSource {
  std::string source;
  PairDataOptions columns;
  RankingDataOptions files;

  void visit(OptionVisitor& v) {
    v.field("source", source, choice_info("", {"files", "data"}));
    v.only_for("source", {"files"}, [&](OptionVisitor& of) {
      files.visit_set(of);
      of.all_but({"text"}, [&](OptionVisitor& names) { files.columns.visit_names(names); });
      of.field("text", columns.text, {""});
    });
    v.only_for("source", {"data"}, [&](OptionVisitor& of) {
      columns.visit_columns(of);
      columns.visit_filter(of);
      of.field("skip", columns.skip, {""});
      of.field("limit", columns.limit, {""});
    });
  }
};

// Reads a ranking from a table of pairs, or from files of its own.
RankingData read_ranking(const EvaluationOptions& options) {
  const std::string foreign = find_foreign_options(
      "source", "source",
      RankingSource{options.data.empty() ? "files" : "data", options.columns, options.ranking});
  if (options.data.empty()) {
    SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, "task ranking: " + foreign);
    return read_ranking_data(files_of_ranking(options));
  }
  const RankingDataOptions& other = options.ranking;
  SIMILE_CHECK(
      other.queries.empty() && other.corpus.empty() && other.qrels.empty() && other.folder.empty(),
      ErrorKind::kRecipe,
      "task ranking reads `data`, or queries, corpus and qrels, or a folder; give one of them");
  SIMILE_CHECK(options.dev.empty(), ErrorKind::kRecipe,
               "dev is a file of judgements (qrels), which belong to queries and corpus; a ranking "
               "of `data` has none: set hybrid_weight");
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, "task ranking: " + foreign);
  check_sides(options);
  return ranking_from_pairs(data_options(options));
}

std::unique_ptr<Task> load_ranking(const EvaluationOptions& options) {
  RankingTaskOptions task;
  task.metrics = parse_ranking_metrics(options.metrics);
  task.gain = parse_gain(options.gain);
  task.ties = parse_tie_break(options.ties);
  SIMILE_CHECK(options.candidates == "corpus" || options.candidates == "judged", ErrorKind::kRecipe,
               "candidates: expected corpus or judged, found '{}'", options.candidates);
  task.judged_candidates = options.candidates == "judged";
  task.depth = options.depth;
  task.exclude_self = options.exclude_self;
  auto loaded =
      make_ranking_task(options.name, read_ranking(options), task, read_dev_judgements(options));
  if (!options.seen.empty())
    loaded->tell_seen(read_text_keys(expand_paths(options.seen), options.ranking.columns.table));
  return loaded;
}

}  // namespace

void EvaluationOptions::visit(OptionVisitor& v) {
  try {
    v.field("task", task, choice_info("kind of evaluation", kTasks));
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + hint_of_foreign_task(error.what()));
  }
  v.field("name", name, {"name of the data set in reports"});
  visit_pairs(v);
  v.only_for("task", {"ranking"}, [&](OptionVisitor& of) {
    ranking.visit_set(of);
    of.all_but({"text"}, [&](OptionVisitor& names) { ranking.columns.visit_names(names); });
  });
  ranking.columns.table.visit(v);
  ranking.folds.visit(v);
  v.only_for("task", {"ranking"}, [&](OptionVisitor& of) { visit_ranking(of); });
}

void EvaluationOptions::visit_pairs(OptionVisitor& v) {
  const std::vector<std::string> tasks = {"sts", "pairs", "classification"};
  v.field("data", data,
          path_info("file of scored pairs; classification: texts or pairs with a class; ranking: "
                    "pairs of query (left) and document (right), instead of queries, corpus and "
                    "qrels; a * in its name matches several files; sts reports each, their mean, "
                    "and their mean weighted by pairs"));
  v.only_for("task", {"pairs", "ranking"}, [&](OptionVisitor& of) {
    of.field("dev", dev,
             path_info("development data. pairs: file of pairs for choosing the threshold; empty: "
                       "the data itself, and the report says oracle. ranking: judgements (qrels) "
                       "of other queries of the set, for choosing a hybrid's weight by the first "
                       "of metrics; empty: hybrid_weight. Folds choose on the part dev"));
  });
  v.only_for("task", tasks, [&](OptionVisitor& of) {
    of.field("head", head,
             {"name of the model's head that scores; empty: the similarity of the vectors, or for "
              "classification the only head"});
  });
  columns.visit_columns(v);
  v.only_for("task", {"classification", "ranking"}, [&](OptionVisitor& of) {
    of.field("text", columns.text,
             {"column of the text; empty: pairs are read, from the columns left and right. "
              "ranking: of queries and documents, text by default"});
  });
  v.only_for("task", {"classification"}, [&](OptionVisitor& of) {
    of.all_but({"text"}, [&](OptionVisitor& names) { columns.visit_class_columns(names); });
  });
  columns.visit_filter(v);
  v.only_for("task", {"geometry"}, [&](OptionVisitor& of) {
    of.field("positive_above", positive_above,
             {"alignment is measured on pairs with a score above this"});
  });
  v.field("skip", columns.skip, {"pairs of data to skip at the start", "pairs", 0});
  v.field("limit", columns.limit, {"pairs of data to read; 0 reads all", "pairs", 0});
  v.only_for("task", {"pairs", "ranking"}, [&](OptionVisitor& of) {
    of.field("dev_skip", dev_skip,
             {"pairs, or judged queries, of dev to skip at the start", "", 0});
  });
}

void EvaluationOptions::visit_ranking(OptionVisitor& v) {
  v.field("metrics", metrics,
          {"map mrr p@k ndcg@k recall@k has_positive@k, in the order to report"});
  v.field("gain", gain,
          choice_info("gain of a relevance r in ndcg: r, or 2^r - 1", {"linear", "exponential"}));
  v.field("ties", ties,
          choice_info("order of equal scores: id descending, as given, id ascending",
                      {"trec_eval", "input", "id"}));
  v.field("candidates", candidates,
          choice_info("rank the whole corpus, or the judged documents of each query",
                      {"corpus", "judged"}));
  v.field("depth", depth, {"documents kept per query; 0 keeps all", "documents", 0});
  v.field("exclude_self", exclude_self,
          {"rank no document that has the query's own id, as BEIR does for ArguAna and Quora"});
  v.field("seen", seen,
          path_info("training files: reports the first metric separately for queries with a "
                    "relevant document in them and for the rest; a run does so by itself"));
}

std::unique_ptr<Task> load_task(const EvaluationOptions& options) {
  check_task_options(options);
  if (options.task == "ranking") return load_ranking(options);
  check_pair_options(options);
  PairDataset data = read_pairs(data_options(options));
  SIMILE_CHECK(
      options.task == "classification" || options.columns.score.empty() || data.has_scores,
      ErrorKind::kInput, "{}: no column '{}', expected for 'score': task {} compares scores{}",
      data.report.file, options.columns.score, options.task,
      suggest_score_column(expand_paths({options.data}).front(), options.ranking.columns.table));
  if (options.task == "classification") {
    return make_classification_task(options.name, std::move(data), options.head);
  }
  if (options.task == "geometry") {
    return make_geometry_task(options.name, std::move(data), options.positive_above);
  }
  if (options.task == "sts") {
    return make_sts_task(options.name, std::move(data), options.head, find_parts(options));
  }
  PairDataset dev;
  if (!options.dev.empty()) {
    PairDataOptions pairs = options.columns;
    pairs.path = options.dev;
    pairs.table = options.ranking.columns.table;
    pairs.skip = options.dev_skip;
    pairs.limit = 0;
    dev = read_pairs(pairs);
  }
  return make_pair_task(options.name, std::move(data), std::move(dev), options.head);
}

Report evaluate(const EvaluationOptions& options, Scorer& scorer,
                const std::string& predictions_path) {
  return load_task(options)->evaluate(scorer, predictions_path);
}

}  // namespace simile
