// SPDX-License-Identifier: Apache-2.0
#include "simile/train/train_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

using detail::Json;

constexpr const char* kFormat = "simile state 5";

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

// Calls visit(name, number) for every number of the state.
template <typename State, typename Visit>
void visit_numbers(State& state, Visit visit) {
  visit("stage", state.stage);
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("next_batch", state.next_batch);
  visit("evaluated_step", state.evaluated_step);
  visit("metrics_bytes", state.metrics_bytes);
  visit("siar_skipped", state.siar_skipped);
  visit("selected", state.selected);
  visit("selected_value", state.selected_value);
  visit("optimizer_step", state.optimizer.step);
  visit("evaluations", state.selection.evaluations);
  visit("best_evaluation", state.selection.best_evaluation);
  visit("best_value", state.selection.best_value);
  visit("reference_value", state.selection.reference_value);
  visit("without_improvement", state.selection.without_improvement);
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
constexpr const char* kDamaged = ".damaged";

}  // namespace

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
  Json numbers = Json::object();
  visit_numbers(state, [&](const char* name, const auto& value) { numbers[name] = value; });
  Json objectives = Json::array();  // but for their arrays; of the loss the names of these
  for (const ObjectiveState& objective : state.objectives) {
    Json loss = Json::array();
    for (const auto& parameter : objective.loss) loss.push_back(parameter.first);
    objectives.push_back(
        {{"epoch", objective.epoch}, {"next_batch", objective.next_batch}, {"loss", loss}});
  }
  const std::map<std::string, std::string> metadata = {
      {"format", kFormat},
      {"recipe", recipe},
      {"data", state.data},
      {"numbers", numbers.dump()},
      {"objectives", objectives.dump()},
      {"temperatures", Json(state.temperatures).dump()},
      {"best_temperatures", Json(state.best_temperatures).dump()}};
  write_sealed_tensors(path, tensors, metadata);
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
  state.data = text("data");
  try {
    for (const Json& item : detail::parse_json(text("objectives"), path)) {
      ObjectiveState& objective = state.objectives.emplace_back();
      objective.epoch = item.at("epoch");
      objective.next_batch = item.at("next_batch");
      for (const Json& name : item.at("loss")) {
        objective.loss.emplace_back(name.get<std::string>(), std::vector<float>());
      }
    }
    detail::parse_json(text("temperatures"), path).get_to(state.temperatures);
    detail::parse_json(text("best_temperatures"), path).get_to(state.best_temperatures);
  } catch (const Json::exception& error) {
    throw_error(ErrorKind::kInput, "'{}': the state of the objectives cannot be read: {}", path,
                error.what());
  }
  visit_arrays(state, [&](const std::string& name, auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    const TensorInfo* tensor = file.find(name);
    SIMILE_CHECK(tensor != nullptr && tensor->type == kTypeOf<Value>, ErrorKind::kInput,
                 "'{}': array '{}' is missing or of another type", path, name);
    values.resize(static_cast<size_t>(tensor->size));
    if (tensor->bytes > 0) std::memcpy(values.data(), file.bytes(*tensor).data(), tensor->bytes);
  });
  const Json numbers = detail::parse_json(text("numbers"), path);
  visit_numbers(state, [&](const char* name, auto& value) {
    SIMILE_CHECK(numbers.contains(name) && numbers[name].is_number(), ErrorKind::kInput,
                 "'{}': number '{}' is missing", path, name);
    value = numbers[name];
  });
  check_plans(state.objectives, path);
  return state;
}

void StateStore::save(const TrainState& state, const std::string& recipe) const {
  make_folders(folder_);
  // Names sort as the states follow one another.
  const std::string name = fmt::format("{:04}-{:012}{}", state.stage, state.step, kEnding);
  save_train_state(join_path(folder_, name), state, recipe);
  const std::vector<std::string> states = list(kEnding);
  for (size_t i = static_cast<size_t>(keep_); i < states.size(); ++i) {
    std::error_code ignored;  // the next save tries again
    std::filesystem::remove(states[i], ignored);
  }
}

std::optional<TrainState> StateStore::load(const std::string& recipe, EventSink& events) const {
  const std::vector<std::string> states = list(kEnding);
  for (const std::string& path : states) {
    try {
      return load_train_state(path, recipe);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput || !std::ifstream(path).good()) throw;
      std::error_code ignored;
      std::filesystem::rename(path, path + kDamaged, ignored);
      events.warning(
          fmt::format("{}; it was renamed to .damaged, trying the state before", error.what()));
    }
  }
  SIMILE_CHECK(list(kDamaged).empty(), ErrorKind::kInput,
               "no state in '{}' can be read, all are damaged; start again with "
               "--overwrite, or bring back a copy of one",
               folder_);
  return std::nullopt;
}

std::vector<std::string> StateStore::list(const std::string& ending) const {
  std::vector<std::string> states;
  std::error_code ignored;  // no folder: no states
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() == ending) states.push_back(entry.path().string());
  }
  std::sort(states.rbegin(), states.rend());
  return states;
}

}  // namespace simile
