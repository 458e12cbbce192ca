// SPDX-License-Identifier: Apache-2.0
#include "simile/train/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

constexpr const char* kEnding = ".safetensors";
constexpr const char* kDamaged = ".damaged";

// Names sort as the states follow one another.
std::string file_name(const TrainState& state) {
  return fmt::format("{:04}-{:012}{}", state.stage, state.step, kEnding);
}

}  // namespace

void SaveOptions::visit(OptionVisitor& v) {
  v.field(
      "save_every_minutes", save_every_minutes,
      {"save the state also between evaluations, to resume from; 0: only with them", "minutes", 0});
  v.field("keep_states", keep_states,
          {"saved states that are kept; when the newest is damaged, --resume takes the one before",
           "states", 1});
  v.field(
      "save_evaluations", save_evaluations,
      {"save the state after every evaluation; false: between them alone, for many short runs"});
}

void StateStore::save(const TrainState& state, const std::string& recipe) const {
  make_folders(folder_);
  save_train_state(join_path(folder_, file_name(state)), state, recipe);
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
               fmt::format("no state in '{}' can be read, all are damaged; start again with "
                           "--overwrite, or bring back a copy of one",
                           folder_));
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
