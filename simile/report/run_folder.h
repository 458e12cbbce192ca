// SPDX-License-Identifier: Apache-2.0
// The files of one run: run.json, metrics.jsonl, TensorBoard events, states/, results.json,
// predictions/ and model/; also stages/ and teachers/ if stages refer to others, mined/ if the run
// mines negatives, and run-1/, run-2/, ... for several seeds or folds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/eval/report.h"
#include "simile/model/model_settings.h"
#include "simile/report/run_files.h"
#include "simile/report/run_log.h"
#include "simile/report/verdict.h"

namespace simile {

// run.json is a recipe with notes about the machine beside it: the recipe alone.
ConfigNode without_environment(ConfigNode run);

// The results of a stage that later ones use.
struct KeptStage {
  std::vector<float> weights;  // as ModelWeights::copy() lists them
  Temperatures temperatures;
};

// The result of one seed, or one fold, among several.
struct SeedResult {
  int64_t seed = 0;
  std::vector<Report> reports;
  std::optional<double> selected_value;
  std::optional<int64_t> fold;
};

// The lines of metrics.jsonl up to a moment.
struct LogMark {
  int64_t bytes = 0;
  std::string hash;  // Hash128
};

// Errors (kUsage): a new run in `folder` would remove or replace `input`.
void check_outside_run(const std::string& folder, const std::string& input);
// That the file `output` is none of the run in its folder. Errors: the same.
void check_no_part_of_run(const std::string& output);

class RunFolder {
 public:
  // Makes the folder, locks it until destroyed, and removes half-written files of a crash. Errors:
  // ErrorKind::kUsage when another process trains in it, or when it holds a run and neither
  // `resume` nor `overwrite` is given; ErrorKind::kIo when it cannot be written, also of every
  // later call that names a place to write to, if the folder was removed or another took its place.
  RunFolder(const std::string& path, bool resume, bool overwrite);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  // Before a run that does not resume: removes the run that the folder held, if any, and of several
  // seeds the runs in it, but for the folder `but`.
  void remove_old_run(const std::string& but = "") const;
  // Before a run resumes. Errors: ErrorKind::kUsage if one seed was trained and several are wanted,
  // or vice versa.
  void check_resume(bool several) const;

  const std::string& path() const { return path_; }
  std::string states_path() const { return part(run_format::kStates); }  // see StateStore
  // metrics.jsonl, after flush_metrics() all of it.
  std::string log_path() const { return part(run_format::kLog); }
  std::string model_path() const { return own_part(run_format::kModel); }
  // A folder of mined negatives, of this run alone.
  std::string mined_path() const { return own_part(run_format::kMined); }
  // A folder of vectors, reused by later runs.
  std::string teachers_path() const { return own_part(run_format::kTeachers); }
  // Folders, made on demand: of the model, or kHybrid, kStart, kBm25.
  std::string predictions_path(const std::string& of = "") const;
  // The parts of a run of several seeds or folds, from 1.
  std::string seed_path(int64_t number) const { return part(run_format::seed_folder(number)); }
  std::string seed_predictions_path(int64_t number, bool hybrid) const;

  // Keeps a stage for later stages that start with it or learn from it, and reads it. Errors of
  // read_stage(): ErrorKind::kInput for files that are missing or damaged.
  void keep_stage(const std::string& stage, const KeptStage& kept) const;
  KeptStage read_stage(const std::string& stage) const;

  // `recipe` is the resolved recipe as JSON; library versions, threads and machine go beside it.
  void write_run(const std::string& recipe) const;
  void write_results(const std::vector<Report>& reports, double seconds,
                     const std::optional<Verdict>& verdict = {}) const;
  // Writes the results of several seeds or folds: those of each, the number of the best if one is
  // chosen, and those of all together.
  void write_results(const std::vector<SeedResult>& runs, std::optional<size_t> best,
                     const std::vector<Report>& reports,
                     const std::optional<Verdict>& verdict = {}) const;

  // metrics.jsonl: one line a step and one an evaluation, without times, so that a resumed run ends
  // with the same bytes (TensorBoard gets the same numbers with their times). Lines reach the disk
  // with flush_metrics(), which returns the file's length and hash.
  void log_step(const std::string& stage, int64_t step, double epoch, const StepResult& result);
  void log_evaluation(const std::string& stage, int64_t step, double epoch, const Report& report);
  LogMark flush_metrics();
  bool has_metrics(const LogMark& mark) const;  // whether they still begin so
  // Cuts metrics.jsonl to `bytes`, at most its length, and drops results based on later lines.
  void cut_metrics(int64_t bytes);

 private:
  std::string part(const std::string& name) const { return join_path(path_, name); }
  std::string own_part(const std::string& name) const;  // to write to
  // Writes results.json: `json`, reports and verdict, the hashes of metrics.jsonl and the
  // predictions, and its own.
  void seal_results(const std::string& json, const std::vector<Report>& reports,
                    const std::optional<Verdict>& verdict) const;
  void open_metrics();
  void write_line(const std::string& line);
  void check_metrics(bool good, const char* act) const;
  TensorboardWriter& tensorboard();

  std::string path_;
  FileLock lock_;
  bool held_run_;  // when it was opened
  std::FILE* metrics_ = nullptr;
  std::optional<Hash128> metrics_hash_;
  std::unique_ptr<TensorboardWriter> tensorboard_;
};

// Files verified, of each kind.
struct RunCheck {
  int64_t states = 0;
  int64_t stages = 0;
  int64_t teachers = 0;
  int64_t mined = 0;
  int64_t results = 0;  // results.json, metrics.jsonl and predictions
  int64_t model = 0;    // 0 too where checksums.json is missing
};

// Checks that the files that a run folder keeps for resuming are as they were written: states,
// weights kept for later stages, teachers' vectors, mined negatives and the model; and, once the
// run has ended, results.json with its metrics.jsonl and predictions. The other files are for
// people. Includes all runs of several seeds. Errors (ErrorKind::kInput): no run folder, and the
// first file that is damaged.
RunCheck check_run(const std::string& path);

}  // namespace simile
