// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/trial_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using JournalJson = nlohmann::ordered_json;
using TrialState = Trial::State;

constexpr int kJournalFormat = 1;
constexpr std::array<TrialState, 4> kTrialStates = {TrialState::kOpen, TrialState::kFinished,
                                                    TrialState::kStopped, TrialState::kFailed};

SelectedValue value_of(const JournalJson& json) {
  const JournalJson& value = json.at("value");
  return {json.at("stage"), json.at("step"), json.at("done"),
          value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN()};
}

Trial trial_of(const JournalJson& json) {
  Trial trial;
  trial.number = json.at("trial");
  trial.origin = json.at("origin");
  trial.error = json.value("error", "");
  trial.keeps_best = json.value("keep", "best") == std::string("best");
  for (const JournalJson& value : json.at("point")) {
    trial.point.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  for (const JournalJson& value : json.at("values")) trial.values.push_back(value_of(value));
  for (const TrialState state : kTrialStates) {
    if (json.at("state") == name_of(state)) trial.state = state;
  }
  return trial;
}

}  // namespace

std::string name_of(Trial::State state) {
  switch (state) {
    case TrialState::kOpen:
      return "open";
    case TrialState::kFinished:
      return "finished";
    case TrialState::kStopped:
      return "stopped";
    case TrialState::kFailed:
      return "failed";
  }
  return "";
}

std::optional<Trial> read_trial(const std::string& path, const std::string& search) {
  if (!file_exists(path)) return std::nullopt;
  const JournalJson json = JournalJson::parse(read_file(path), nullptr, false);
  const bool is_ours = json.is_object() && json.value("format", 0) == kJournalFormat &&
                       json.value("search", "") == search;
  SIMILE_CHECK(is_ours, ErrorKind::kInput,
               fmt::format("{}: not a trial of this search; remove it", path));
  try {
    return trial_of(json);
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, fmt::format("{}: a damaged trial; remove it", path));
  }
}

void write_trial(const std::string& path, const std::string& search, const Trial& trial) {
  JournalJson json = {{"format", kJournalFormat},
                      {"search", search},
                      {"trial", trial.number},
                      {"origin", trial.origin},
                      {"state", name_of(trial.state)}};
  json["point"] = JournalJson::array();
  for (const auto& value : trial.point) {
    json["point"].push_back(value ? JournalJson(*value) : JournalJson());
  }
  json["values"] = JournalJson::array();
  for (const SelectedValue& one : trial.values) {
    json["values"].push_back(
        {{"stage", one.stage},
         {"step", one.step},
         {"done", one.done},
         {"value", std::isfinite(one.value) ? JournalJson(one.value) : JournalJson()}});
  }
  json["keep"] = trial.keeps_best ? "best" : "last";
  if (!trial.error.empty()) json["error"] = trial.error;
  write_file_atomic(path, json.dump(2, ' ', false, JournalJson::error_handler_t::replace) + "\n");
}

}  // namespace simile
