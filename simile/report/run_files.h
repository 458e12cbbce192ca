// SPDX-License-Identifier: Apache-2.0
// Reads the files that training wrote into a run folder, also while it is still running.
//
//   run.json         the resolved recipe, and under "environment" what it ran on
//   metrics.jsonl    a line a step and one an evaluation (simile/report/run_log.h)
//   results.json     "seconds", "verdict" (simile/report/verdict.h) and "reports", once it is
//                    finished
//   predictions/     a file for each evaluation (simile/eval/predictions.h); in its folder hybrid/
//                    those of the model together with BM25; in start/ and bm25/ the tables of
//                    queries of the rankings that the verdict compares
//   run-1/ ...       of a recipe with several runs: one such folder per seed or fold, with a
//                    results.json of their "runs" (folder, seed, fold) and "verdict" above them
//
// The runs of one recipe are a set of runs. Sets are found in a folder at any depth.
//
// Errors: ErrorKind::kInput for a folder that is not a run (with the reason) or a damaged file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/eval/report.h"

// The names in a run folder and the keys in its files. The lines of metrics.jsonl: run_log.cpp;
// predictions: simile/eval/predictions.h; a report as JSON: simile/eval/report.h.
namespace simile::run_format {

constexpr const char* kRecipe = "run.json";
constexpr const char* kLog = "metrics.jsonl";
constexpr const char* kResults = "results.json";
constexpr const char* kPredictions = "predictions";
constexpr const char* kHybrid = "hybrid";  // within: those of the model together with BM25
constexpr const char* kStart = "start";    // within: those of the weights before the first step
constexpr const char* kBm25 = "bm25";      // within
constexpr const char* kStates = "states";
constexpr const char* kModel = "model";
constexpr const char* kStages = "stages";
constexpr const char* kTeachers = "teachers";
constexpr const char* kMined = "mined";
constexpr const char* kLock = "lock";
constexpr const char* kState = "state";           // the metadata of a file in states/, JSON
constexpr std::string_view kSeedFolder = "run-";  // and the number, from 1
constexpr std::string_view kTensorboard = "events.out.tfevents.";

// A key of run.json beside the recipe's own.
constexpr const char* kEnvironment = "environment";

// Keys of results.json: one run has the first two, several seeds or folds have the others too.
constexpr const char* kReports = "reports";
constexpr const char* kSeconds = "seconds";
constexpr const char* kRuns = "runs";  // of each: folder, seed, reports, and selected if any
constexpr const char* kFolder = "folder";
constexpr const char* kSeed = "seed";
constexpr const char* kFold = "fold";  // where the runs are folds
constexpr const char* kSelected = "selected";
constexpr const char* kBest = "best";    // a folder; not of folds
constexpr const char* kFiles = "files";  // metrics.jsonl and predictions, each with its hash

// A further key, see simile/report/verdict.h: an object with these keys and others.
constexpr const char* kVerdict = "verdict";
constexpr const char* kLine = "line";
constexpr const char* kDetails = "details";
constexpr const char* kStartKept = "start_kept";
constexpr const char* kCauses = "causes";

std::string seed_folder(int64_t number);  // "run-1"
// The number in such a name; nothing where it is another.
std::optional<int64_t> seed_folder_number(std::string_view name);

}  // namespace simile::run_format

namespace simile {

// Whether two reports are of the same task and data set.
bool is_same_evaluation(const Report& a, const Report& b);

// The part of a Verdict that results.json keeps.
struct ReadVerdict {
  std::string line;                  // Verdict::to_line(); empty where there is none
  std::vector<std::string> details;  // missing in runs of earlier versions
  int64_t start_kept = 0;            // how many of the runs kept the weights they began with
  std::vector<std::string> causes;
};

struct RunFiles {
  std::string path;
  std::optional<int64_t> seed, fold;
  std::string recipe;                                            // JSON; empty while missing
  std::vector<std::pair<std::string, std::string>> environment;  // names and values
  double seconds = 0;
  std::vector<Report> reports;  // of every model; empty while missing
  ReadVerdict verdict;
  std::vector<std::string> missing;  // files that a finished run has and this one has not

  // The first report of each name, which is that of the trained model, not of a baseline.
  std::vector<Report> own_reports() const;

  // The reports of the same model together with BM25 (simile/eval/hybrid_scorer.h).
  std::vector<Report> hybrid_reports() const;

  // Where the predictions behind one of these reports are; empty where they were not written.
  std::string predictions_of(const Report& report) const;
};

// A run, or the runs of one recipe under several seeds or on several folds.
struct RunSet {
  std::string path;
  std::string name;  // the last part of the path
  std::vector<RunFiles> runs;
  ReadVerdict verdict;  // of all runs together

  const char* unit() const;  // what differs between the runs: "seeds" or "folds"
};

RunSet read_run_set(const std::string& path);

// A set of runs in a folder, by the names of folders from there on: "table/row/set".
struct FoundRuns {
  std::string name;
  std::vector<std::string> runs;  // "table/row/set/run-1" and so on, or `name` alone
};

// The sets of runs below `folder` at any depth, sorted by name. Leaves out hidden folders and what
// is within a run, within a link, or beyond 20,000 folders. Errors: kIo.
std::vector<FoundRuns> find_runs(const std::string& folder);

// The set of runs that `path` is, or all that find_runs() finds in it, under the names it gives.
std::vector<RunSet> read_run_sets(const std::string& path);

// The files of one run, even none. With `problems`, damaged files are left out and reported there.
RunFiles read_run_files(const std::string& path, std::vector<std::string>* problems = nullptr);

// One difference between recipes.
struct RecipeChange {
  std::string key;                  // "stages.0.epochs"
  std::vector<std::string> values;  // of each recipe, as JSON; kNoValue where it has no such key
};
constexpr const char* kNoValue = "nothing";

// Differences between recipes in JSON. Keys are walked in the order in which they appear; lists are
// compared element by element. A member that some recipes lack is one change, whatever it holds.
std::vector<RecipeChange> find_recipe_changes(const std::vector<std::string>& recipes);

}  // namespace simile
