// SPDX-License-Identifier: Apache-2.0
// Uses a model on texts: predict by its head, evaluate on a task, similarity of pairs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/block_progress.h"
#include "simile/core/check.h"
#include "simile/data/line_reader.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/predictions.h"
#include "simile/eval/ranking_task.h"
#include "simile/eval/shared_texts.h"
#include "simile/eval/task.h"
#include "simile/index/indexed_model.h"
#include "simile/metric/ranking.h"

namespace simile::cli {
namespace {

constexpr size_t kBlock = 4096;  // texts or pairs read, predicted and written at a time

struct PredictArguments {
  std::string model, head, input = "-";
  std::optional<double> minimum_similarity;
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("head", head, {"Name of the head; may be left out when the model has one"});
    v.field("minimum_similarity", minimum_similarity,
            {"Give a text the label null if its similarity to the nearest class is below this "
             "(default: what training chose on dev; -1: never)",
             "", -1, 1});
    v.field("input", input,
            {"Texts, one a line, or pairs with a tab between, or .jsonl with text and pair; - is "
             "stdin"});
    encode.visit_texts(v);
    encode.visit_arithmetic(v);
  }
};

// The next texts, and their second ones where the head takes pairs; false when there are none.
bool read_block(TextListReader& reader, bool takes_pairs, bool is_jsonl,
                std::vector<std::string>& texts, std::vector<std::string>& pairs) {
  texts.clear();
  pairs.clear();
  TextItem item;
  while (texts.size() < kBlock && reader.next(item)) {
    check_signal();
    const std::string where = fmt::format("{}:{}", reader.report().file, item.line);
    if (takes_pairs && !is_jsonl) {  // a line of a plain file, cut at its tab
      const size_t tab = item.text.find('\t');
      SIMILE_CHECK(tab != std::string::npos && item.text.find('\t', tab + 1) == std::string::npos,
                   ErrorKind::kInput,
                   "{}: the head takes pairs: expected two texts with one tab between, found {}",
                   where, tab == std::string::npos ? "no tab" : "several tabs");
      item.pair = item.text.substr(tab + 1);
      item.text.resize(tab);
      item.has_pair = true;
    }
    SIMILE_CHECK(takes_pairs || is_jsonl || item.text.find('\t') == std::string::npos,
                 ErrorKind::kInput,
                 "{}: the head takes single texts, found a tab; give a file with the texts alone, "
                 "or .jsonl with \"text\"",
                 where);
    SIMILE_CHECK(item.has_pair == takes_pairs, ErrorKind::kInput, "{}: the head takes {}, found {}",
                 where, takes_pairs ? "pairs" : "single texts",
                 takes_pairs ? "no 'pair'" : "a 'pair' beside the text");
    texts.push_back(std::move(item.text));
    if (takes_pairs) pairs.push_back(std::move(item.pair));
  }
  return !texts.empty();
}

// One line: {"score":x}, {"probability":x} or {"label":"b","probabilities":{"a":x,"b":y}}, of a
// head with a scope {"label":null,"similarity":x,"probabilities":...}.
std::string to_json(const Head& head, const double* values, double similarity) {
  const std::vector<std::string>& names = head.settings().class_names;
  if (names.empty()) return fmt::format("{{\"{}\":{}}}\n", head.settings().output, *values);
  const bool has_class = !head.scope || similarity >= head.scope->minimum_similarity;
  const auto best = std::max_element(values, values + names.size()) - values;
  std::string line =
      fmt::format("{{\"label\":{},", has_class ? quote(names[static_cast<size_t>(best)]) : "null");
  if (head.scope) line += fmt::format("\"similarity\":{},", similarity);
  line += "\"probabilities\":{";
  for (size_t i = 0; i < names.size(); ++i) {
    line += fmt::format("{}{}:{}", i == 0 ? "" : ",", quote(names[i]), values[i]);
  }
  return line + "}}\n";
}

void predict(const PredictArguments& arguments, Terminal& terminal) {
  Head head = load_head(open_model_folder(arguments.model, silent_events()), arguments.head);
  if (arguments.minimum_similarity) {
    SIMILE_CHECK(head.scope, ErrorKind::kUsage,
                 "--minimum-similarity: the head '{}' keeps no similarities to its classes; a run "
                 "with a classification of single texts in `evaluations` does",
                 head.settings().name);
    head.scope->minimum_similarity = *arguments.minimum_similarity;
  }
  const SentenceEncoder encoder = load_encoder(arguments.model, terminal, arguments.encode);
  const Predictor predictor(encoder, head);
  TextListReader reader = open_texts(arguments.input);
  const bool takes_pairs = head_takes_pairs(head.settings());
  const bool is_jsonl = is_json_lines(arguments.input);
  if (!takes_pairs) {
    warn_about_table(arguments.input, terminal);
  }
  Output output("-");
  EncodeCounts counts;
  BlockProgress progress(terminal, "predict", 0, "texts");
  std::vector<std::string> texts, pairs;
  std::vector<double> similarities;
  while (read_block(reader, takes_pairs, is_jsonl, texts, pairs)) {
    const Matrix<double> values = head_probabilities(
        head.settings(),
        predictor.predict(texts, pairs, arguments.encode, progress, &counts, &similarities));
    for (int64_t i = 0; i < values.rows; ++i) {
      const double similarity = head.scope ? similarities[static_cast<size_t>(i)] : 0;
      output.write(to_json(head, values.row(i), similarity));
    }
  }
  terminal.progress({"predict", counts.texts, counts.texts, "texts", {}});
  check_any_text(counts.texts, reader.report());
  output.finish();
  warn_about(reader.report(), terminal);
  warn_of_cut_texts(counts, encoder, terminal);
}

struct EvaluateArguments {
  std::vector<std::string> models;
  std::string task, run;
  std::vector<std::string> overrides;
  GivenOptions<EvaluationOptions> data{GivenOptions<EvaluationOptions>::Defaults::kShown};
  std::string output, predictions;
  bool intervals = false;
  ModelOptions model_options;
  GivenOptions<FusionOptions> fusion{GivenOptions<FusionOptions>::Defaults::kShown};
  std::string language = "none";

  void visit(OptionVisitor& v) {
    v.field("model", models,
            OptionInfo{"Model folder, name of a built-in model (simile-mini-3), the baselines "
                       "bm25, tfidf and words:MODEL (mean of its word embeddings), or "
                       "hybrid:MODEL, one of them together with BM25; several stand side by side"}
                .words());
    v.field("task", task,
            {"sts, pairs, ranking, classification, geometry, or a task file ending in .yaml, .yml "
             "or .json; for several sets of one kind it also reports their mean"});
    v.field("overrides", overrides,
            OptionInfo{
                "Values that replace a task file's: tasks.0.data=PATH, data=FOLDER, variant=NAME"}
                .named("overrides"));
    v.field("run", run, {"TREC run to score by --qrels, instead of a model and a task"});
    data.visit(v, {"task"});
    v.field("output", output, {"Also write the report as JSON to this file"});
    v.field("predictions", predictions,
            {"Write the model's predictions: .tsv, or a TREC run for rankings, with a table of its "
             "queries beside it; with --run only that table, .tsv. `simile compare` reads them"});
    v.field("intervals", intervals,
            {"Also the 95 % interval of each metric: bootstrap over the examples"});
    model_options.visit(v);
    fusion.visit(v);
    v.field("language", language, language_info());
  }
};

// Errors (ErrorKind::kUsage): an option about the data was given that is not in `taken`.
void check_dataset_options(const EvaluateArguments& arguments, const std::string& source,
                           const std::set<std::string>& taken) {
  for (const std::string& name : arguments.data.names()) {
    const std::string flag = flag_of(name);
    SIMILE_CHECK(taken.count(flag) > 0, ErrorKind::kUsage, "{} does not go together with {}", flag,
                 source);
  }
}

std::vector<EvaluationOptions> chosen_tasks(EvaluateArguments& arguments) {
  SIMILE_CHECK(!arguments.models.empty() && !arguments.task.empty(), ErrorKind::kUsage,
               "give --model and --task, or --run and --qrels to score a run file");
  if (is_task_file(arguments.task)) {
    check_dataset_options(arguments, "a task file, which names its data itself", {});
    return read_task_file(arguments.task, arguments.overrides);
  }
  SIMILE_CHECK(arguments.overrides.empty(), ErrorKind::kUsage,
               "'{}' replaces a value of a task file, and --task names none",
               arguments.overrides[0]);
  // Read through the option reader, so that a wrong name gives the same error as in a recipe.
  ConfigNode node = parse_config("{}", "command line");
  apply_override(node, "task=" + arguments.task);
  read_options(node, arguments.data.values());
  return {arguments.data.values()};
}

// Refuses to replace what is read, before it is.
void check_files(const EvaluateArguments& arguments,
                 const std::vector<EvaluationOptions>& evaluations) {
  std::vector<std::string> inputs = {arguments.run};
  std::vector<std::string> outputs = {arguments.output, arguments.predictions};
  if (is_task_file(arguments.task)) inputs.push_back(arguments.task);
  for (const std::string& model : arguments.models) {
    const std::string folder = model.substr(model.rfind(':') + 1);  // of hybrid: and words: too
    if (folder_exists(folder)) inputs.push_back(folder);
  }
  for (const EvaluationOptions& options : evaluations) {
    const std::vector<std::string> ranking = paths_of(options.ranking);
    inputs.insert(inputs.end(), {options.data, options.dev});
    inputs.insert(inputs.end(), ranking.begin(), ranking.end());
    inputs.insert(inputs.end(), options.seen.begin(), options.seen.end());
    if (options.task == "ranking" && arguments.run.empty() && !arguments.predictions.empty()) {
      outputs.push_back(query_table_file(arguments.predictions));
    }
  }
  check_outputs(outputs, inputs);
}

// by_task[i][m] is the report of model m. Returns the means of kinds of task with several sets.
std::vector<Report> mean_reports(const std::vector<std::vector<Report>>& by_task) {
  std::vector<Report> means;
  std::set<std::string> seen;
  for (const auto& first : by_task) {
    if (!seen.insert(first[0].task).second) continue;
    for (size_t m = 0; m < first.size(); ++m) {
      std::vector<Report> same;
      for (const auto& reports : by_task) {
        if (reports[m].task == first[m].task) same.push_back(reports[m]);
      }
      if (same.size() > 1) means.push_back(mean_report(same));
    }
  }
  return means;
}

// Rejects options that only a hybrid or a lexical baseline takes.
void check_hybrid_options(const EvaluateArguments& arguments, Terminal& terminal) {
  const EvaluationOptions& options = arguments.data.values();
  const bool has_hybrid =
      std::any_of(arguments.models.begin(), arguments.models.end(),
                  [](const std::string& model) { return !hybrid_model(model).empty(); });
  const bool has_words =
      std::any_of(arguments.models.begin(), arguments.models.end(),
                  [](const std::string& model) { return make_lexical_scorer(model) != nullptr; });
  SIMILE_CHECK(has_hybrid || has_words || arguments.language == "none", ErrorKind::kUsage,
               "--language is of bm25, tfidf and hybrids, and no --model is one; remove it");
  if (has_hybrid) return;
  SIMILE_CHECK(!arguments.fusion.any(), ErrorKind::kUsage,
               "--hybrid-weight and --hybrid-rule are of hybrids, and no --model is one; remove "
               "them or write hybrid:MODEL");
  if (options.task == "ranking" && !options.dev.empty()) {
    terminal.warning("--dev chooses the weight of a hybrid, and no --model is one");
  }
}

std::vector<Report> evaluate_models(EvaluateArguments& arguments, Terminal& terminal) {
  std::vector<std::unique_ptr<Task>> tasks;
  const std::vector<EvaluationOptions> chosen = chosen_tasks(arguments);
  check_files(arguments, chosen);
  for (const EvaluationOptions& options : chosen) {
    tasks.push_back(load_task(options));
    for (const std::string& warning : tasks.back()->warnings()) terminal.warning(warning);
    for (const std::string& note : tasks.back()->notes()) terminal.info(note);
  }
  SIMILE_CHECK(arguments.predictions.empty() || (tasks.size() == 1 && arguments.models.size() == 1),
               ErrorKind::kUsage, "--predictions needs one model and one task");
  check_hybrid_options(arguments, terminal);
  check_model_options(arguments.models, arguments.model_options);
  std::vector<const Task*> all;
  for (const auto& task : tasks) all.push_back(task.get());
  // MODEL and hybrid:MODEL take the vectors of one scorer, which is kept for the last of them.
  const auto vectors_of = [](const std::string& model) {
    const std::string vectors = hybrid_model(model);
    return vectors.empty() ? model : vectors;
  };
  std::map<std::string, int64_t> uses;
  for (const std::string& model : arguments.models) ++uses[vectors_of(model)];
  std::map<std::string, std::shared_ptr<Scorer>> opened;
  std::vector<std::vector<Report>> by_task(tasks.size());
  for (const std::string& model : arguments.models) {
    const std::string name = vectors_of(model);
    std::shared_ptr<Scorer>& vectors = opened[name];
    if (vectors == nullptr) {
      vectors = make_scorer(name, arguments.model_options, terminal, arguments.language);
      vectors->embed_once(std::make_shared<const SharedTexts>(all, uses[name]));
    }
    const auto scorer = make_set_scorer(model, vectors, arguments.fusion, arguments.language);
    for (size_t i = 0; i < tasks.size(); ++i) {
      Predictions predictions;
      by_task[i].push_back(tasks[i]->evaluate(*scorer, arguments.predictions,
                                              arguments.intervals ? &predictions : nullptr));
      if (arguments.intervals) add_intervals(predictions, by_task[i].back());
    }
    if (--uses[name] == 0) opened.erase(name);
  }
  std::vector<Report> reports;
  for (const auto& of_task : by_task) reports.insert(reports.end(), of_task.begin(), of_task.end());
  const std::vector<Report> means = mean_reports(by_task);
  reports.insert(reports.end(), means.begin(), means.end());
  return reports;
}

Report evaluate_run_file(const EvaluateArguments& arguments) {
  const EvaluationOptions& options = arguments.data.values();
  SIMILE_CHECK(arguments.models.empty() && arguments.task.empty() && arguments.overrides.empty(),
               ErrorKind::kUsage, "--run takes neither --model nor --task");
  SIMILE_CHECK(arguments.predictions.empty() || ends_with(arguments.predictions, ".tsv"),
               ErrorKind::kUsage,
               "--predictions of a run is the table of its queries: give it a name in .tsv");
  check_dataset_options(arguments, "--run", {"--qrels", "--metrics", "--ties", "--gain", "--name"});
  SIMILE_CHECK(!options.ranking.qrels.empty(), ErrorKind::kUsage,
               "--run needs --qrels, the judgements to score it by");
  check_files(arguments, {options});
  Predictions predictions;
  Report report =
      evaluate_run(arguments.run, options.ranking.qrels, parse_ranking_metrics(options.metrics),
                   parse_tie_break(options.ties), parse_gain(options.gain), &predictions);
  if (!arguments.predictions.empty()) write_predictions(arguments.predictions, predictions);
  if (arguments.intervals) add_intervals(predictions, report);
  report.name = options.name;
  return report;
}

void evaluate(EvaluateArguments& arguments, bool json, Terminal& terminal) {
  const std::vector<Report> reports = arguments.run.empty()
                                          ? evaluate_models(arguments, terminal)
                                          : std::vector<Report>{evaluate_run_file(arguments)};
  const std::string document =
      (reports.size() == 1 ? reports[0].to_json() : reports_to_json(reports)) + "\n";
  write_result(json ? document : to_table(reports));
  if (!arguments.output.empty()) write_result(document, arguments.output);
}

struct SimilarityArguments {
  std::string model;
  std::vector<std::string> texts;
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model,
            OptionInfo{"Model folder, name of a built-in model (simile-mini-3), bm25 or tfidf"}
                .required());
    v.field("texts", texts, OptionInfo{"Two texts or more"}.named("texts").required());
    encode.visit(v);
  }
};

void score(const SimilarityArguments& arguments, bool json, Terminal& terminal) {
  check_model_options({arguments.model}, arguments.encode);
  const std::unique_ptr<Scorer> scorer = make_scorer(arguments.model, arguments.encode, terminal);
  std::vector<std::string> left, right;
  for (size_t i = 0; i < arguments.texts.size(); ++i) {
    for (size_t j = i + 1; j < arguments.texts.size(); ++j) {
      left.push_back(arguments.texts[i]);
      right.push_back(arguments.texts[j]);
    }
  }
  const std::vector<double> scores = scorer->score_pairs(left, right);
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  std::string text;
  for (size_t i = 0; i < scores.size(); ++i) {
    document.push_back({{"left", left[i]}, {"right", right[i]}, {"score", scores[i]}});
    text += fmt::format("{:.4f}\t{}\t{}\n", scores[i], left[i], right[i]);
  }
  print_result(json, document, text);
}

}  // namespace

void add_evaluate(const Commands& commands) {
  commands.add<PredictArguments>(
      "predict", "Classify or score texts with a trained head (JSON lines)", predict);
  commands.add<EvaluateArguments>("evaluate", "Score a model on a task, or a TREC run", evaluate);
  commands.add<SimilarityArguments>("similarity", "Score every pair of the texts given", score)
      ->get_option("texts")
      ->expected(2, 1000);
}

}  // namespace simile::cli
