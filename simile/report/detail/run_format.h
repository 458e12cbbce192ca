// SPDX-License-Identifier: Apache-2.0
// The names in a run folder and the keys in its files, for who writes them (run_folder.cpp) and who
// reads them (run_files.cpp). The lines of metrics.jsonl: run_log.cpp; predictions:
// simile/eval/predictions.h; a report as JSON: simile/eval/report.h.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simile::run_format {

constexpr const char* kRecipe = "run.json";
constexpr const char* kLog = "metrics.jsonl";
constexpr const char* kResults = "results.json";
constexpr const char* kPredictions = "predictions";
constexpr const char* kHybrid = "hybrid";  // within: those of the model together with BM25
constexpr const char* kStates = "states";
constexpr const char* kModel = "model";
constexpr const char* kStages = "stages";
constexpr const char* kTeachers = "teachers";
constexpr const char* kMined = "mined";
constexpr const char* kLock = "lock";
constexpr std::string_view kSeedFolder = "run-";  // and the number, from 1
constexpr std::string_view kTensorboard = "events.out.tfevents.";

// Of run.json, beside the recipe's own keys.
constexpr const char* kEnvironment = "environment";

// Of results.json: of one run the first two, of several seeds or folds the others too.
constexpr const char* kReports = "reports";
constexpr const char* kSeconds = "seconds";
constexpr const char* kRuns = "runs";  // of each: folder, seed, reports, and selected if any
constexpr const char* kFolder = "folder";
constexpr const char* kSeed = "seed";
constexpr const char* kFold = "fold";  // where the runs are folds
constexpr const char* kSelected = "selected";
constexpr const char* kBest = "best";    // a folder; not of folds
constexpr const char* kFiles = "files";  // metrics.jsonl and predictions, each with its hash

// Of results.json too, simile/report/verdict.h: an object with these keys and others.
constexpr const char* kVerdict = "verdict";
constexpr const char* kLine = "line";
constexpr const char* kStartKept = "start_kept";
constexpr const char* kCauses = "causes";

inline std::string seed_folder(int64_t number) { return fmt::format("{}{}", kSeedFolder, number); }

// The number in such a name; nothing where it is another.
inline std::optional<int64_t> seed_folder_number(std::string_view name) {
  if (name.substr(0, kSeedFolder.size()) != kSeedFolder) return std::nullopt;
  name.remove_prefix(kSeedFolder.size());
  if (name.find_first_not_of("0123456789") != name.npos) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() ? std::optional<int64_t>(number) : std::nullopt;
}

}  // namespace simile::run_format
