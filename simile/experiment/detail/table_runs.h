// SPDX-License-Identifier: Apache-2.0
// The trainings of a table (simile/experiment/reproduction.h): it lists them, decides which of them
// this process does, and does these.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simile/experiment/planned_run.h"
#include "simile/experiment/reproduction.h"

namespace simile {

// The training of a row on a set with a seed.
struct TableRun {
  size_t row = 0;
  std::string set;
  int64_t seed = 1;
  bool is_ours = false;           // --row, --set and --rows leave it to this process
  std::optional<PlannedRun> run;  // none: `problem` says why
  std::string problem;
  bool is_wrong = false;  // not for want of data
  RunOutcome outcome;
};

// Where a table's sets are.
struct TableData {
  std::string folder;  // of all sets; empty: as each recipe has it
  // The user did not name the folder: recipes that name their data keep it.
  bool is_fetched = false;

  std::string of(const TableSet& set) const;
  bool has(const TableSet& set) const;
};

// The data that --data names, or, without it, the fetched data if a recipe needs it. Errors:
// ErrorKind::kUsage, and kInput if there is no such folder.
TableData find_table_data(const PaperTable& table, const std::string& data);

class TableRuns {
 public:
  // Plans all runs of the table, seed 1 of all rows first, and reads what is known of them. The
  // first run of a set computes its baselines, with every seed if depends_on_seed(). Reports
  // missing sets and files with the rows that need them, and how many finished runs are out of date
  // or lack a model that should be kept. `options` must have runs and out; its data, model and
  // settings are ignored. All arguments are kept by reference. Errors: ErrorKind::kUsage if the
  // options' rows and sets do not exist or leave nothing.
  TableRuns(const PaperTable& table, const TableSettings* settings, const std::string& model,
            const TableData& data, const ReproduceOptions& options, EventSink& events);

  // Trains the runs of this process that are not finished, and reads the others again. Errors:
  // ErrorKind::kInterrupted, with how many are finished.
  void complete();

  const std::vector<TableRun>& list() const { return runs_; }

 private:
  void check_choice() const;
  void warn_of_missing_sets() const;
  void plan();
  TableRun plan_one(size_t row, const std::string& set, int64_t seed, bool with_baselines);
  void warn_of_runs() const;
  void complete_one(TableRun& run, size_t number, size_t count);
  bool share_baselines(TableRun& run);
  bool needs_start(const PlannedRun& run) const;

  const PaperTable& table_;
  const TableSettings* settings_;
  const std::string& model_;
  const TableData& data_;
  const ReproduceOptions& options_;
  EventSink& events_;
  Scheduler scheduler_;
  int64_t share_ = 1, shares_ = 1;  // of --rows
  ContentHashes hashes_;
  std::vector<TableRun> runs_;
  // Sets whose baselines another run than the first was given, with the seed if needs_start().
  std::set<std::pair<std::string, int64_t>> sharing_;
};

}  // namespace simile
