// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/planned_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/hash.h"
#include "simile/experiment/repeated_training.h"
#include "simile/report/run_files.h"
#include "simile/train/read_recipe.h"

namespace simile {
namespace {

using namespace run_format;

constexpr int64_t kNoteFormat = 1;
constexpr double kQuickEpochs = 2;

// FOLDER.json.
struct RunNote {
  int64_t format = 0;
  std::string label, fingerprint, recipe;  // recipe: a hash of its options, paths included
  bool has_baselines = false, keeps_model = true;
  std::optional<std::string> error;

  void visit(OptionVisitor& v) {
    v.field("format", format, {});
    v.field("label", label, {});
    v.field("fingerprint", fingerprint, {});
    v.field("recipe", recipe, {});
    v.field("baselines", has_baselines, {});
    v.field("keep_model", keeps_model, {});
    v.field("error", error, {});
  }
};

std::string note_path(const PlannedRun& run) { return run.folder + ".json"; }

// A missing or damaged note counts as no note.
RunNote read_note(const PlannedRun& run) {
  RunNote note;
  if (!file_exists(note_path(run))) return note;
  try {
    read_json_options(read_file(note_path(run)), note_path(run), note);
  } catch (const Error&) {
    return {};
  }
  return note.format == kNoteFormat ? note : RunNote();
}

void write_note(const PlannedRun& run, const RunNote& note) {
  write_file_atomic(note_path(run), options_to_json(note) + "\n");
}

// Removes a part of the run, and of the runs it is made of.
void remove_part(const PlannedRun& run, const std::string& part) {
  std::error_code ignored;
  std::filesystem::remove_all(join_path(run.folder, part), ignored);
  for (const auto& entry : std::filesystem::directory_iterator(run.folder, ignored)) {
    if (!starts_with(entry.path().filename().string(), kSeedFolder)) continue;
    std::filesystem::remove_all(entry.path() / part, ignored);
  }
}

// For a run made of others, their mean is used for each. Errors (kInput): not what a run wrote.
void read_results(const PlannedRun& run, RunOutcome& outcome) {
  const std::string path = join_path(run.folder, kResults);
  detail::check_seal(detail::read_json(path), path, "the run has to be trained again");
  RunFiles files = read_run_files(run.folder);
  outcome.start_kept = files.verdict.start_kept > 0;
  outcome.reports = std::move(files.reports);
  std::stable_partition(outcome.reports.begin(), outcome.reports.end(),
                        [](const Report& report) { return report.model == "mean"; });
}

void limit_rows(int64_t& rows, int64_t limit) {
  if (rows == 0 || rows > limit) rows = limit;
}

void limit_ranking(RankingDataOptions& ranking, int64_t limit) {
  limit_rows(ranking.limit_queries, limit);
  limit_rows(ranking.limit_documents, limit);
}

void limit_data(TrainOptions& options, int64_t limit) {
  for (StageOptions& stage : options.stages) {
    stage.epochs = std::min(stage.epochs, kQuickEpochs);
    stage.steps = std::min(stage.steps, 2 * limit);
    stage.minutes = 0;
    for (ObjectiveOptions& objective : stage.objectives) {
      ObjectiveMiningOptions& mine = objective.mine;
      if (mine.is_on()) {  // as many negatives as examples, chosen among their texts
        mine.count = 1;
        mine.corpus.clear();
        if (mine.method == "ranks") mine.rank_base = std::min(mine.rank_base, limit / 2);
      }
      if (options.folds > 0 && objective.data.format == "ranking") {
        limit_ranking(objective.data.ranking, limit);  // as the tests of the other folds read it
        continue;
      }
      limit_rows(objective.data.limit, limit);
      if (objective.dev.is_set()) limit_rows(objective.dev.limit, limit);
    }
  }
  for (auto* list : {&options.evaluations, &options.tests}) {
    for (EvaluationOptions& evaluation : *list) {
      if (evaluation.task == "ranking" && evaluation.data.empty()) {
        limit_ranking(evaluation.ranking, limit);
      } else {
        limit_rows(evaluation.columns.limit, limit);
      }
    }
  }
}

// Removes files that a finished run no longer needs. States are far larger than the model.
void remove_parts(const PlannedRun& run, bool keeps_model) {
  for (const char* part : {kStates, kStages, kTeachers, kMined}) remove_part(run, part);
  if (!keeps_model) remove_part(run, kModel);
}

// Folds that only tests are cut into would leave nothing for what `part` is.
void leave_tests_out(TrainOptions& options) {
  TrainOptions checked = options;
  apply_folds(checked);  // of what is tested nothing may be selected by, though no trial tests
  const bool cuts_evaluation =
      std::any_of(options.evaluations.begin(), options.evaluations.end(), is_cut);
  auto& tests = options.tests;
  const bool needs_cut = options.folds > 0 && !cuts_evaluation;
  tests.erase(std::remove_if(tests.begin(), tests.end(),
                             [&](const auto& test) { return !needs_cut || !is_cut(test); }),
              tests.end());
}

}  // namespace

OptionInfo quick_look_info() {
  return {
      "for a quick look: examples of every set to read, and documents of a corpus; 0: all. "
      "Stages then end after two epochs",
      "examples", 0};
}

FileLock lock_run(const std::string& folder) {
  make_folders(std::filesystem::path(folder).parent_path().string());
  return FileLock(folder + ".lock", FileLock::On::kFile);
}

void remove_half_written(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  const std::string beginning = whole.filename().string() + ".tmp-";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(whole.parent_path(), ignored)) {
    if (!starts_with(entry.path().filename().string(), beginning)) continue;
    std::filesystem::remove(entry.path(), ignored);
  }
}

PlannedRun plan_run(const ConfigNode& recipe, const RunChanges& changes, const std::string& folder,
                    const std::string& label, ContentHashes& hashes) {
  PlannedRun run;
  run.label = label;
  run.folder = folder;
  read_options(recipe, run.options);
  const RecipeInputs inputs = find_inputs(run.options, hashes);
  run.options.seed = changes.seed;
  run.options.runs = 1;
  // A state is several times the model, and a short run would spend its time on writing them.
  run.options.save.save_evaluations = false;
  run.options.save.save_every_minutes = 3;
  run.with_baselines = changes.with_baselines;
  if (!changes.with_baselines) run.options.baselines.clear();
  if (!changes.with_tests) leave_tests_out(run.options);
  if (changes.limit > 0) limit_data(run.options, changes.limit);
  run.fingerprint = hash_bytes(
      fmt::format("{} seed {} limit {}{}", recipe_fingerprint(recipe, inputs), changes.seed,
                  changes.limit, changes.with_tests ? "" : " without tests"));
  return run;
}

RunOutcome read_outcome(const PlannedRun& run) {
  RunOutcome outcome;
  const RunNote note = read_note(run);
  if (note.fingerprint != run.fingerprint) return outcome;
  if (note.error) {
    outcome.state = RunOutcome::State::kFailed;
    outcome.error = *note.error;
  } else if (file_exists(join_path(run.folder, kResults))) {
    outcome.has_baselines = note.has_baselines;
    outcome.keeps_model = note.keeps_model;
    try {
      read_results(run, outcome);
      outcome.state = RunOutcome::State::kFinished;
    } catch (const Error& error) {
      outcome = {};
      outcome.state = RunOutcome::State::kFailed;
      outcome.error = error.what();
    }
  }
  return outcome;
}

void abandon_run(const PlannedRun& run) { remove_parts(run, false); }

RunOutcome complete_run(const PlannedRun& run, bool keep_model, const FileLock& lock,
                        EventSink& events) {
  SIMILE_CHECK(lock.is_held(), ErrorKind::kUsage, "'{}' is trained by another process", run.folder);
  remove_half_written(note_path(run));
  RunOutcome outcome = read_outcome(run);
  RunNote note = read_note(run);
  if (outcome.state == RunOutcome::State::kFinished &&
      (outcome.has_baselines || !run.with_baselines)) {
    remove_parts(run, note.keeps_model);
    return outcome;
  }
  const std::string recipe = options_to_json(run.options);
  const RunNote wanted{
      kNoteFormat, run.label, run.fingerprint, hash_bytes(recipe), run.with_baselines,
      keep_model,  {}};
  const bool is_same = note.fingerprint == wanted.fingerprint && note.recipe == wanted.recipe;
  if (!is_same || outcome.state == RunOutcome::State::kFailed) {
    TrainOptions read = run.options;
    for (const RecipePath& input : find_recipe_paths(OptionValue::of(read))) {
      check_not_read(run.folder, input.path);
    }
    // First the old run, then the note: killed in between, nothing old counts as new.
    std::error_code ignored;
    std::filesystem::remove_all(run.folder, ignored);
    write_note(run, wanted);
  } else if (note.keeps_model != keep_model) {
    write_note(run, wanted);
  }
  try {
    train_recipe(parse_config(recipe, run.label), run.folder, true, false, events);
    remove_parts(run, keep_model);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    note = wanted;
    note.error = error.what();
    write_note(run, note);
  }
  return read_outcome(run);
}

RunOutcome Scheduler::complete(const PlannedRun& run, bool keep_model) {
  const FileLock lock = lock_run(run.folder);
  if (!lock.is_held()) {
    RunOutcome outcome = read_outcome(run);
    if (outcome.state != RunOutcome::State::kFinished) outcome.state = RunOutcome::State::kRunning;
    return outcome;
  }
  RunEvents events(run.label, told_, events_);
  RunOutcome outcome = complete_run(run, keep_model, lock, events);
  if (outcome.state == RunOutcome::State::kFailed) {
    events_.warning(fmt::format("{}: {}", run.label, outcome.error));
  }
  return outcome;
}

void Scheduler::complete_all(size_t count, const std::function<bool(size_t)>& complete,
                             Others others) {
  std::vector<size_t> open(count);
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    std::vector<size_t> elsewhere;
    for (const size_t run : open) {
      if (!complete(run)) elsewhere.push_back(run);
    }
    if (others == Others::kSkip && elsewhere.size() == open.size()) return;
    if (others == Others::kAwait && !elsewhere.empty()) wait();
    open = std::move(elsewhere);
  }
}

void Scheduler::wait() const {
  events_.progress({"waiting for another process", 0, 0, "", {}});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

void Scheduler::info_once(const std::string& message) {
  if (told_.insert(message).second) events_.info(message);
}

}  // namespace simile
