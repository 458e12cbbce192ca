// SPDX-License-Identifier: Apache-2.0
#include "simile/tune/reproduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/tune/detail/judgement.h"
#include "simile/tune/detail/run_events.h"
#include "simile/tune/planned_run.h"

namespace simile {
namespace {

constexpr int64_t kRuns = 5, kQuickRuns = 3;
constexpr const char* kFetched = "data";  // where `simile data get` puts sets

// The training of a row on a set with a seed.
struct PlannedCell {
  size_t row = 0;
  std::string set;
  int64_t seed = 1;
  std::optional<PlannedRun> run;  // none: `problem` says why
  std::string problem;
  bool is_wrong = false;  // not for want of data
  RunOutcome outcome;
};

// Of i/n: row r of the table is the share's where r % n == i - 1.
struct RowShare {
  int64_t number = 1, of = 1;
  bool has(size_t row) const { return static_cast<int64_t>(row) % of == number - 1; }
};

RowShare parse_rows(const std::string& text) {
  RowShare share;
  if (text.empty()) return share;
  char* end = nullptr;
  share.number = std::strtoll(text.c_str(), &end, 10);
  const bool has_slash = *end == '/' && end[1] != '\0';
  if (has_slash) share.of = std::strtoll(end + 1, &end, 10);
  SIMILE_CHECK(has_slash && *end == '\0' && share.number >= 1 && share.number <= share.of,
               ErrorKind::kUsage,
               fmt::format("--rows: '{}' should be i/n, such as 2/3: every third row, from the "
                           "second on",
                           text));
  return share;
}

// The mean of the column's metrics, each of the first report that is chosen; none where one is
// missing.
std::optional<double> read_column(const TableColumn& column, const std::vector<Report>& reports,
                                  const std::function<bool(const Report&)>& is_chosen) {
  double sum = 0;
  for (const std::string& metric : column.metrics) {
    const size_t dot = metric.find('.');
    const std::string evaluation = metric.substr(0, dot);
    const auto found = std::find_if(reports.begin(), reports.end(), [&](const Report& report) {
      return report.name == evaluation && is_chosen(report);
    });
    const double* value =
        found == reports.end() ? nullptr : found->find_metric(metric.substr(dot + 1));
    if (value == nullptr) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(column.metrics.size());
}

// Whether a path stands in the recipe's `data`.
bool names_data(const ConfigNode& node) {
  const auto in_member = [](const auto& member) { return names_data(member.second); };
  return starts_with(node.scalar, "$data/") ||
         std::any_of(node.items.begin(), node.items.end(), names_data) ||
         std::any_of(node.members.begin(), node.members.end(), in_member);
}

class Reproducer {
 public:
  Reproducer(const std::string& table, const ReproduceOptions& options, EventSink& events)
      : events_(events) {
    result_.table = read_paper_table(find_table(table));
    result_.asked = table;
    result_.options = options;
    share_ = parse_rows(options.rows);
    check_choice(options);
    if (options.runs == 0) result_.options.runs = options.limit > 0 ? kQuickRuns : kRuns;
    if (result_.options.out.empty()) result_.options.out = default_folder(options);
    result_.model = options.model.empty() ? table_().model : options.model;
    choose_settings();
    check_data();
  }

  void check_choice(const ReproduceOptions& options) const {
    std::vector<std::string> rows, sets;
    for (const TableRow& row : table_().rows) {
      if (row.is_trained()) rows.push_back(row.label);
    }
    for (const TableSet& set : table_().sets) sets.push_back(set.name);
    check_name("--row", options.row, rows);
    check_name("--set", options.set, sets);
  }

  void check_name(const char* option, const std::string& name,
                  const std::vector<std::string>& names) const {
    SIMILE_CHECK(name.empty() || std::count(names.begin(), names.end(), name) > 0,
                 ErrorKind::kUsage,
                 fmt::format("{}: the table '{}' trains no '{}'; there are '{}'", option,
                             table_().name, name, fmt::join(names, "', '")));
  }

  // Whether this process trains it.
  bool is_ours(const PlannedCell& cell) const {
    return share_.has(cell.row) &&
           (options().row.empty() || table_().rows[cell.row].label == options().row) &&
           (options().set.empty() || cell.set == options().set);
  }

  // Runs from another model, with other settings or of less data do not replace those of the table.
  std::string default_folder(const ReproduceOptions& options) const {
    std::string folder = "runs/" + result_.table.name;
    if (!options.model.empty())
      folder += "-" + std::filesystem::path(options.model).filename().string();
    if (!options.settings.empty()) folder += "-" + options.settings;
    if (options.limit > 0) folder += fmt::format("-limit-{}", options.limit);
    return folder;
  }

  Reproduction run() {
    plan();
    for (PlannedCell& cell : planned_) {
      if (cell.run) cell.outcome = read_outcome(*cell.run);
    }
    complete_all();
    fill_cells();
    fill_judgements();
    write_files();
    return std::move(result_);
  }

 private:
  const PaperTable& table_() const { return result_.table; }
  const ReproduceOptions& options() const { return result_.options; }

  void choose_settings() {
    const auto& all = table_().settings;
    const std::string& wanted = options().settings;
    std::vector<std::string> names;
    for (const TableSettings& one : all) names.push_back(one.name);
    if (wanted.empty()) {
      if (!all.empty()) settings_ = &all[0];
    } else {
      const auto found = std::find(names.begin(), names.end(), wanted);
      SIMILE_CHECK(found != names.end(), ErrorKind::kUsage,
                   fmt::format("--settings: the table '{}' has no '{}'; it has [{}]", table_().name,
                               wanted, fmt::join(names, ", ")));
      settings_ = &all[static_cast<size_t>(found - names.begin())];
    }
    if (settings_ != nullptr) result_.settings = settings_->name;
  }

  // A set whose recipe does not say where its data are.
  const TableSet* find_set_without_data() const {
    const auto& sets = table_().sets;
    const auto found = std::find_if(sets.begin(), sets.end(), [](const TableSet& set) {
      return set.recipe.find("data") == nullptr && names_data(set.recipe);
    });
    return found == sets.end() ? nullptr : &*found;
  }

  void check_data() {
    if (options().data.empty()) {
      const TableSet* without = find_set_without_data();
      if (without == nullptr) return;
      SIMILE_CHECK(folder_exists(kFetched), ErrorKind::kUsage,
                   fmt::format("--data: give the folder of the data sets, with '{}' in it; `simile "
                               "data get NAME` fetches some of them to {}/NAME, which is looked in "
                               "unless another is given (simile data get --list)",
                               without->folder, kFetched));
      result_.options.data = kFetched;
      takes_fetched_ = true;
    }
    SIMILE_CHECK(folder_exists(options().data), ErrorKind::kInput,
                 fmt::format("--data: there is no folder '{}'", options().data));
    for (const TableSet& set : table_().sets) {
      if (is_at_hand(set) || (!options().set.empty() && options().set != set.name)) continue;
      std::vector<std::string> rows;
      for (const TableRow& row : table_().rows) {
        const bool takes = std::count(row.sets.begin(), row.sets.end(), set.name) > 0;
        if (row.is_trained() && takes) rows.push_back(row.label);
      }
      events_.warning(
          fmt::format("the set '{}' is not at hand, there is no folder '{}': not run "
                      "on it are the rows {}",
                      set.name, join_path(options().data, set.folder), fmt::join(rows, ", ")));
    }
  }

  // The folder of all sets; empty: as the set's recipe has it, unless --data was given.
  std::string data_for(const TableSet& set) const {
    return takes_fetched_ && set.recipe.find("data") != nullptr ? "" : options().data;
  }

  bool is_at_hand(const TableSet& set) const {
    const std::string data = data_for(set);
    return data.empty() || folder_exists(join_path(data, set.folder));
  }

  void plan() {
    for (int64_t seed = 1; seed <= options().runs; ++seed) {
      std::vector<std::string> with_baselines;  // sets whose baselines a row computes
      for (size_t row = 0; row < table_().rows.size(); ++row) {
        if (!table_().rows[row].is_trained()) continue;
        for (const std::string& set : table_().rows[row].sets) {
          const bool has_baselines =
              seed == 1 && std::count(with_baselines.begin(), with_baselines.end(), set) == 0;
          planned_.push_back(plan_cell(row, set, seed, has_baselines));
          if (has_baselines && planned_.back().run) with_baselines.push_back(set);
        }
      }
    }
  }

  PlannedCell plan_cell(size_t row, const std::string& set_name, int64_t seed,
                        bool with_baselines) {
    const TableSet& set = table_().find_set(set_name);
    PlannedCell cell;
    cell.row = row;
    cell.set = set_name;
    cell.seed = seed;
    if (!is_at_hand(set)) {
      cell.problem = "not at hand: " + set.folder;
      return cell;
    }
    const std::string folder =
        fmt::format("{}/{}/{}/run-{}", options().out, set_name, table_().rows[row].name, seed);
    const std::string label =
        fmt::format("{} {}, {}, seed {}", table_().name, table_().rows[row].label, set_name, seed);
    try {
      cell.run = plan_run(recipe_of(row, set_name), {seed, options().limit, with_baselines}, folder,
                          label, hashes_);
    } catch (const Error& error) {
      cell.problem = error.what();
      cell.is_wrong = error.kind() != ErrorKind::kInput;
    }
    return cell;
  }

  ConfigNode recipe_of(size_t row, const std::string& set) const {
    return row_recipe(table_(), table_().rows[row], set, settings_, result_.model,
                      data_for(table_().find_set(set)));
  }

  void complete_all() {
    std::vector<PlannedCell*> ours;
    for (PlannedCell& cell : planned_) {
      if (cell.run && is_ours(cell)) ours.push_back(&cell);
    }
    check_chosen();
    for (size_t i = 0; i < ours.size(); ++i) complete(*ours[i], i + 1, ours.size());
    // A run that another process was at may be finished by now, or left by one that died; and while
    // one of them is trained here, others may come to be.
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t i = 0; i < ours.size(); ++i) {
        if (ours[i]->outcome.state != RunOutcome::State::kRunning) continue;
        complete(*ours[i], i + 1, ours.size());
        has_changed = has_changed || ours[i]->outcome.state != RunOutcome::State::kRunning;
      }
    }
    for (PlannedCell& cell : planned_) {
      if (cell.run && !is_ours(cell)) cell.outcome = read_outcome(*cell.run);
    }
  }

  void check_chosen() const {
    const bool is_chosen = !options().row.empty() || !options().set.empty();
    const bool is_any = std::any_of(planned_.begin(), planned_.end(),
                                    [this](const PlannedCell& cell) { return is_ours(cell); });
    SIMILE_CHECK(is_any || !is_chosen, ErrorKind::kUsage,
                 fmt::format("--row, --set and --rows leave nothing of the table '{}' to train",
                             table_().name));
  }

  void complete(PlannedCell& cell, size_t number, size_t count) {
    const PlannedRun own = *cell.run;
    const bool is_lent = lend_baselines(cell);
    if (!is_complete(cell)) {
      events_.info(fmt::format("run {} of {}: {}", number, count, cell.run->label));
    }
    train(cell);
    if (!is_lent || cell.outcome.state != RunOutcome::State::kFailed) return;
    cell.run = own;  // it may be the baselines that failed
    train(cell);
  }

  static bool is_complete(const PlannedCell& cell) {
    return cell.outcome.state == RunOutcome::State::kFinished &&
           (cell.outcome.has_baselines || !cell.run->with_baselines);
  }

  // Where the run that computes a set's baselines failed, the next run of the set has them too; one
  // of them, as all would fail where the baselines do.
  bool lend_baselines(PlannedCell& cell) {
    if (cell.run->with_baselines || lent_.count(cell.set) > 0) return false;
    bool has_failed = false;
    for (const PlannedCell& other : planned_) {
      if (other.set != cell.set || !other.run) continue;
      if (other.outcome.has_baselines) return false;
      has_failed = has_failed ||
                   (other.run->with_baselines && other.outcome.state == RunOutcome::State::kFailed);
    }
    if (!has_failed) return false;
    PlannedCell lent = plan_cell(cell.row, cell.set, cell.seed, true);
    if (!lent.run) return false;
    lent_.insert(cell.set);
    cell.run = std::move(lent.run);
    return true;
  }

  void train(PlannedCell& cell) {
    RunEvents events(cell.run->label, told_, events_);
    cell.outcome = complete_run(*cell.run, options().keep_models, events);
    if (cell.outcome.state == RunOutcome::State::kFailed) {
      events_.warning(fmt::format("{}: {}", cell.run->label, cell.outcome.error));
    }
  }

  void fill_cells() {
    result_.cells.assign(table_().rows.size(), std::vector<TableCell>(table_().columns.size()));
    for (const PlannedCell& cell : planned_) {
      const bool failed = cell.is_wrong || cell.outcome.state == RunOutcome::State::kFailed;
      result_.failed += failed && is_ours(cell) ? 1 : 0;
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        if (table_().columns[c].set == cell.set) add_outcome(cell, c);
      }
    }
    for (size_t row = 0; row < table_().rows.size(); ++row) {
      const TableRow& of = table_().rows[row];
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        if (!of.absent.empty()) result_.cells[row][c].problem = "not at hand";
        if (!of.baseline.empty()) fill_baseline(of, c, result_.cells[row][c]);
      }
    }
  }

  void add_outcome(const PlannedCell& planned, size_t column) {
    TableCell& cell = result_.cells[planned.row][column];
    const TableColumn& wanted = table_().columns[column];
    const auto tell = [&cell](const std::string& problem) {
      if (cell.problem.empty()) cell.problem = problem;
    };
    switch (planned.outcome.state) {
      case RunOutcome::State::kNotRun:
        tell(planned.problem.empty() ? "not run yet" : planned.problem);
        return;
      case RunOutcome::State::kRunning:
        tell("running elsewhere");
        return;
      case RunOutcome::State::kFailed:
        tell(planned.outcome.error);
        return;
      case RunOutcome::State::kFinished:
        break;
    }
    // The first report of a name is the trained model's.
    const auto is_any = [](const Report&) { return true; };
    const std::optional<double> value = read_column(wanted, planned.outcome.reports, is_any);
    if (!value) {
      tell(fmt::format("the run has no {}", fmt::join(wanted.metrics, ", ")));
      return;
    }
    cell.seeds.push_back(planned.seed);
    cell.values.push_back(*value);
    cell.folders.push_back(planned.run->folder);
    cell.start_kept += planned.outcome.start_kept ? 1 : 0;
  }

  // The baselines are in the runs of one row; an untrained model may be called by either name.
  void fill_baseline(const TableRow& row, size_t column, TableCell& cell) {
    const TableColumn& wanted = table_().columns[column];
    cell.problem = "not run yet";
    for (const PlannedCell& planned : planned_) {
      if (planned.set != wanted.set) continue;
      const std::optional<double> value =
          read_column(wanted, planned.outcome.reports, [&row](const Report& report) {
            return report.model == row.baseline ||
                   (row.baseline == "untrained" && report.model == "zero-shot");
          });
      if (!value) continue;
      cell.seeds = {planned.seed};
      cell.values = {*value};
      cell.problem.clear();
      return;
    }
  }

  void fill_judgements() {
    for (size_t c = 0; c < table_().columns.size(); ++c) {
      const JudgedOrder order = judge_order(result_, c);
      if (order.same + order.reversed > 0) result_.orders.push_back(order);
    }
    for (size_t number = 0; number < table_().claims.size(); ++number) {
      const TableClaim& claim = table_().claims[number];
      const size_t above = place_of(claim.above), below = place_of(claim.below);
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        const TableColumn& column = table_().columns[c];
        if (std::count(claim.columns.begin(), claim.columns.end(), column.label) == 0) continue;
        JudgedClaim judged =
            judge_claim(column, result_.cells[above][c], result_.cells[below][c], events_);
        judged.claim = number;
        judged.column = c;
        const auto &high = table_().rows[above].paper[c], &low = table_().rows[below].paper[c];
        if (high && low) judged.paper_difference = *high - *low;
        result_.claims.push_back(std::move(judged));
      }
    }
  }

  size_t place_of(const std::string& label) const {
    return static_cast<size_t>(table_().find_row(label) - table_().rows.data());
  }

  void write_files() const {
    make_folders(options().out);
    const std::string path = join_path(options().out, table_().name);
    write_file_atomic(path + ".txt", result_.to_text());
    write_file_atomic(path + ".md", result_.to_markdown());
    write_file_atomic(path + ".json", result_.to_json() + "\n");
    write_file_atomic(path + ".svg", result_.to_svg());
  }

  Reproduction result_;
  RowShare share_;
  EventSink& events_;
  const TableSettings* settings_ = nullptr;
  bool takes_fetched_ = false;  // data are those that were fetched, as nothing else was said
  ContentHashes hashes_;
  std::vector<PlannedCell> planned_;
  std::set<std::string> told_;
  std::set<std::string> lent_;  // sets whose baselines another run than the first was given
};

}  // namespace

void ReproduceOptions::visit(OptionVisitor& v) {
  v.field("data", data,
          path_info("folder of the data sets, each a folder of it; empty: what the recipes say, or "
                    "data, where sets are fetched to"));
  v.field("model", model, {"model that every row starts from; empty: the table's"});
  v.field("settings", settings,
          {"which of the table's settings all rows take, such as those of the paper for its own "
           "model; empty: the first"});
  v.field("runs", runs,
          {"seeds of each row, from 1; 0: 5 of them, and 3 with a limit", "seeds", 0, 1000});
  v.field("limit", limit,
          {"for a quick look: read so many examples of every set, and documents of a corpus; 0 "
           "reads all. Stages then end after two epochs",
           "examples", 0});
  v.field("rows", rows,
          {"i/n: only row i and every n-th after it, for several machines and one folder"});
  v.field("row", row, {"only the row with this label"});
  v.field("set", set, {"only on this of the table's sets"});
  v.field("out", out,
          path_info("folder of the runs; empty: runs/ and the table's name, with the model, "
                    "settings and limit where given"));
  v.field("keep_models", keep_models, {"keep the model of each run"});
}

Reproduction reproduce(const std::string& table, const ReproduceOptions& options,
                       EventSink& events) {
  return Reproducer(table, options, events).run();
}

}  // namespace simile
