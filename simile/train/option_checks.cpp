// SPDX-License-Identifier: Apache-2.0
// What check_train_options() and check_start_options() refuse.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simile/core/error.h"
#include "simile/core/owned_options.h"
#include "simile/eval/report.h"
#include "simile/kernel/precision.h"
#include "simile/train/option_review.h"
#include "simile/train/placement.h"
#include "simile/train/selection.h"
#include "simile/train/train_options.h"

namespace simile {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kRecipe, message); }

// The name is new among `names`.
void check_new_name(std::set<std::string>& names, const std::string& name,
                    const std::string& what) {
  if (!names.insert(name).second) {
    fail(fmt::format("two {} are called '{}'; give each its own name", what, name));
  }
}

void check_dev(const ObjectiveOptions& objective) {
  const DevDataOptions& dev = objective.dev;
  const PairDataOptions& data = objective.data;
  if (!dev.part.empty() && !data.folds.is_set() && !data.ranking.folds.is_set()) {
    fail(
        fmt::format("{}: `dev: {{part: {}}}` is a part of folds, and the data has none; set folds "
                    "there",
                    data.file(), dev.part));
  }
  if (dev.limit > 0 && dev.path.empty() && dev.qrels.empty() && dev.skip == 0 && dev.part.empty()) {
    fail(fmt::format(
        "{}: `dev: {{limit: {}}}` would measure the loss on the first training examples; "
        "give dev.path, or dev.skip and data.limit",
        data.file(), dev.limit));
  }
}

void check_mining(const StageOptions& stage, const ObjectiveOptions& objective) {
  ObjectiveMiningOptions mine = objective.mine, untouched;
  if (!mine.is_on()) {
    if (options_to_json(mine) == options_to_json(untouched)) return;
    fail(
        fmt::format("stage '{}': `mine` has options but no method, so nothing would be mined; set "
                    "mine.method to top, random or ranks",
                    stage.name));
  }
  check_mining_options(mine);
  const auto refuse = [&](bool refused, const char* why) {
    if (refused) fail(fmt::format("stage '{}': `mine`: {}", stage.name, why));
  };
  if (mine.as_pairs()) {
    refuse(!objective.data.negatives.empty(),
           "the data has negative columns, which mined pairs would lack; take `as: columns`");
    refuse(mine.every_epochs > 0,
           "`every_epochs` goes with columns: the number of pairs could change; set it to 0");
    return;
  }
  refuse(mine.wanted() == 0, "columns need a number: set `count`");
  refuse(mine.oversample > 0, "`oversample` repeats positives among pairs; take `as: pairs`");
  refuse(
      mine.every_epochs > 0 && objective.order.name == "no_duplicates",
      "`order: no_duplicates` counts its batches by the texts, which `every_epochs` changes; set "
      "every_epochs: 0, or take another order");
  refuse(
      mine.every_epochs > 0 && !objective.teachers.empty(),
      "teachers' vectors are stored once, `every_epochs` brings other texts; set every_epochs: 0");
  refuse(mine.every_epochs > 0 && stage.frozen,
         "the encoder is `frozen`, so mining again would find the same; set every_epochs: 0");
}

void check_objectives(const TrainOptions& options, size_t number) {
  const StageOptions& stage = options.stages[number];
  if (stage.objectives.empty()) {
    fail(
        fmt::format("stage '{}' has no `objectives`, expected at least one: {{data: ..., loss: "
                    "...}}",
                    stage.name));
  }
  std::set<std::string> names = {"all"};  // of the sum in loss.all
  for (size_t i = 0; i < stage.objectives.size(); ++i) {
    check_new_name(names, stage.objective_name(i), fmt::format("objectives of '{}'", stage.name));
    check_dev(stage.objectives[i]);
    check_order_options(stage.objectives[i].order, stage.objectives[i].data.file());
    choose_precision(stage.objectives[i].mine.precision);
    check_mining(stage, stage.objectives[i]);
    for (const std::string& teacher : stage.objectives[i].teachers) {
      const int64_t found = find_stage(options, teacher, options.stages.size());
      if (found >= static_cast<int64_t>(number)) {
        fail(
            fmt::format("stage '{}': the teacher '{}' is trained no earlier than it; teachers are "
                        "earlier stages or models",
                        stage.name, teacher));
      }
    }
  }
  const auto has_share = [](const ObjectiveOptions& objective) { return objective.share != 1; };
  if (stage.mixing.mixing != "shares" &&
      std::any_of(stage.objectives.begin(), stage.objectives.end(), has_share)) {
    fail(
        fmt::format("stage '{}': an objective's `share` belongs to `mixing: shares`, found "
                    "`mixing: {}`",
                    stage.name, stage.mixing.mixing));
  }
  if (stage.mixing.mixing != "round_robin" && stage.mixing.mixing_ends != "longest") {
    fail(
        fmt::format("stage '{}': `mixing_ends: {}` belongs to `mixing: round_robin`, found "
                    "`mixing: {}`, whose epochs end by themselves",
                    stage.name, stage.mixing.mixing_ends, stage.mixing.mixing));
  }
}

// The losses that Stage::measure_losses() reports.
std::vector<std::string> loss_names(const StageOptions& stage) {
  std::vector<std::string> names;
  for (size_t i = 0; i < stage.objectives.size(); ++i) {
    if (stage.objectives[i].dev.is_set()) names.push_back(stage.objective_name(i));
  }
  if (!names.empty()) names.emplace_back("all");
  return names;
}

void check_selection(const TrainOptions& options, const StageOptions& stage) {
  std::vector<std::string> during;
  for (const EvaluationOptions& evaluation : options.evaluations) during.push_back(evaluation.name);
  const std::vector<std::string> measured = loss_names(stage);
  if (!measured.empty()) during.push_back(kLossEvaluation);
  const std::vector<std::string>& metrics = stage.selection.metric;
  if (metrics.empty() && stage.selection.early_stop.patience > 0) {
    fail(fmt::format(
        "stage '{}': early_stop.patience counts evaluations without a better "
        "selection.metric, and there is none; name one, such as dev.spearman or loss.all",
        stage.name));
  }
  const auto losses = std::count_if(metrics.begin(), metrics.end(), is_loss_metric);
  if (losses > 0 && losses < static_cast<int64_t>(metrics.size())) {
    fail(fmt::format(
        "stage '{}': selection.metric [{}] mixes losses, which should fall, with metrics, "
        "which should rise; name one kind",
        stage.name, fmt::join(metrics, ", ")));
  }
  for (const std::string& metric : metrics) {
    const FigureName figure = split_figure_name(metric);
    if (std::find(during.begin(), during.end(), figure.evaluation) == during.end()) {
      fail(
          fmt::format("stage '{}': selection.metric '{}' should be EVALUATION.METRIC with one of "
                      "the evaluations [{}]",
                      stage.name, metric, fmt::join(during, ", ")));
    }
    if (is_loss_metric(metric) &&
        std::find(measured.begin(), measured.end(), figure.metric) == measured.end()) {
      fail(fmt::format("stage '{}': selection.metric '{}': there is no loss '{}'; there are {}",
                       stage.name, metric, figure.metric, fmt::join(measured, ", ")));
    }
  }
}

void check_precision(const TrainOptions& options, const StageOptions& stage) {
  try {
    choose_inference_products(stage.selection.precision, choose_device(options.device));
  } catch (const Error& error) {
    fail(fmt::format("stage '{}': selection.precision: {}", stage.name, error.what()));
  }
}

void check_stage(const TrainOptions& options, size_t number) {
  const StageOptions& stage = options.stages[number];
  check_objectives(options, number);
  check_selection(options, stage);
  check_precision(options, stage);
  if (stage.from != "previous" && stage.from != "start" &&
      find_stage(options, stage.from, number) < 0) {
    fail(
        fmt::format("stage '{}': `from: {}` should be previous, start, or the name of an earlier "
                    "stage",
                    stage.name, stage.from));
  }
  const bool has_head = std::any_of(stage.objectives.begin(), stage.objectives.end(),
                                    [](const auto& objective) { return !objective.head.empty(); });
  if (stage.frozen && !has_head) {
    fail(fmt::format(
        "stage '{}' is `frozen` and its objectives have no head: nothing would be trained",
        stage.name));
  }
  for (const ObjectiveOptions& objective : stage.objectives) {
    if (objective.chunk_tokens > 0 && stage.frozen) {
      fail(
          fmt::format("stage '{}' is `frozen`: its batches need no memory but their vectors', so "
                      "chunk_tokens would do nothing; remove it",
                      stage.name));
    }
    if (objective.chunk_tokens == 0 || (stage.siar.weight == 0 && stage.siar.bregman == 0))
      continue;
    fail(
        fmt::format("stage '{}': `siar` perturbs a batch as a whole, `chunk_tokens: {}` never has "
                    "it as a whole; leave one of the two out",
                    stage.name, objective.chunk_tokens));
  }
  if (stage.frozen && (stage.siar.weight > 0 || stage.siar.bregman > 0)) {
    fail(
        fmt::format("stage '{}': `siar` smooths the encoder, which is `frozen`; leave one of the "
                    "two out",
                    stage.name));
  }
}

}  // namespace

void check_start_options(const StartOptions& options) {
  const bool has_control = std::any_of(options.name.begin(), options.name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (options.name.empty() || options.name == "." || options.name == ".." || has_control ||
      options.name.find('/') != std::string::npos) {
    fail(
        fmt::format("`name: {}` names the folder of the run in runs/: expected a name without '/' "
                    "and control characters; --output puts a run elsewhere",
                    options.name));
  }
  if (options.model.empty() && !options.architecture.is_set()) {
    fail(
        "the recipe names no starting point: give `model: FOLDER`, or `architecture: {layers: 4}` "
        "or `architecture: {family: static}` and `tokenizer:` to start from random weights");
  }
  if (!options.model.empty() && options.architecture.is_set()) {
    fail("the recipe gives both `model` and `architecture`; a model brings its own architecture");
  }
  if (options.model.empty() && options.tokenizer.empty()) {
    fail(
        "`tokenizer` is missing: a model from random weights needs a tokenizer.json or vocab.txt "
        "(`simile train-tokenizer` makes one)");
  }
  ArchitectureOptions architecture = options.architecture;
  for (const char* choice : {"family", "start"}) {
    const std::string foreign = find_foreign_options(choice, choice, architecture);
    if (!foreign.empty()) fail("`architecture`: " + foreign);
  }
  choose_placement(options.engine, options.device, options.compute);
}

void check_train_options(const TrainOptions& options) {
  check_start_options(options);
  if (options.stages.empty()) fail("the recipe has no `stages`: nothing would be trained");
  std::set<std::string> names = {kLossEvaluation};
  for (const auto* list : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& evaluation : *list) {
      if (evaluation.name.empty()) fail("every evaluation needs a `name`, such as dev");
      check_new_name(names, evaluation.name, "evaluations");
    }
  }
  check_heads(options.heads);
  std::set<std::string> stages = {"previous", "start"};
  for (size_t i = 0; i < options.stages.size(); ++i) {
    const std::string& name = options.stages[i].name;
    check_new_name(stages, name, "stages");
    if (name.empty() || name.find('/') != std::string::npos) {
      fail(fmt::format(
          "a stage is called '{}'; its weights may be kept in a file of that name, so it "
          "should not be empty and have no '/'",
          name));
    }
    check_stage(options, i);
  }
  refuse_idle_options(options);
}

}  // namespace simile
