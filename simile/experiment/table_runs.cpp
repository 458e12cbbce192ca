// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/table_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

constexpr const char* kFetched = "data";  // where `simile data get` puts sets

// i/n: row r of the table is the share's where r % n == i - 1.
void parse_share(const std::string& text, int64_t& share, int64_t& shares) {
  if (text.empty()) return;
  char* end = nullptr;
  share = std::strtoll(text.c_str(), &end, 10);
  const bool has_slash = *end == '/' && end[1] != '\0';
  if (has_slash) shares = std::strtoll(end + 1, &end, 10);
  SIMILE_CHECK(has_slash && *end == '\0' && share >= 1 && share <= shares, ErrorKind::kUsage,
               "--rows: '{}' should be i/n, such as 2/3: every third row, from the second on",
               text);
}

// Whether a value uses the recipe's `data`.
bool names_data(const ConfigNode& node) {
  const auto in_member = [](const auto& member) { return names_data(member.second); };
  return node.scalar == "$data" || starts_with(node.scalar, "$data/") ||
         std::any_of(node.items.begin(), node.items.end(), names_data) ||
         std::any_of(node.members.begin(), node.members.end(), in_member);
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_complete(const TableRun& run) {
  return run.outcome.state == RunOutcome::State::kFinished &&
         (run.outcome.has_baselines || !run.run->with_baselines);
}

}  // namespace

std::string TableData::of(const TableSet& set) const {
  return is_fetched && set.recipe.find("data") != nullptr ? "" : folder;
}

bool TableData::has(const TableSet& set) const {
  const std::string data = of(set);
  return data.empty() || folder_exists(join_path(data, set.folder));
}

TableData find_table_data(const PaperTable& table, const std::string& data) {
  if (!data.empty()) {
    SIMILE_CHECK(folder_exists(data), ErrorKind::kInput, "--data: there is no folder '{}'", data);
    return {data, false};
  }
  const auto without = std::find_if(table.sets.begin(), table.sets.end(), [](const TableSet& set) {
    return set.recipe.find("data") == nullptr && names_data(set.recipe);
  });
  if (without == table.sets.end()) return {};
  SIMILE_CHECK(folder_exists(kFetched), ErrorKind::kUsage,
               "--data: give the folder of the data sets, with '{}' in it; `simile data get NAME` "
               "fetches some of them to {}/NAME, which is looked in unless another is given "
               "(simile data get --list)",
               without->folder, kFetched);
  return {kFetched, true};
}

TableRuns::TableRuns(const PaperTable& table, const TableSettings* settings,
                     const std::string& model, const TableData& data,
                     const ReproduceOptions& options, EventSink& events)
    : table_(table),
      settings_(settings),
      model_(model),
      data_(data),
      options_(options),
      events_(events),
      scheduler_(events) {
  parse_share(options.rows, share_, shares_);
  check_choice();
  warn_of_missing_sets();
  plan();
  warn_of_runs();
}

void TableRuns::check_choice() const {
  std::vector<std::string> rows, sets;
  for (const TableRow& row : table_.rows) {
    if (row.is_trained()) rows.push_back(row.label);
  }
  for (const TableSet& set : table_.sets) sets.push_back(set.name);
  const auto check = [&](const char* option, const std::vector<std::string>& asked,
                         const std::vector<std::string>& names) {
    for (const std::string& name : asked) {
      SIMILE_CHECK(has(names, name), ErrorKind::kUsage,
                   "{}: the table '{}' trains no '{}'; there are '{}'", option, table_.name, name,
                   fmt::join(names, "', '"));
    }
  };
  check("--row", options_.row, rows);
  check("--set", options_.set, sets);
}

void TableRuns::warn_of_missing_sets() const {
  for (const TableSet& set : table_.sets) {
    if (data_.has(set) || (!options_.set.empty() && !has(options_.set, set.name))) continue;
    std::vector<std::string> rows;
    for (const TableRow& row : table_.rows) {
      if (row.is_trained() && has(row.sets, set.name)) rows.push_back(row.label);
    }
    events_.warning(fmt::format(
        "the set '{}' is not at hand, there is no folder '{}': not run on it are the rows {}",
        set.name, join_path(data_.of(set), set.folder), fmt::join(rows, ", ")));
  }
}

// Reports which files are missing in sets whose folder exists, how many finished runs are out of
// date, and how many lack a model that should be kept.
void TableRuns::warn_of_runs() const {
  std::map<std::string, std::vector<std::string>> rows;  // by what is missing
  int64_t outdated = 0;
  std::vector<std::string> without_model;
  for (const TableRun& run : runs_) {
    if (!run.is_ours) continue;
    const bool is_told = run.seed == 1 && !run.is_wrong && data_.has(table_.find_set(run.set));
    if (is_told && !run.problem.empty()) rows[run.problem].push_back(table_.rows[run.row].label);
    if (!run.run) continue;
    const RunOutcome::State state = run.outcome.state;
    const bool has_results = file_exists(join_path(run.run->folder, run_format::kResults));
    outdated += state == RunOutcome::State::kNotRun && has_results ? 1 : 0;
    const bool lacks_model = state == RunOutcome::State::kFinished && !run.outcome.keeps_model;
    if (lacks_model) without_model.push_back(run.run->folder);
  }
  for (const auto& [problem, labels] : rows) {
    events_.warning(fmt::format("{}: not run are the rows {}", problem, fmt::join(labels, ", ")));
  }
  if (outdated > 0) {
    events_.warning(
        fmt::format("in '{}' are finished runs of another recipe, model, data or version of the "
                    "training: {}; they are not shown, and training replaces them",
                    options_.out, outdated));
  }
  if (!options_.keep_models || options_.show || without_model.empty()) return;
  events_.warning(
      fmt::format("--keep-models: of {} finished runs the models were removed; to have them "
                  "trained again, remove their folders in '{}', such as {}",
                  without_model.size(), options_.out, without_model.front()));
}

void TableRuns::plan() {
  for (int64_t seed = 1; seed <= options_.runs; ++seed) {
    std::vector<std::string> with_baselines;  // sets whose baselines a row computes
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      if (!table_.rows[row].is_trained()) continue;
      for (const std::string& set : table_.rows[row].sets) {
        TableRun& run = runs_.emplace_back(plan_one(row, set, seed, false));
        if (!run.run) continue;
        if ((seed == 1 || needs_start(*run.run)) && !has(with_baselines, set)) {
          run = plan_one(row, set, seed, true);
          with_baselines.push_back(set);
        }
        run.outcome = read_outcome(*run.run);
      }
    }
  }
  const bool is_any =
      std::any_of(runs_.begin(), runs_.end(), [](const TableRun& run) { return run.is_ours; });
  SIMILE_CHECK(is_any || (options_.row.empty() && options_.set.empty()), ErrorKind::kUsage,
               "--row, --set and --rows leave nothing of the table '{}' to train", table_.name);
}

TableRun TableRuns::plan_one(size_t row, const std::string& set_name, int64_t seed,
                             bool with_baselines) {
  const TableSet& set = table_.find_set(set_name);
  TableRun run;
  run.row = row;
  run.set = set_name;
  run.seed = seed;
  run.is_ours = static_cast<int64_t>(row) % shares_ == share_ - 1 &&
                (options_.row.empty() || has(options_.row, table_.rows[row].label)) &&
                (options_.set.empty() || has(options_.set, set_name));
  if (!data_.has(set)) {
    run.problem = "not at hand: " + set.folder;
    return run;
  }
  const std::string folder =
      fmt::format("{}/{}/{}/run-{}", options_.out, set_name, table_.rows[row].name, seed);
  const std::string label =
      fmt::format("{} {}, {}, seed {}", table_.name, table_.rows[row].label, set_name, seed);
  try {
    const ConfigNode recipe =
        row_recipe(table_, table_.rows[row], set_name, settings_, model_, data_.of(set));
    run.run = plan_run(recipe, {seed, options_.limit, with_baselines}, folder, label, hashes_);
  } catch (const Error& error) {
    run.problem = error.what();
    run.is_wrong = error.kind() != ErrorKind::kInput;
  }
  return run;
}

void TableRuns::complete() {
  std::vector<TableRun*> ours;
  for (TableRun& run : runs_) {
    if (run.run && run.is_ours) ours.push_back(&run);
  }
  try {
    scheduler_.complete_all(
        ours.size(),
        [&](size_t i) {
          complete_one(*ours[i], i + 1, ours.size());
          return ours[i]->outcome.state != RunOutcome::State::kRunning;
        },
        Scheduler::Others::kSkip);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted) throw;
    const auto finished = std::count_if(ours.begin(), ours.end(),
                                        [](const TableRun* run) { return is_complete(*run); });
    throw_error(ErrorKind::kInterrupted,
                "stopped; {} of {} runs are finished and the one that was at work is "
                "saved: the same command goes on, and with --show it shows what there is",
                finished, ours.size());
  }
  for (TableRun& run : runs_) {
    if (run.run && !run.is_ours) run.outcome = read_outcome(*run.run);
  }
}

void TableRuns::complete_one(TableRun& run, size_t number, size_t count) {
  const PlannedRun own = *run.run;
  const bool is_shared = share_baselines(run);
  if (!is_complete(run)) {
    events_.info(fmt::format("run {} of {}: {}", number, count, run.run->label));
  }
  run.outcome = scheduler_.complete(*run.run, options_.keep_models);
  if (!is_shared || run.outcome.state != RunOutcome::State::kFailed) return;
  run.run = own;  // it may be the baselines that failed
  run.outcome = scheduler_.complete(*run.run, options_.keep_models);
}

// If the run that computes a set's baselines failed, the next run of the set computes them too;
// only one, because all would fail if the baselines do.
bool TableRuns::share_baselines(TableRun& run) {
  const bool is_per_seed = needs_start(*run.run);
  const std::pair<std::string, int64_t> group(run.set, is_per_seed ? run.seed : 0);
  if (run.run->with_baselines || sharing_.count(group) > 0) return false;
  bool has_failed = false;
  for (const TableRun& other : runs_) {
    if (other.set != run.set || !other.run || (is_per_seed && other.seed != run.seed)) continue;
    if (other.outcome.has_baselines) return false;
    has_failed = has_failed ||
                 (other.run->with_baselines && other.outcome.state == RunOutcome::State::kFailed);
  }
  if (!has_failed) return false;
  TableRun shared = plan_one(run.row, run.set, run.seed, true);
  if (!shared.run) return false;
  sharing_.insert(group);
  run.run = std::move(shared.run);
  return true;
}

// Whether a row of the table shows the random start that the run has with its seed.
bool TableRuns::needs_start(const PlannedRun& run) const {
  return std::any_of(table_.rows.begin(), table_.rows.end(), [&run](const TableRow& row) {
    return depends_on_seed(row.baseline, run.options);
  });
}

}  // namespace simile
