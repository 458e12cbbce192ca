// SPDX-License-Identifier: Apache-2.0
#include "simile/train/option_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
#include "simile/core/unused_options.h"
#include "simile/eval/report.h"
#include "simile/kernel/matrix_product.h"
#include "simile/loss/loss.h"
#include "simile/train/placement.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

using Lines = std::vector<std::string>;

struct OptionRule {
  bool is_broken;
  std::string message;
};

// Errors (ErrorKind::kRecipe): the first that is broken.
void check_rules(const std::vector<OptionRule>& rules) {
  for (const OptionRule& rule : rules) {
    SIMILE_CHECK(!rule.is_broken, ErrorKind::kRecipe, rule.message);
  }
}

// The name is new among `names`.
void check_new_name(std::set<std::string>& names, const std::string& name,
                    const std::string& what) {
  SIMILE_CHECK(names.insert(name).second, ErrorKind::kRecipe,
               "two {} are called '{}'; give each its own name", what, name);
}

template <typename T>
bool has(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void check_dev(const ObjectiveOptions& objective) {
  const DevDataOptions& dev = objective.dev;
  const PairDataOptions& data = objective.data;
  check_rules(
      {{!dev.part.empty() && !data.folds.is_set() && !data.ranking.folds.is_set(),
        fmt::format(
            "{}: `dev: {{part: {}}}` is a part of folds, and the data has none; set folds there",
            data.file(), dev.part)},
       {dev.limit > 0 && dev.path.empty() && dev.qrels.empty() && dev.skip == 0 && dev.part.empty(),
        fmt::format("{}: `dev: {{limit: {}}}` would measure the loss on the first training "
                    "examples; give dev.path, or dev.skip and data.limit",
                    data.file(), dev.limit)}});
}

void check_mining(const StageOptions& stage, const ObjectiveOptions& objective) {
  const ObjectiveMiningOptions& mine = objective.mine;
  const std::string place = fmt::format("stage '{}': `mine`", stage.name);
  if (!mine.is_on()) {
    return check_rules({{options_to_json(mine) != options_to_json(ObjectiveMiningOptions()),
                         place + " has options but no method, so nothing would be mined; set "
                                 "mine.method to top, random or ranks"}});
  }
  check_mining_options(mine);
  const bool pairs = mine.as_pairs(), again = mine.every_epochs > 0;
  check_rules(
      {{pairs && !objective.data.negatives.empty(),
        place +
            ": the data has negative columns, which mined pairs would lack; take `as: columns`"},
       {pairs && again,
        place +
            ": `every_epochs` goes with columns: the number of pairs could change; set it to 0"},
       {!pairs && mine.wanted() == 0, place + ": columns need a number: set `count`"},
       {!pairs && mine.oversample > 0,
        place + ": `oversample` repeats positives among pairs; take `as: pairs`"},
       {again && find_order(objective.order.name).has(OrderRow::kDistinctTexts),
        fmt::format("{}: `order: {}` counts its batches by the texts, which `every_epochs` "
                    "changes; set every_epochs: 0, or take another order",
                    place, objective.order.name)},
       {again && !objective.teachers.empty(),
        place + ": teachers' vectors are stored once, `every_epochs` brings other texts; set "
                "every_epochs: 0"},
       {again && stage.frozen, place + ": the encoder is `frozen`, so mining again would find the "
                                       "same; set every_epochs: 0"}});
}

void check_objectives(const TrainOptions& options, size_t number) {
  const StageOptions& stage = options.stages[number];
  std::set<std::string> names = {"all"};  // of the sum in loss.all
  for (size_t i = 0; i < stage.objectives.size(); ++i) {
    const ObjectiveOptions& objective = stage.objectives[i];
    check_new_name(names, stage.objective_name(i), fmt::format("objectives of '{}'", stage.name));
    check_dev(objective);
    check_order_options(objective.order, objective.data.file());
    choose_precision(objective.mine.precision);
    check_mining(stage, objective);
    check_rules({{objective.teacher_tokens > 0 && (objective.chunk_tokens > 0 || stage.frozen),
                  fmt::format("stage '{}': `teacher_tokens` takes a batch at once and an encoder "
                              "that is trained; set chunk_tokens: 0 and frozen: false",
                              stage.name)}});
    for (const std::string& teacher : objective.teachers) {
      const int64_t found = find_stage(options, teacher, options.stages.size());
      check_rules({{found >= static_cast<int64_t>(number),
                    fmt::format("stage '{}': the teacher '{}' is trained no earlier than it; "
                                "teachers are earlier stages or models",
                                stage.name, teacher)},
                   {found >= 0 && objective.teacher_tokens > 0,
                    fmt::format("stage '{}': the teacher '{}' is a stage, and `teacher_tokens` "
                                "reads a model folder; train the two in runs of their own",
                                stage.name, teacher)}});
    }
  }
  double shares = 0;
  for (const ObjectiveOptions& objective : stage.objectives) shares += objective.share;
  check_rules({{stage.mixing.mixing == "shares" && shares <= 0,
                fmt::format("stage '{}': mixing `shares` needs an objective whose `share` is above "
                            "0",
                            stage.name)}});
}

// The losses that Stage::measure_losses() reports.
Lines loss_names(const StageOptions& stage) {
  Lines names;
  for (size_t i = 0; i < stage.objectives.size(); ++i) {
    if (stage.objectives[i].dev.is_set()) names.push_back(stage.objective_name(i));
  }
  if (!names.empty()) names.emplace_back("all");
  return names;
}

void check_selection(const TrainOptions& options, const StageOptions& stage) {
  const std::string place = fmt::format("stage '{}': ", stage.name);
  const Lines measured = loss_names(stage);
  Lines during;
  for (const EvaluationOptions& evaluation : options.evaluations) during.push_back(evaluation.name);
  if (!measured.empty()) during.emplace_back(kLossEvaluation);
  const Lines& metrics = stage.selection.metric;
  const auto losses = std::count_if(metrics.begin(), metrics.end(), is_loss_metric);
  const auto is_better = [&](Better end) {
    return [&, end](const std::string& metric) {
      return has(during, split_figure_name(metric).evaluation) && better_end(metric) == end;
    };
  };
  const auto aimless = std::find_if(metrics.begin(), metrics.end(), is_better(Better::kNeither));
  const bool goes_by_metric = stage.selection.early_stop.direction == "auto";
  check_rules({{metrics.empty() && stage.selection.early_stop.patience > 0,
                place + "early_stop.patience counts evaluations without a better selection.metric, "
                        "and there is none; name one, such as dev.spearman or loss.all"},
               {losses > 0 && losses < static_cast<int64_t>(metrics.size()),
                fmt::format("{}selection.metric [{}] mixes losses, which should fall, with "
                            "metrics, which should rise; name one kind",
                            place, fmt::join(metrics, ", "))},
               {aimless != metrics.end() && goes_by_metric,
                fmt::format("{}selection.metric '{}': neither a higher nor a lower value is better "
                            "by itself; name another metric, or say which with "
                            "selection.early_stop.direction: max or min",
                            place, aimless == metrics.end() ? "" : *aimless)},
               {std::any_of(metrics.begin(), metrics.end(), is_better(Better::kLower)) &&
                    std::any_of(metrics.begin(), metrics.end(), is_better(Better::kHigher)),
                fmt::format("{}selection.metric [{}]: a lower value of some is better and a higher "
                            "one of others, so their mean says nothing; name one kind",
                            place, fmt::join(metrics, ", "))}});
  for (const std::string& metric : metrics) {
    const FigureName figure = split_figure_name(metric);
    check_rules({{!has(during, figure.evaluation),
                  fmt::format("{}selection.metric '{}' should be EVALUATION.METRIC with one of the "
                              "evaluations [{}]",
                              place, metric, fmt::join(during, ", "))},
                 {is_loss_metric(metric) && !has(measured, figure.metric),
                  fmt::format("{}selection.metric '{}': there is no loss '{}'; there are {}", place,
                              metric, figure.metric, fmt::join(measured, ", "))}});
  }
  try {
    choose_inference_products(stage.selection.precision, choose_device(options.device));
  } catch (const Error& error) {
    throw Error(ErrorKind::kRecipe, place + "selection.precision: " + error.what());
  }
}

void check_stage(const TrainOptions& options, size_t number) {
  const StageOptions& stage = options.stages[number];
  const std::string place = fmt::format("stage '{}'", stage.name);
  const MixingOptions& mixing = stage.mixing;
  const bool has_share =
      std::any_of(stage.objectives.begin(), stage.objectives.end(),
                  [](const ObjectiveOptions& objective) { return objective.share != 1; });
  check_rules({{stage.objectives.empty(),
                place + " has no `objectives`, expected at least one: {data: ..., loss: ...}"}});
  check_objectives(options, number);
  check_rules(
      {{mixing.mixing != "shares" && has_share,
        fmt::format("{}: an objective's `share` belongs to `mixing: shares`, found `mixing: {}`",
                    place, mixing.mixing)},
       {mixing.mixing != "round_robin" && mixing.mixing_ends != "longest",
        fmt::format("{}: `mixing_ends: {}` belongs to `mixing: round_robin`, found `mixing: {}`",
                    place, mixing.mixing_ends, mixing.mixing)}});
  check_selection(options, stage);
  const bool is_smoothed = stage.siar.weight > 0 || stage.siar.bregman > 0;
  check_rules(
      {{stage.from != "previous" && stage.from != "start" &&
            find_stage(options, stage.from, number) < 0,
        fmt::format("{}: `from: {}` should be previous, start, or the name of an earlier stage",
                    place, stage.from)},
       {stage.frozen && !stage.has_head(),
        place + " is `frozen` and its objectives have no head: nothing would be trained"},
       {stage.learning_rate == 0 && stage.optimizer.name == "sgd",
        place + ": the optimizer sgd has no default learning rate; set `learning_rate`"}});
  for (const ObjectiveOptions& objective : stage.objectives) {
    const bool is_chunked = objective.chunk_tokens > 0;
    check_rules({{is_chunked && stage.frozen,
                  place + " is `frozen`: its batches need no memory but their vectors', so "
                          "chunk_tokens would do nothing; remove it"},
                 {is_chunked && is_smoothed,
                  fmt::format("{}: `siar` perturbs a batch as a whole, `chunk_tokens: {}` never "
                              "has it as a whole; leave one of the two out",
                              place, objective.chunk_tokens)}});
  }
  check_rules(
      {{stage.frozen && is_smoothed,
        place + ": `siar` smooths the encoder, which is `frozen`; leave one of the two out"}});
}

template <typename T>
void refuse_idle(const std::string& place, const T& options, const std::vector<IdleRule>& rules) {
  refuse_idle_options(place, find_idle_options(options, rules));
}

template <typename T>
void add_idle(const std::string& place, const T& options, const std::vector<IdleRule>& rules,
              Lines& lines) {
  for (const IdleOptions& idle : find_idle_options(options, rules)) {
    lines.push_back(place + idle.to_line());
  }
}

// `defaults` are those of the recipe, which differ between kinds of training.
void refuse_foreign(OptimizerOptions options, OptimizerOptions defaults) {
  const std::string foreign = find_foreign_options(
      "optimizer", "name", [&](OptionVisitor& v) { options.visit(v); },
      [&](OptionVisitor& v) { defaults.visit(v); });
  check_rules({{!foreign.empty(), foreign}});
}

void refuse_idle_options(const StageOptions& stage) {
  const std::string place = fmt::format("stage '{}': ", stage.name);
  refuse_idle(place, stage,
              {{!stage.has_head(),
                {"head_learning_rate"},
                "where no objective of the stage has a `head`"}});
  refuse_foreign(stage.optimizer, {});
  for (const ObjectiveOptions& objective : stage.objectives) {
    const PairDataOptions& data = objective.data;
    const bool is_single = data.format == "classes" ? !data.text.empty() || data.right.empty()
                                                    : data.format == "table" && data.right.empty();
    const bool has_other_texts = !data.negatives.empty() || objective.mine.is_on();
    refuse_idle(place, objective,
                {{objective.teachers.empty(),
                  {"teacher_precision", "teacher_storage", "teacher_vectors", "teacher_dimensions",
                   "teacher_tokens"},
                  "without `teachers`"},
                 {is_single && !has_other_texts, {"prompts.right"}, "with single texts"}});
  }
}

void refuse_idle_options(const TrainOptions& options) {
  const auto is_hybrid = [](const std::string& name) { return name.rfind("hybrid", 0) == 0; };
  const auto is_ranking = [](const EvaluationOptions& each) { return each.task == "ranking"; };
  const auto has = [](const auto& list, const auto& is) {
    return std::any_of(list.begin(), list.end(), is);
  };
  refuse_idle("", options,
              {{!has(options.evaluations, is_ranking) && !has(options.tests, is_ranking) &&
                    !has(options.baselines, is_hybrid),
                {"hybrid_weight", "hybrid_rule"},
                "where nothing is ranked and no hybrid is among the `baselines`"}});
  for (const HeadSettings& head : options.heads) {
    refuse_idle(
        fmt::format("head '{}': ", head.name), head,
        {{head.kind != "mlp", {"layers", "width"}, fmt::format("with `kind: {}`", head.kind)},
         {head.layers == 1, {"width"}, "with one layer"}});
  }
  for (const StageOptions& stage : options.stages) refuse_idle_options(stage);
}

void add_idle(const std::string& place, const LossOptions& loss, Lines& lines) {
  for (const LossTerm& term : loss.of) add_idle(place, term, lines);
  const TemperatureOptions* temperature = find_loss(loss.name).parts(loss).temperature;
  if (temperature == nullptr) return;
  add_idle(fmt::format("{}loss '{}', temperature: ", place, loss.name), *temperature,
           {{!temperature->trainable,
             {"learning_rate", "parametrization"},
             "without `trainable: true`"}},
           lines);
}

IdleRule fraction_rule(const ScheduleOptions& schedule) {
  return {schedule.warmup_steps >= 0, {"schedule.warmup_fraction"}, "beside `warmup_steps`"};
}

IdleRule epochs_rule(int64_t steps) {
  return {steps > 0, {"epochs"}, fmt::format("beside `steps: {}`", steps)};
}

std::vector<IdleRule> stage_rules(const TrainOptions& options, const StageOptions& stage) {
  const SiarOptions& siar = stage.siar;
  const SelectionOptions& selection = stage.selection;
  return {
      {stage.minutes > 0, {"epochs", "steps"}, "beside `minutes`"},
      epochs_rule(stage.minutes > 0 ? 0 : stage.steps),
      fraction_rule(stage.schedule),
      {siar.weight == 0,
       {"siar.steps", "siar.noise", "siar.step_size", "siar.radius", "siar.norm", "siar.mode"},
       "without `siar.weight`"},
      {siar.weight > 0 && siar.mode == "peer", {"siar.radius"}, "with `siar.mode: peer`"},
      {siar.bregman == 0, {"siar.bregman_decay"}, "without `siar.bregman`"},
      {stage.objectives.size() == 1, {"mixing", "mixing_ends"}, "with one objective"},
      {selection.every_steps > 0, {"selection.every_epochs"}, "beside `every_steps`"},
      {selection.early_stop.patience == 0,
       {"selection.early_stop.minimum_improvement"},
       "without `patience`"},
      {selection.metric.empty(), {"selection.early_stop.direction"}, "without `selection.metric`"},
      {options.evaluations.empty(), {"selection.precision"}, "without `evaluations`"}};
}

void check_start_options(const StartOptions& options) {
  const std::string& name = options.name;
  const bool has_control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  const bool has_architecture = options.architecture.is_set();
  check_rules(
      {{name.empty() || name == "." || name == ".." || has_control ||
            name.find('/') != std::string::npos,
        fmt::format("`name: {}` names the folder of the run in runs/: expected a name without '/' "
                    "and control characters; --output puts a run elsewhere",
                    name)},
       {options.model.empty() && !has_architecture,
        "the recipe names no starting point: give `model: FOLDER`, or `architecture: {layers: 4}` "
        "or `architecture: {family: static}` and `tokenizer:` to start from random weights"},
       {!options.model.empty() && has_architecture,
        "the recipe gives both `model` and `architecture`; a model brings its own architecture"},
       {options.model.empty() && !options.pooling.empty(),
        "`pooling` is for `model`; random weights take `architecture.pooling`"},
       {options.model.empty() && options.tokenizer.empty(),
        "`tokenizer` is missing: random weights need one (`simile train-tokenizer` makes it)"}});
  const std::string foreign = find_foreign_options("family", "family", options.architecture);
  check_rules({{!foreign.empty(), "`architecture`: " + foreign}});
  if (!options.pooling.empty()) parse_pooling_mode(options.pooling);
  choose_placement(options.engine, options.device, options.compute);
}

}  // namespace

void check_train_options(const TrainOptions& options) {
  check_start_options(options);
  check_rules({{options.stages.empty(), "the recipe has no `stages`: nothing would be trained"}});
  std::set<std::string> names = {kLossEvaluation}, stages = {"previous", "start"};
  for (const auto* list : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& evaluation : *list) {
      const std::string& name = evaluation.name;
      check_rules(
          {{name.empty(), "every evaluation needs a `name`, such as dev"},
           {name.find_first_of("./") != std::string::npos,
            fmt::format("an evaluation is called '{}'; its figures are named like "
                        "dev.map and its files by it, so give it a name without '.' and '/'",
                        name)}});
      check_new_name(names, evaluation.name, "evaluations");
    }
  }
  check_heads(options.heads);
  for (size_t i = 0; i < options.stages.size(); ++i) {
    const std::string& name = options.stages[i].name;
    check_new_name(stages, name, "stages");
    check_rules({{name.empty() || name.find('/') != std::string::npos,
                  fmt::format("a stage is called '{}'; its weights may be kept in a file of that "
                              "name, so it should not be empty and have no '/'",
                              name)}});
    check_stage(options, i);
  }
  refuse_idle_options(options);
}

void check_pretrain_options(const PretrainOptions& options) {
  check_start_options(options);
  check_mask_options(options.mask);
  check_rules(
      {{options.corpus.empty(), "the recipe has no `corpus`: give text files to learn from"},
       {options.optimizer.used_rows(),
        "`optimizer.rows: used`: the word embedding is the output matrix too, and every step uses "
        "all of its rows; leave it at all"}});
  refuse_idle("", options,
              {{options.held_out.path.empty(),
                {"held_out.limit", "held_out.every_steps"},
                "without `held_out.path`"}});
  refuse_foreign(options.optimizer, PretrainOptions().optimizer);
}

std::vector<std::string> idle_option_warnings(const TrainOptions& options) {
  Lines lines;
  add_idle("", options, {{!options.model.empty(), {"architecture"}, "beside `model`"}}, lines);
  std::set<std::string> trained;
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) trained.insert(objective.head);
  }
  for (const HeadSettings& head : options.heads) {
    if (trained.count(head.name) > 0) continue;
    const bool is_shared =
        std::any_of(options.heads.begin(), options.heads.end(), [&](const HeadSettings& other) {
          return other.shares == head.name && trained.count(other.name) > 0;
        });
    lines.push_back(fmt::format("head '{}': no objective has it, so that {} keeps random weights",
                                head.name, is_shared ? "its last layer" : "it"));
  }
  for (const StageOptions& stage : options.stages) {
    const std::string place = fmt::format("stage '{}': ", stage.name);
    add_idle(place, stage, stage_rules(options, stage), lines);
    for (const ObjectiveOptions& objective : stage.objectives)
      add_idle(place, objective.loss, lines);
  }
  return lines;
}

std::vector<std::string> idle_option_warnings(const PretrainOptions& options) {
  Lines lines;
  add_idle("", options,
           {{!options.model.empty(), {"architecture"}, "beside `model`"},
            epochs_rule(options.steps),
            fraction_rule(options.schedule)},
           lines);
  return lines;
}

}  // namespace simile
