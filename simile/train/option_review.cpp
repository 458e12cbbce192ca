// SPDX-License-Identifier: Apache-2.0
#include "simile/train/option_review.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/idle_options.h"
#include "simile/core/owned_options.h"
#include "simile/loss/loss_table.h"

namespace simile {
namespace {

using IdleLines = std::vector<std::string>;

template <typename T>
void add_idle(const std::string& place, const T& options, const std::vector<IdleRule>& rules,
              IdleLines& lines) {
  for (const IdleOptions& idle : find_idle_options(options, rules)) {
    lines.push_back(place + idle.to_line());
  }
}

std::string stage_place(const StageOptions& stage) {
  return fmt::format("stage '{}': ", stage.name);
}

bool is_of_single_texts(const PairDataOptions& data) {
  if (data.format == "classes") return !data.text.empty() || data.right.empty();
  return data.format == "table" && data.right.empty();
}

// `defaults` are those of the recipe, which differ between kinds of training.
void refuse_foreign(const OptimizerOptions& given, OptimizerOptions defaults) {
  OptimizerOptions options = given;
  const std::string foreign = find_foreign_options(
      "optimizer", "name", [&](OptionVisitor& v) { options.visit(v); },
      [&](OptionVisitor& v) { defaults.visit(v); });
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
}

void refuse_idle(const StageOptions& stage, const ObjectiveOptions& objective) {
  const bool has_other_texts = !objective.data.negatives.empty() || objective.mine.is_on();
  refuse_idle_options(
      stage_place(stage),
      find_idle_options(objective,
                        {{objective.teachers.empty(), {"teacher_precision"}, "without `teachers`"},
                         {is_of_single_texts(objective.data) && !has_other_texts,
                          {"prompts.right"},
                          "with single texts"}}));
}

void refuse_idle(const StageOptions& stage) {
  const auto has_head = [](const ObjectiveOptions& objective) { return !objective.head.empty(); };
  const auto& objectives = stage.objectives;
  refuse_idle_options(
      stage_place(stage),
      find_idle_options(stage,
                        {{std::none_of(objectives.begin(), objectives.end(), has_head),
                          {"head_learning_rate"},
                          "where no objective of the stage has a `head`"},
                         {stage.frozen, {"static_learning_rate"}, "in a stage that is `frozen`"}}));
  refuse_foreign(stage.optimizer, {});
  for (const ObjectiveOptions& objective : objectives) refuse_idle(stage, objective);
}

void add_idle(const std::string& place, const LossOptions& loss, IdleLines& lines) {
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

std::vector<IdleRule> stage_rules(const TrainOptions& options, const StageOptions& stage) {
  const SiarOptions& siar = stage.siar;
  const SelectionOptions& selection = stage.selection;
  return {
      {stage.steps > 0, {"epochs"}, fmt::format("beside `steps: {}`", stage.steps)},
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

bool is_trained(const TrainOptions& options, const HeadSettings& head) {
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      if (objective.head == head.name) return true;
    }
  }
  return false;
}

}  // namespace

void refuse_idle_options(const TrainOptions& options) {
  const auto is_hybrid = [](const std::string& name) { return name.rfind("hybrid", 0) == 0; };
  refuse_idle_options(
      "",
      find_idle_options(
          options, {{std::none_of(options.baselines.begin(), options.baselines.end(), is_hybrid),
                     {"hybrid_weight", "hybrid_rule"},
                     "where no hybrid is among the `baselines`"}}));
  for (const HeadSettings& head : options.heads) {
    refuse_idle_options(
        fmt::format("head '{}': ", head.name),
        find_idle_options(
            head,
            {{head.kind != "mlp", {"layers", "width"}, fmt::format("with `kind: {}`", head.kind)},
             {head.layers == 1, {"width"}, "with one layer"}}));
  }
  for (const StageOptions& stage : options.stages) refuse_idle(stage);
}

void refuse_idle_options(const PretrainOptions& options) {
  refuse_idle_options("", find_idle_options(options, {{options.held_out.path.empty(),
                                                       {"held_out.limit", "held_out.every_steps"},
                                                       "without `held_out.path`"}}));
  refuse_foreign(options.optimizer, PretrainOptions().optimizer);
}

std::vector<std::string> idle_option_warnings(const TrainOptions& options) {
  IdleLines lines;
  add_idle("", options, {{!options.model.empty(), {"architecture"}, "beside `model`"}}, lines);
  for (const HeadSettings& head : options.heads) {
    if (is_trained(options, head)) continue;
    lines.push_back(
        fmt::format("head '{}': no objective has it, so that it keeps random weights", head.name));
  }
  for (const StageOptions& stage : options.stages) {
    add_idle(stage_place(stage), stage, stage_rules(options, stage), lines);
    for (const ObjectiveOptions& objective : stage.objectives) {
      add_idle(stage_place(stage), objective.loss, lines);
    }
  }
  return lines;
}

std::vector<std::string> idle_option_warnings(const PretrainOptions& options) {
  IdleLines lines;
  add_idle("", options,
           {{!options.model.empty(), {"architecture"}, "beside `model`"},
            {options.steps > 0, {"epochs"}, fmt::format("beside `steps: {}`", options.steps)},
            fraction_rule(options.schedule)},
           lines);
  return lines;
}

}  // namespace simile
