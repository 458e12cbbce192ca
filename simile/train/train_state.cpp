// SPDX-License-Identifier: Apache-2.0
#include "simile/train/train_state.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/options.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

constexpr const char* kFormat = "simile state 8";

template <typename T>
constexpr TensorType kTypeOf = std::is_same_v<T, float>     ? TensorType::kF32
                               : std::is_same_v<T, double>  ? TensorType::kF64
                               : std::is_same_v<T, int32_t> ? TensorType::kI32
                                                            : TensorType::kI64;

// Calls visit(name, vector) for every array of the state.
template <typename State, typename Visit>
void visit_arrays(State& state, Visit visit) {
  visit("weights", state.weights);
  visit("best", state.best);
  visit("average", state.average);
  visit("first_moment", state.optimizer.first_moment);
  visit("second_moment", state.optimizer.second_moment);
  visit("learning_rates", state.optimizer.learning_rates);
  visit("row_steps", state.optimizer.row_steps);
  for (size_t i = 0; i < state.objectives.size(); ++i) {
    auto& objective = state.objectives[i];
    visit(fmt::format("order.{}", i), objective.order);
    visit(fmt::format("batch_sizes.{}", i), objective.batch_sizes);
    for (size_t j = 0; j < objective.loss.size(); ++j) {
      visit(fmt::format("loss.{}.{}", i, j), objective.loss[j].second);
    }
  }
}

// A plan that does not hold together would be read beyond its end.
void check_plans(const std::vector<ObjectiveState>& objectives, const std::string& path) {
  for (const ObjectiveState& objective : objectives) {
    const auto& sizes = objective.batch_sizes;
    const bool is_positive =
        std::all_of(sizes.begin(), sizes.end(), [](int32_t size) { return size > 0; });
    const int64_t examples = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    SIMILE_CHECK(is_positive && examples == static_cast<int64_t>(objective.order.size()) &&
                     objective.next_batch >= 0 &&
                     objective.next_batch <= static_cast<int64_t>(sizes.size()),
                 ErrorKind::kInput,
                 "'{}' is damaged: {} batches of {} examples in all, with {} done, do not fit "
                 "an order of {}",
                 path, sizes.size(), examples, objective.next_batch, objective.order.size());
  }
}

constexpr const char* kEnding = ".safetensors";

}  // namespace

void ObjectiveState::visit(OptionVisitor& v) {
  v.required("epoch", epoch);
  v.required("next_batch", next_batch);
  std::vector<std::string> names;
  for (const auto& parameter : loss) names.push_back(parameter.first);
  v.required("loss", names);
  loss.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) loss[i].first = names[i];
}

void TrainState::visit(OptionVisitor& v) {
  v.required("stage", stage);
  v.required("step", step);
  v.required("epoch", epoch);
  v.required("next_batch", next_batch);
  v.required("evaluated_step", evaluated_step);
  v.required("metrics_bytes", log.bytes);
  v.required("metrics_hash", log.hash);
  v.required("inputs", inputs);
  v.required("siar_skipped", siar_skipped);
  v.required("planned_steps", planned_steps);
  v.required("trained_seconds", trained_seconds);
  v.required("step_seconds", step_seconds);
  v.required("selected", selected);
  v.required("selected_value", selected_value);
  v.required("optimizer_step", optimizer.step);
  v.required("evaluations", selection.evaluations);
  v.required("best_evaluation", selection.best_evaluation);
  v.required("best_value", selection.best_value);
  v.required("reference_value", selection.reference_value);
  v.required("without_improvement", selection.without_improvement);
  v.required("temperatures", temperatures);
  v.required("best_temperatures", best_temperatures);
  v.list("objectives", objectives, "");
}

void save_train_state(const std::string& path, const TrainState& state, const std::string& recipe) {
  std::vector<TensorView> tensors;
  visit_arrays(state, [&](const std::string& name, const auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    tensors.push_back({name, {static_cast<int64_t>(values.size())}, values.data(), kTypeOf<Value>});
  });
  // Arrays of wide numbers first keeps every tensor aligned to its own width.
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return tensor_type_width(a.type) > tensor_type_width(b.type);
  });
  write_sealed_tensors(
      path, tensors,
      {{"format", kFormat}, {"recipe", recipe}, {run_format::kState, options_to_json(state, -1)}});
}

TrainState load_train_state(const std::string& path, const std::string& recipe) {
  const SafetensorsFile file(path);
  const auto text = [&](const char* name) {
    const auto found = file.metadata().find(name);
    SIMILE_CHECK(found != file.metadata().end(), ErrorKind::kInput,
                 "'{}' is not a training state: it has no '{}'", path, name);
    return found->second;
  };
  const std::string format = text("format");
  check_seal(file);
  SIMILE_CHECK(format == kFormat, ErrorKind::kUsage,
               "'{}' has the format '{}', this version reads '{}'; go on with the "
               "version that wrote it, or start anew with --overwrite",
               path, format, kFormat);
  SIMILE_CHECK(text("recipe") == recipe, ErrorKind::kUsage,
               "'{}' was written by another recipe; resume with the run's folder in "
               "place of the recipe, which has the overrides too (simile train FOLDER "
               "--resume), or choose another --output",
               path);
  TrainState state;
  read_json_options(text(run_format::kState), path, state);
  visit_arrays(state, [&](const std::string& name, auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    const TensorInfo* tensor = file.find(name);
    SIMILE_CHECK(tensor != nullptr && tensor->type == kTypeOf<Value>, ErrorKind::kInput,
                 "'{}': array '{}' is missing or of another type", path, name);
    values.resize(static_cast<size_t>(tensor->size));
    if (tensor->bytes > 0) std::memcpy(values.data(), file.bytes(*tensor).data(), tensor->bytes);
  });
  check_plans(state.objectives, path);
  return state;
}

void StateStore::save(const TrainState& state, const std::string& recipe) const {
  make_folders(folder_);
  // Names sort as the states follow one another.
  const std::string name = fmt::format("{:04}-{:012}{}", state.stage, state.step, kEnding);
  save_train_state(join_path(folder_, name), state, recipe);
  const std::vector<std::string> states = list();
  for (size_t i = static_cast<size_t>(keep_); i < states.size(); ++i) {
    std::error_code ignored;  // the next save tries again
    std::filesystem::remove(states[i], ignored);
  }
}

std::optional<TrainState> StateStore::load(const std::string& recipe, const HasLog& has_log,
                                           EventSink& events) const {
  std::vector<std::pair<std::string, std::string>> refused;  // paths and problems, newest first
  for (const std::string& path : list()) {
    try {
      TrainState state = load_train_state(path, recipe);
      SIMILE_CHECK(has_log(state.log), ErrorKind::kInput,
                   "metrics.jsonl is damaged, or shorter than when '{}' was saved", path);
      for (const auto& [newer, problem] : refused) {
        std::error_code ignored;
        std::filesystem::rename(newer, newer + ".damaged", ignored);
        events.warning(problem + "; the state was renamed to .damaged, the one before is taken");
      }
      return state;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput || !std::ifstream(path).good()) throw;
      refused.emplace_back(path, error.what());
    }
  }
  SIMILE_CHECK(refused.empty(), ErrorKind::kInput,
               "no state in '{}' can be taken: {}; bring back a copy, or start again with "
               "--overwrite",
               folder_, refused.front().second);
  return std::nullopt;
}

std::vector<std::string> StateStore::list() const {
  std::vector<std::string> states;
  std::error_code ignored;  // no folder: no states
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() == kEnding) states.push_back(entry.path().string());
  }
  std::sort(states.rbegin(), states.rend());
  return states;
}

}  // namespace simile
