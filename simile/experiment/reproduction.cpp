// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/reproduction.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/experiment/detail/judgement.h"
#include "simile/experiment/detail/table_runs.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/model/model_folder.h"
#include "simile/report/run_files.h"
#include "simile/train/evaluations.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

constexpr int64_t kRuns = 5, kQuickRuns = 3;

// The mean of the column's metrics, each of the first report chosen; none where one is missing.
std::optional<double> read_column(const TableColumn& column, const std::vector<Report>& reports,
                                  const std::function<bool(const Report&)>& is_chosen) {
  double sum = 0;
  for (const std::string& metric : column.metrics) {
    const FigureName figure = split_figure_name(metric);
    const auto found = std::find_if(reports.begin(), reports.end(), [&](const Report& report) {
      return report.name == figure.evaluation && is_chosen(report);
    });
    const double* value = found == reports.end() ? nullptr : found->find_metric(figure.metric);
    if (value == nullptr) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(column.metrics.size());
}

// The recipe's name of a baseline: reports call an untrained one that comes from `model` zero-shot.
std::string baseline_of(std::string model) {
  const std::string zero_shot = "zero-shot";
  const size_t place = model.find(zero_shot);
  if (place != std::string::npos) model.replace(place, zero_shot.size(), "untrained");
  return model;
}

// Runs from another model, with other settings or of less data do not replace those of the table. A
// model's path gives its last part and a mark of the whole, as two may end alike.
std::string default_folder(const std::string& table, const ReproduceOptions& options) {
  std::string folder = "runs/" + table;
  if (options.model.find('/') != std::string::npos) {
    std::filesystem::path path = std::filesystem::absolute(options.model).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    folder +=
        fmt::format("-{}-{}", path.filename().string(), hash_bytes(path.string()).substr(0, 6));
  } else if (!options.model.empty()) {
    folder += "-" + options.model;
  }
  if (!options.settings.empty()) folder += "-" + options.settings;
  if (!options.device.empty()) folder += "-" + options.device;
  if (options.limit > 0) folder += fmt::format("-limit-{}", options.limit);
  return folder;
}

// The largest N of the runs SET/ROW/run-N in a table's folder; 0 if there are none.
int64_t count_seeds(const std::string& folder) {
  int64_t largest = 0;
  std::error_code ignored;
  std::filesystem::recursive_directory_iterator entries(folder, ignored);
  for (; entries != std::filesystem::recursive_directory_iterator(); entries.increment(ignored)) {
    const std::string name = entries->path().filename().string();
    largest = std::max(largest, run_format::seed_folder_number(name).value_or(0));
    if (entries.depth() == 2) entries.disable_recursion_pending();
  }
  return largest;
}

class Reproducer {
 public:
  Reproducer(const std::string& table, const ReproduceOptions& options, EventSink& events)
      : events_(events) {
    result_.table = read_paper_table(find_table(table));
    result_.asked = table;
    result_.options = options;
    if (options.runs == 0) result_.options.runs = options.limit > 0 ? kQuickRuns : kRuns;
    if (options.out.empty()) result_.options.out = default_folder(table_().name, options);
    if (options.runs == 0 && options.show) choose_shown_seeds();
    result_.model = options.model.empty() ? table_().model : options.model;
    if (!result_.model.empty()) resolve_model(result_.model);  // before any run is replaced
    choose_settings();
    choose_device();
    data_ = find_table_data(table_(), options.data);
    result_.options.data = data_.folder;
  }

  void run() {
    TableRuns runs(table_(), settings_, result_.model, data_, options(), events_);
    check_evaluations(runs.list());
    if (options().show) {
      keep_columns_asked_for();
    } else {
      check_metrics(runs.list());
      runs.complete();
    }
    fill_cells(runs.list());
    if (options().intervals) fill_intervals();
    fill_judgements();
  }

  Reproduction take() { return std::move(result_); }

  const Reproduction& result() const { return result_; }

 private:
  const PaperTable& table_() const { return result_.table; }
  const ReproduceOptions& options() const { return result_.options; }

  void choose_settings() {
    const std::string& wanted = options().settings;
    std::vector<std::string> names;
    for (const TableSettings& one : table_().settings) names.push_back(one.name);
    const auto found =
        wanted.empty() ? names.begin() : std::find(names.begin(), names.end(), wanted);
    SIMILE_CHECK(wanted.empty() || found != names.end(), ErrorKind::kUsage,
                 "--settings: the table '{}' has no '{}'; it has [{}]", table_().name, wanted,
                 fmt::join(names, ", "));
    if (found == names.end()) return;
    settings_ = &result_.table.settings[static_cast<size_t>(found - names.begin())];
    result_.settings = *found;
    for (TableRow& row : result_.table.rows) {
      const auto& own = row.settings;
      if (!row.absent.empty() || own.empty()) continue;
      if (std::count(own.begin(), own.end(), *found) > 0) continue;
      row.absent = fmt::format("it is not run with the settings '{}'", *found);
      left_out_.insert(row.label);
    }
  }

  void choose_device() {
    const bool on_cpu = options().device.empty() || options().device == "cpu";
    if (on_cpu && bfloat_kernels() == nullptr && settings_ != nullptr) compute_in_fp32();
    if (options().device.empty()) return;
    for (TableSet& set : result_.table.sets) {
      apply_override(set.recipe, "device=" + options().device);
    }
  }

  // Show as many seeds as were trained.
  void choose_shown_seeds() {
    const int64_t seeds = count_seeds(options().out);
    if (seeds > 0) result_.options.runs = seeds;
  }

  // A table of bf16 runs on every processor.
  void compute_in_fp32() {
    for (auto& [key, value] : settings_->values.all.members) {
      if (key != "compute" || value.scalar != "bf16") continue;
      value.scalar = "fp32";
      events_.warning(
          "this processor has no products of bf16, which the table asks for: its runs compute in "
          "fp32, and their last digits differ from those of other processors");
    }
  }

  // Keeps the columns of the requested sets.
  void keep_columns_asked_for() {
    const std::vector<std::string>& sets = options().set;
    if (sets.empty()) return;
    PaperTable& table = result_.table;
    for (size_t c = table.columns.size(); c-- > 0;) {
      if (std::count(sets.begin(), sets.end(), table.columns[c].set) > 0) continue;
      const auto place = static_cast<std::ptrdiff_t>(c);
      table.columns.erase(table.columns.begin() + place);
      for (TableRow& row : table.rows) row.paper.erase(row.paper.begin() + place);
    }
  }

  // Rejects columns and baselines that no run can have before any run is trained.
  void check_evaluations(const std::vector<TableRun>& runs) const {
    std::map<std::string, std::set<std::string>> evaluations;  // by set
    std::set<std::string> baselines;
    for (const TableRun& run : runs) {
      if (!run.run) continue;
      const TrainOptions& recipe = run.run->options;
      std::set<std::string>& names = evaluations[run.set];
      for (const auto& evaluation : recipe.evaluations) names.insert(evaluation.name);
      for (const auto& test : recipe.tests) names.insert(test.name);
      if (recipe.stages.back().selection.metric.size() > 1) names.insert("mean");
      for (const std::string& baseline : recipe.baselines) baselines.insert(baseline);
    }
    if (evaluations.empty()) return;  // nothing could be planned
    for (const TableColumn& column : table_().columns) {
      const auto names = evaluations.find(column.set);
      if (names == evaluations.end()) continue;
      for (const std::string& metric : column.metrics) {
        check_named(
            fmt::format("the column '{}': the recipes of the set '{}'", column.label, column.set),
            "evaluation", split_figure_name(metric).evaluation, names->second);
      }
    }
    baselines.erase("hybrid");  // of the trained model, and so none
    for (const TableRow& row : table_().rows) {
      if (row.baseline.empty() || !row.absent.empty()) continue;
      check_named(fmt::format("the row '{}': the recipes", row.label), "baseline",
                  baseline_of(row.baseline), baselines);
    }
  }

  // By the first recipe of each set. Rows report problems of its data; each fold reads it again.
  void check_metrics(const std::vector<TableRun>& runs) const {
    std::set<std::string> checked;
    for (const TableRun& run : runs) {
      const bool is_wanted = run.run && run.is_ours;
      if (!is_wanted || run.outcome.state == RunOutcome::State::kFinished) continue;
      if (run.run->options.folds > 0 || !checked.insert(run.set).second) continue;
      std::vector<EvaluationOptions> all = run.run->options.evaluations;
      const std::vector<EvaluationOptions>& tests = run.run->options.tests;
      all.insert(all.end(), tests.begin(), tests.end());
      std::optional<Evaluations> evaluations;
      try {
        evaluations.emplace(all, silent_events());
      } catch (const Error&) {
        continue;
      }
      for (const TableColumn& column : table_().columns) {
        if (column.set != run.set) continue;
        for (const std::string& metric : column.metrics) {
          if (split_figure_name(metric).evaluation == "mean") continue;  // over evaluations
          try {
            evaluations->check_metrics({metric});
          } catch (const Error& error) {
            throw_error(ErrorKind::kRecipe, "{}: the column '{}': {}", table_().path, column.label,
                        error.what());
          }
        }
      }
    }
  }

  void check_named(const std::string& who, const char* kind, const std::string& name,
                   const std::set<std::string>& names) const {
    SIMILE_CHECK(names.count(name) > 0, ErrorKind::kRecipe, "{}: {} have no {} '{}'; they have {}",
                 table_().path, who, kind, name, fmt::join(names, ", "));
  }

  void fill_cells(const std::vector<TableRun>& runs) {
    result_.cells.assign(table_().rows.size(), std::vector<TableCell>(table_().columns.size()));
    for (const TableRun& run : runs) {
      bool has_failed = run.is_wrong || run.outcome.state == RunOutcome::State::kFailed;
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        if (table_().columns[c].set == run.set) has_failed = !add_outcome(run, c) || has_failed;
      }
      result_.failed += has_failed && run.is_ours ? 1 : 0;
      result_.at_hand += run.run && run.is_ours ? 1 : 0;
    }
    for (size_t row = 0; row < table_().rows.size(); ++row) {
      const TableRow& of = table_().rows[row];
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        if (!of.absent.empty()) {
          const bool is_left_out = left_out_.count(of.label) > 0;
          result_.cells[row][c].problem = is_left_out ? "not run" : "not at hand";
        }
        if (!of.baseline.empty()) fill_baseline(runs, of, c, result_.cells[row][c]);
      }
    }
  }

  bool is_run_on(size_t row, const std::string& set) const {
    const std::vector<std::string>& sets = table_().rows[row].sets;
    return std::count(sets.begin(), sets.end(), set) > 0;
  }

  // Whether it did not fail.
  bool add_outcome(const TableRun& run, size_t column) {
    TableCell& cell = result_.cells[run.row][column];
    const TableColumn& wanted = table_().columns[column];
    const auto tell = [&cell](const std::string& problem, bool has_failed) {
      if (cell.problem.empty() || (has_failed && !cell.has_failed)) cell.problem = problem;
      cell.has_failed = cell.has_failed || has_failed;
      return !has_failed;
    };
    switch (run.outcome.state) {
      case RunOutcome::State::kNotRun:
        return tell(run.problem.empty() ? "not run yet" : run.problem, run.is_wrong);
      case RunOutcome::State::kRunning:
        return tell("running elsewhere", false);
      case RunOutcome::State::kFailed:
        return tell(run.outcome.error, true);
      case RunOutcome::State::kFinished:
        break;
    }
    // The first report of a name is the trained model's.
    const auto is_any = [](const Report&) { return true; };
    const std::optional<double> value = read_column(wanted, run.outcome.reports, is_any);
    if (!value)
      return tell(fmt::format("the run has no {}", fmt::join(wanted.metrics, ", ")), true);
    cell.seeds.push_back(run.seed);
    cell.values.push_back(*value);
    cell.folders.push_back(run.run->folder);
    const SelectionOptions& selection = run.run->options.stages.back().selection;
    const bool is_on_dev =  // losses are in no report
        !selection.metric.empty() &&
        std::none_of(selection.metric.begin(), selection.metric.end(), is_loss_metric);
    if (table_().best_of_seeds && is_on_dev) {
      const double on_dev = selection_value(run.outcome.reports, selection.metric);
      const bool is_lower = selection_rules(selection).direction == "min";
      if (!cell.best || (is_lower ? on_dev < cell.best_on_dev : on_dev > cell.best_on_dev)) {
        cell.best = *value;
        cell.best_on_dev = on_dev;
      }
    }
    cell.start_kept += run.outcome.start_kept ? 1 : 0;
    return true;
  }

  // The baselines are in the runs of one row; an untrained model may be called by either name. A
  // start with random weights has a figure for each seed.
  void fill_baseline(const std::vector<TableRun>& runs, const TableRow& row, size_t column,
                     TableCell& cell) const {
    const TableColumn& wanted = table_().columns[column];
    const TableSet& set = table_().find_set(wanted.set);
    cell.problem = data_.has(set) ? "not run yet" : "not at hand: " + set.folder;
    for (const TableRun& run : runs) {
      if (run.set != wanted.set || !run.run) continue;
      if (std::count(cell.seeds.begin(), cell.seeds.end(), run.seed) > 0) continue;
      const std::optional<double> value =
          read_column(wanted, run.outcome.reports, [&row](const Report& report) {
            return baseline_of(report.model) == baseline_of(row.baseline);
          });
      if (!value) continue;
      cell.seeds.push_back(run.seed);
      cell.values.push_back(*value);
      cell.problem.clear();
      cell.is_per_seed = depends_on_seed(row.baseline, run.run->options);
      if (!cell.is_per_seed) return;
    }
  }

  void fill_intervals() {
    const std::vector<TableColumn>& columns = table_().columns;
    const auto rows = static_cast<int64_t>(table_().rows.size());
    DrawnFigures drawn;
    for (size_t row = 0; row < table_().rows.size(); ++row) {
      for (size_t c = 0; c < columns.size(); ++c) {
        TableCell& cell = result_.cells[row][c];
        cell.interval = cell_interval(columns[c], cell, drawn, cell.without_interval);
      }
      events_.progress({"intervals", static_cast<int64_t>(row) + 1, rows, "rows", {}});
    }
  }

  void fill_judgements() {
    for (size_t c = 0; c < table_().columns.size(); ++c) {
      const JudgedOrder order = judge_order(result_, c);
      if (order.same + order.reversed > 0) result_.orders.push_back(order);
    }
    for (size_t number = 0; number < table_().claims.size(); ++number) {
      const TableClaim& claim = table_().claims[number];
      if (left_out_.count(claim.above) + left_out_.count(claim.below) > 0) continue;
      const auto place_of = [&](const std::string& label) {
        return static_cast<size_t>(table_().find_row(label) - table_().rows.data());
      };
      const size_t above = place_of(claim.above), below = place_of(claim.below);
      for (size_t c = 0; c < table_().columns.size(); ++c) {
        const TableColumn& column = table_().columns[c];
        if (!is_run_on(above, column.set) || !is_run_on(below, column.set)) continue;
        JudgedClaim judged =
            test_claim(column, result_.cells[above][c], result_.cells[below][c], events_);
        judged.claim = number;
        judged.column = c;
        const auto &high = table_().rows[above].paper[c], &low = table_().rows[below].paper[c];
        if (high && low) judged.paper_difference = *high - *low;
        result_.claims.push_back(std::move(judged));
      }
    }
  }

  Reproduction result_;
  EventSink& events_;
  TableSettings* settings_ = nullptr;
  std::set<std::string> left_out_;  // labels of rows that are not run with the settings
  TableData data_;
};

// In one folder, the runs of one table would replace those of the other.
void check_folders(const std::vector<std::unique_ptr<Reproducer>>& all) {
  std::map<std::string, std::string> tables;  // by folder
  for (const auto& one : all) {
    const Reproduction& result = one->result();
    const std::string folder = std::filesystem::weakly_canonical(result.options.out).string();
    const auto [found, is_new] = tables.emplace(folder, result.asked);
    SIMILE_CHECK(is_new, ErrorKind::kUsage,
                 "the tables '{}' and '{}' would both have their runs in '{}'; give the files "
                 "different names, or run one at a time, each with its own --output",
                 found->second, result.asked, result.options.out);
  }
}

void write_files(const Reproduction& result) {
  make_folders(result.options.out);
  const std::string path = join_path(result.options.out, result.table.name);
  write_file_atomic(path + ".txt", result.to_text());
  write_file_atomic(path + ".md", result.to_markdown());
  write_file_atomic(path + ".json", result.to_json() + "\n");
  write_file_atomic(path + ".svg", result.to_svg());
}

}  // namespace

void ReproduceOptions::visit(OptionVisitor& v) {
  v.field("data", data,
          path_info("folder of the data sets' folders; empty: those of the recipes, or data"));
  v.field("model", model, {"model from which every row starts; empty: the table's"});
  v.field("settings", settings, {"which of the table's settings all rows take; empty: the first"});
  v.field("device", device, {"device of every run, such as cuda; empty: that of the recipes"});
  v.field(
      "runs", runs,
      {"seeds of each row, from 1; 0: 5 of them, 3 with a limit, and with `--show` those there are",
       "seeds", 0, 1000});
  v.field("limit", limit, quick_look_info());
  v.field("rows", rows,
          {"i/n: only row i and every n-th after it, for several machines and one folder"});
  v.field("row", row, conditions_info("only the row with this label; may be given several times"));
  v.field("set", set, {"only on these sets of the table; with `--show` only their columns"});
  v.field("out", out,
          path_info("folder of the runs; empty: runs/ and the table's name, with the model, "
                    "settings, device and limit where given")
              .named("--output,--out"));
  v.field("keep_models", keep_models, {"keep the model of each run"});
  v.field("show", show, {"show the table of finished runs; train and write nothing"});
  v.field("intervals", intervals,
          {"also the 95 % bootstrap interval of each trained figure over the test examples"});
}

std::vector<Reproduction> reproduce(const std::vector<std::string>& tables,
                                    const ReproduceOptions& options, EventSink& events) {
  std::vector<std::unique_ptr<Reproducer>> all;  // read before any run is trained
  for (const std::string& table : tables) {
    ReproduceOptions own = options;
    if (tables.size() > 1 && !options.out.empty()) {
      own.out = join_path(options.out, std::filesystem::path(table).stem().string());
    }
    all.push_back(std::make_unique<Reproducer>(table, own, events));
  }
  check_folders(all);
  std::vector<Reproduction> results;
  for (const auto& one : all) {
    one->run();
    results.push_back(one->take());
  }
  judge_claims(results);
  if (!options.show) std::for_each(results.begin(), results.end(), write_files);
  return results;
}

}  // namespace simile
