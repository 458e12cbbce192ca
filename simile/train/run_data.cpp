// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/train/teachers.h"

namespace simile {
namespace {

ObjectiveData read_objective(const TrainOptions& options, size_t stage,
                             const ObjectiveOptions& objective, const StartModel& start,
                             EventSink& events) {
  const auto prompt = start.settings.prompts.find(start.settings.default_prompt);
  const std::string text = prompt == start.settings.prompts.end() ? "" : prompt->second;
  const HeadSettings* head =
      objective.head.empty() ? nullptr : &start.heads[find_head(start.heads, objective.head)];
  const bool has_model_teacher =
      std::any_of(objective.teachers.begin(), objective.teachers.end(),
                  [&](const std::string& name) { return find_stage(options, name, stage) < 0; });
  const auto read = [&](const PairDataOptions& data) {
    return read_training_set({objective, data, head, start.tokenizer, text}, has_model_teacher,
                             events);
  };
  ObjectiveData data;
  data.train = read(objective.data);
  if (objective.dev.is_set()) data.dev = read(objective.dev_data());
  return data;
}

void warn_about_equal_sides(const StageOptions& stage, const EncoderConfig& config,
                            const TrainingSet& set, EventSink& events) {
  if (set.left != set.right || config.hidden_dropout > 0 || config.attention_dropout > 0) return;
  events.warning(
      fmt::format("stage '{}': both sides of every pair are the same text and the model has no "
                  "dropout, so nothing tells them apart; set hidden_dropout: 0.1",
                  stage.name));
}

Teacher make_teacher(const TrainOptions& options, size_t stage, const std::string& name,
                     const StartModel& start, const RunFolder& folder, EventSink& events) {
  if (find_stage(options, name, stage) < 0) return model_teacher(name, events);
  std::vector<float> weights = folder.read_stage(name);
  weights.resize(static_cast<size_t>(encoder_parameter_count(start.settings.encoder.shape())));
  return stage_teacher(std::move(weights), start.settings, start.tokenizer, events);
}

}  // namespace

std::vector<std::vector<ObjectiveData>> read_run_data(const TrainOptions& options,
                                                      const StartModel& start, EventSink& events) {
  std::vector<std::vector<ObjectiveData>> data;
  for (size_t stage = 0; stage < options.stages.size(); ++stage) {
    data.emplace_back();
    for (const ObjectiveOptions& objective : options.stages[stage].objectives) {
      data.back().push_back(read_objective(options, stage, objective, start, events));
      warn_about_equal_sides(options.stages[stage], start.settings.encoder,
                             data.back().back().train, events);
    }
  }
  return data;
}

void open_teachers(const TrainOptions& options, size_t stage, const StartModel& start,
                   const RunFolder& folder, std::vector<ObjectiveData>& data, EventSink& events) {
  for (size_t i = 0; i < data.size(); ++i) {
    const ObjectiveOptions& objective = options.stages[stage].objectives[i];
    for (const std::string& name : objective.teachers) {
      const Teacher teacher = make_teacher(options, stage, name, start, folder, events);
      for (TrainingSet* set : {&data[i].train, &data[i].dev}) {
        if (set->size() == 0) continue;
        set->teachers.push_back(store_teacher_vectors(folder.teachers_path(), *set, teacher,
                                                      objective.teacher_precision, events));
      }
    }
  }
}

}  // namespace simile
