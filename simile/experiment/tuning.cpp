// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/tuning.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/experiment/detail/judgement.h"
#include "simile/experiment/planned_run.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

constexpr size_t kMinForSurface = 4, kMaxFailures = 3;
const StopRule kNever = [](const SelectedValues&) { return false; };

// Notes the values of a trial and ends it where a rule says so.
class TrialEvents : public RunEvents {
 public:
  TrialEvents(Trial& trial, std::string path, std::string search, std::string stage, StopRule rule,
              const std::string& label, std::set<std::string>& told, EventSink& events)
      : RunEvents(label, told, events),
        trial_(trial),
        path_(std::move(path)),
        search_(std::move(search)),
        stage_(std::move(stage)),
        rule_(std::move(rule)) {}

  void selected(const SelectedValue& value) override {
    if (value.stage != stage_) return;
    auto& values = trial_.values;
    // A run that continues after a kill may reach a value again.
    values.erase(std::remove_if(values.begin(), values.end(),
                                [&](const SelectedValue& one) { return one.step >= value.step; }),
                 values.end());
    values.push_back(value);
    write_trial(path_, search_, trial_);
    stops_ = is_early(value) && rule_(values);
  }

  void progress(const Progress& progress) override {
    RunEvents::progress(progress);
    if (stops_) throw Error(ErrorKind::kInterrupted, "the trial is ended");
  }

  bool stops() const { return stops_; }

 private:
  Trial& trial_;
  std::string path_, search_, stage_;
  StopRule rule_;
  bool stops_ = false;
};

// Sets the values that a setting's conditions require; the first if several choices do.
void put_parents(const SearchSpace& space, size_t setting, SearchPoint& point) {
  for (const SearchCondition& condition : space.settings()[setting].conditions) {
    put_parents(space, condition.parent, point);
    point[condition.parent] = static_cast<double>(condition.choices[0]);
  }
}

std::string describe_recipe(const ConfigNode& recipe, ContentHashes& hashes) {
  TrainOptions options;
  read_options(recipe, options);
  return recipe_fingerprint(recipe, find_inputs(options, hashes));
}

std::string describe_space(const TunePlan& plan, ContentHashes& hashes) {
  std::string text;
  for (size_t i = 0; i < plan.space.size(); ++i) {
    const SearchSetting& setting = plan.space.settings()[i];
    text += fmt::format("{} {} {} {} {} {}", setting.name, static_cast<int>(setting.kind),
                        setting.low, setting.high, setting.is_log, setting.grid_points);
    for (size_t choice = 0; choice < plan.tuned[i].choices.size(); ++choice) {
      SearchPoint point(plan.space.size());
      put_parents(plan.space, i, point);
      point[i] = static_cast<double>(choice);
      text += " " + describe_recipe(plan.recipe_at(point), hashes);
    }
    for (const SearchCondition& condition : setting.conditions) {
      text += fmt::format(" when {} {}", condition.parent, fmt::join(condition.choices, ","));
    }
    text += "\n";
  }
  return text;
}

class Tuner {
 public:
  Tuner(const std::string& recipe, const std::vector<std::string>& overrides,
        const TuneOptions& options, EventSink& events)
      : events_(events),
        scheduler_(events),
        result_{read_tune_plan(recipe, overrides), options, {}, {}, {}, 0, {}, {}, {}} {
    if (options.trials > 0) settings().trials = options.trials;
    if (options.runs >= 0) settings().runs = options.runs;
    if (options.out.empty()) {
      result_.options.out = "runs/tune-" + plan().name;
      if (options.limit > 0) result_.options.out += fmt::format("-limit-{}", options.limit);
    }
    const ConfigNode own = finish_recipe(plan().recipe, plan().recipe.source);
    read_options(own, options_);
    judge_ = TrialJudge(plan().lower_is_better);
    trials_ = plan().default_trials();
    claim_folder(own);
  }

  Tuning run() {
    if (settings().method == "halving") {
      search_by_halving();
    } else {
      search_by_proposals();
    }
    choose_best();
    measure_surface();
    test_best();
    write_files();
    return std::move(result_);
  }

 private:
  const TunePlan& plan() const { return result_.plan; }
  TuneSettings& settings() { return result_.plan.settings; }
  const TuneSettings& settings() const { return result_.plan.settings; }
  const std::string& out() const { return result_.options.out; }
  std::vector<Trial>& trials() { return result_.trials; }

  // A folder belongs to one search, because its settings decide its proposals.
  void claim_folder(const ConfigNode& own) {
    TuneSettings asked = settings();
    asked.runs = 0;
    asked.trials = asked.method == "halving" ? trials_ : 0;
    search_ = hash_bytes(fmt::format("{} {} {} {}", describe_recipe(own, hashes_),
                                     describe_space(plan(), hashes_), options_to_json(asked),
                                     result_.options.limit));
    make_folders(join_path(out(), "trials"));
    const std::string path = join_path(out(), "search");
    if (!file_exists(path)) write_file_atomic(path, search_ + "\n");
    SIMILE_CHECK(read_file(path) == search_ + "\n", ErrorKind::kUsage,
                 "'{}' holds another search: recipe, data, space, limit or what `tune` "
                 "says (method, metric, initial, stopping, reduction, parallel, seed) "
                 "were others; give another --output, or remove the folder",
                 out());
  }

  std::string folder_of(int64_t number) const {
    return fmt::format("{}/trials/trial-{}", out(), number);
  }
  std::string journal_of(int64_t number) const { return folder_of(number) + ".point.json"; }

  // The trials that the search knew when a batch was proposed: those of the batches before.
  std::vector<Observation> observations(size_t count) const {
    std::vector<Observation> all;
    for (size_t i = 0; i < count; ++i) {
      const Trial& trial = result_.trials[i];
      all.push_back({trial.point, trial.value ? judge_.cost(*trial.value) : std::nan("")});
    }
    return all;
  }

  // Adds the next trial; false where there are no more points.
  bool add_trial(size_t known) {
    const auto number = static_cast<int64_t>(trials().size()) + 1;
    std::optional<Trial> trial = read_noted(number);
    if (!trial) {
      trial = propose_trial(number, known);
      if (!trial) return false;
      note_proposal(*trial);
    }
    trials().push_back(std::move(*trial));
    return true;
  }

  // The note of this or another process about a trial.
  std::optional<Trial> read_noted(int64_t number) const {
    std::optional<Trial> trial = read_trial(journal_of(number), search_);
    if (trial) trial->folder = folder_of(number);
    if (trial) trial->value = judge_.result_of(*trial);
    return trial;
  }

  // The first proposal that a process notes is what all processes have.
  void note_proposal(Trial& trial) const {
    for (;;) {
      const FileLock lock = lock_run(folder_of(trial.number));
      if (reload(trial)) return;
      if (lock.is_held()) {
        remove_half_written(journal_of(trial.number));
        return write_trial(journal_of(trial.number), search_, trial);
      }
      scheduler_.wait();
    }
  }

  std::optional<Trial> propose_trial(int64_t number, size_t known) const {
    Trial trial;
    trial.number = number;
    trial.folder = folder_of(number);
    if (number == 1 && plan().own && settings().method != "grid") {
      trial.origin = "recipe";
      trial.point = *plan().own;
      return trial;
    }
    const bool is_halving = settings().method == "halving";
    const ProposalOptions options{settings().method, is_halving ? trials_ : settings().initial,
                                  static_cast<uint64_t>(settings().seed)};
    std::vector<SearchPoint> pending;
    for (size_t i = known; i < result_.trials.size(); ++i)
      pending.push_back(result_.trials[i].point);
    const std::optional<SearchPoint> point =
        propose(plan().space, options, number - 1, observations(known), pending);
    if (!point) return std::nullopt;
    const bool is_initial =
        is_halving || (settings().method == "gp" && number <= settings().initial);
    trial.origin = is_initial ? "initial" : settings().method;
    trial.point = *point;
    return trial;
  }

  void search_by_proposals() {
    while (static_cast<int64_t>(trials().size()) < trials_) {
      const size_t known = trials().size();
      const auto left = static_cast<size_t>(trials_) - known;
      const size_t wanted = std::min(left, static_cast<size_t>(settings().parallel));
      while (trials().size() < known + wanted && add_trial(known)) {
      }
      if (trials().size() == known) {
        events_.info(fmt::format("all {} points of the space were tried", known));
        return;
      }
      std::vector<size_t> batch;
      for (size_t i = known; i < trials().size(); ++i) batch.push_back(i);
      // A trial is compared with those of earlier batches.
      const StopRule median = [this, known](const SelectedValues& values) {
        return judge_.is_hopeless(values, result_.trials.data(), known);
      };
      complete_trials(batch, settings().stopping == "none" ? kNever : median, false);
      const bool have_all_failed =
          std::all_of(trials().begin(), trials().end(),
                      [](const Trial& trial) { return trial.state == Trial::State::kFailed; });
      // If the first trials all fail, the fault is in the recipe, not in a trial.
      SIMILE_CHECK(!have_all_failed || trials().size() < kMaxFailures, ErrorKind::kFailed,
                   "the first {} trials failed, so the search ends; the first said: {}",
                   trials().size(), trials()[0].error);
    }
  }

  void search_by_halving() {
    while (static_cast<int64_t>(trials().size()) < trials_ && add_trial(trials().size())) {
    }
    std::vector<size_t> alive;
    for (size_t i = 0; i < trials().size(); ++i) alive.push_back(i);
    const auto factor = static_cast<double>(settings().reduction);
    double part = 1;
    for (double left = static_cast<double>(alive.size()); left >= factor; left /= factor) {
      part /= factor;
    }
    first_part_ = part;
    for (; is_early({"", 0, part, 0}); part *= factor) {
      complete_trials(alive, stop_at(part), true);
      alive = promote(alive, part);
    }
    complete_trials(alive, kNever, false);
  }

  std::vector<size_t> promote(std::vector<size_t> alive, double part) {
    const auto value = [&](size_t i) {
      const Trial& trial = trials()[i];
      // One that failed later was as good until then.
      const bool has_failed = trial.state == Trial::State::kFailed;
      if (has_failed && !has_stopped(trial.values, stop_at(part))) return std::nan("");
      return judge_.best_of(trial.values, count_until(trial.values, part)).value_or(std::nan(""));
    };
    std::stable_sort(alive.begin(), alive.end(),
                     [&](size_t a, size_t b) { return judge_.is_better(value(a), value(b)); });
    const size_t kept =
        std::max<size_t>(1, alive.size() / static_cast<size_t>(settings().reduction));
    const size_t dropped = alive.size() - std::min(kept, alive.size());
    scheduler_.complete_all(
        dropped, [&](size_t i) { return drop_trial(trials()[alive[kept + i]]); },
        Scheduler::Others::kAwait);
    alive.resize(alive.size() - dropped);
    return alive;
  }

  // False where another process is at it.
  bool drop_trial(Trial& trial) {
    const FileLock lock = lock_run(trial.folder);
    if (!lock.is_held()) return false;
    reload(trial);
    if (trial.state != Trial::State::kOpen) return true;
    end_trial(trial, Trial::State::kStopped);
    abandon_run(plan_trial(trial));
    return true;
  }

  PlannedRun plan_trial(const Trial& trial) {
    return plan_run(plan().recipe_at(trial.point),
                    {options_.seed, result_.options.limit, false, false}, trial.folder,
                    fmt::format("{} trial {}", plan().name, trial.number), hashes_);
  }

  // Until each has ended, or where `pauses` come as far as the rule says, here or elsewhere.
  void complete_trials(const std::vector<size_t>& numbers, const StopRule& rule, bool pauses) {
    scheduler_.complete_all(
        numbers.size(),
        [&](size_t i) { return complete_trial(trials()[numbers[i]], rule, pauses); },
        Scheduler::Others::kAwait);
  }

  // Takes the note that another process may have written since; false if there is none.
  bool reload(Trial& trial) const {
    const std::optional<Trial> noted = read_noted(trial.number);
    if (noted) trial = *noted;
    return noted.has_value();
  }

  void end_trial(Trial& trial, Trial::State state) const {
    trial.state = state;
    trial.value = judge_.result_of(trial);
    write_trial(journal_of(trial.number), search_, trial);
  }

  // False where another process trains it.
  bool complete_trial(Trial& trial, const StopRule& rule, bool pauses) {
    reload(trial);
    if (trial.state != Trial::State::kOpen) return true;
    if (pauses && has_stopped(trial.values, rule)) return true;
    const FileLock lock = lock_run(trial.folder);
    if (!lock.is_held()) return false;
    remove_half_written(journal_of(trial.number));
    reload(trial);  // what the process noted that had it before
    return trial.state != Trial::State::kOpen || train_trial(trial, rule, pauses, lock);
  }

  bool train_trial(Trial& trial, const StopRule& rule, bool pauses, const FileLock& lock) {
    if (has_stopped(trial.values, rule)) return stop(trial, pauses);
    std::vector<std::string> parts;
    for (size_t i = 0; i < trial.point.size(); ++i) {
      if (!trial.point[i]) continue;
      parts.push_back(
          fmt::format("{} {}", result_.setting_label(i), plan().show_value(i, trial.point[i])));
    }
    scheduler_.info_once(
        fmt::format("trial {} of {}: {}", trial.number, trials_, fmt::join(parts, ", ")));
    std::optional<PlannedRun> run;
    try {
      run = plan_trial(trial);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kRecipe) throw;
      return fail(trial, error.what());  // values that are good alone but not together
    }
    const StageOptions& last = run->options.stages.back();  // a choice may bring its own stages
    trial.keeps_best = last.selection.keeps_best();
    TrialEvents events(trial, journal_of(trial.number), search_, last.name, rule, run->label,
                       scheduler_.told(), events_);
    RunOutcome outcome;
    try {
      outcome = complete_run(*run, false, lock, events);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted || !events.stops()) throw;
      return stop(trial, pauses);
    }
    if (outcome.state == RunOutcome::State::kFailed) return fail(trial, outcome.error);
    if (options_.folds > 0) {  // the mean over the folds, at their end
      trial.values = {{last.name, 1, 1, selection_value(outcome.reports, settings().metric)}};
    }
    end_trial(trial, Trial::State::kFinished);
    events_.info(fmt::format("trial {}: {} {}", trial.number, result_.metric_name(),
                             trial.value ? result_.show(*trial.value) : "none"));
    return true;
  }

  bool stop(Trial& trial, bool pauses) {
    if (pauses) return true;
    end_trial(trial, Trial::State::kStopped);
    abandon_run(plan_trial(trial));
    events_.info(fmt::format("trial {} ended early: {} {}", trial.number, result_.metric_name(),
                             trial.value ? result_.show(*trial.value) : "none"));
    return true;
  }

  bool fail(Trial& trial, const std::string& error) {
    trial.error = error;
    end_trial(trial, Trial::State::kFailed);
    events_.warning(fmt::format("trial {} failed: {}", trial.number, error));
    return true;
  }

  void choose_best() {
    for (size_t i = 0; i < trials().size(); ++i) {
      const Trial& trial = trials()[i];
      if (trial.state != Trial::State::kFinished || !trial.value) continue;
      const bool is_best =
          !result_.best || judge_.is_better(*trial.value, *trials()[*result_.best].value);
      if (is_best) result_.best = i;
    }
    if (!result_.best) {
      const auto failed = std::find_if(trials().begin(), trials().end(), [](const Trial& trial) {
        return trial.state == Trial::State::kFailed;
      });
      throw Error(ErrorKind::kFailed,
                  failed == trials().end()
                      ? "no trial has a finite value of the metric"
                      : fmt::format("no trial was trained to its end; trial {} failed: {}",
                                    failed->number, failed->error));
    }
    ConfigNode best = plan().recipe_at(trials()[*result_.best].point);
    result_.best_recipe = recipe_to_yaml(best, out());
  }

  // Halving compares the values after its first part, which all trials have.
  void measure_surface() {
    std::vector<Observation> measured = observations(trials().size());
    if (settings().method == "halving") {
      for (size_t i = 0; i < measured.size(); ++i) {
        const auto& values = trials()[i].values;
        if (trials()[i].state == Trial::State::kFailed) continue;  // the worst
        const auto value = judge_.best_of(values, count_until(values, first_part_));
        measured[i].cost = value ? judge_.cost(*value) : std::nan("");
      }
    }
    const auto count = std::count_if(measured.begin(), measured.end(),
                                     [](const auto& one) { return std::isfinite(one.cost); });
    if (static_cast<size_t>(count) < kMinForSurface) return;
    const auto seed = static_cast<uint64_t>(settings().seed);
    const Surrogate surrogate(plan().space, measured, {}, seed);
    result_.noise = surrogate.noise();
    result_.effects = measure_effects(plan().space, surrogate, seed);
    for (SettingEffect& effect : result_.effects) {
      for (double& mean : effect.means) mean = judge_.cost(mean);  // its own inverse
    }
  }

  // Trains both settings with each seed of the tests, unless they are one.
  void test_best() {
    const Trial& trial = trials()[*result_.best];
    const ConfigNode recipe = finish_recipe(plan().recipe, plan().recipe.source);
    std::vector<PlannedRun> runs;  // of a seed the recipe's, then the best setting's
    for (int64_t i = 1; i <= settings().runs; ++i) {
      result_.seeds.push_back(options_.seed + i);
      runs.push_back(plan_test(recipe, "recipe", i));
      runs.push_back(
          trial.origin == "recipe"
              ? runs.back()
              : plan_test(plan().recipe_at(trial.point), fmt::format("trial-{}", trial.number), i));
    }
    std::vector<RunOutcome> outcomes(runs.size());
    scheduler_.complete_all(
        runs.size(),
        [&](size_t i) {
          outcomes[i] = read_outcome(runs[i]);
          if (outcomes[i].state != RunOutcome::State::kFinished) {
            scheduler_.info_once("test: " + runs[i].label);
            outcomes[i] = scheduler_.complete(runs[i], false);
          }
          return outcomes[i].state != RunOutcome::State::kRunning;
        },
        Scheduler::Others::kAwait);
    result_.tests = compare_tests(options_, outcomes);
  }

  PlannedRun plan_test(const ConfigNode& recipe, const std::string& name, int64_t number) {
    const int64_t seed = options_.seed + number;
    return plan_run(recipe, {seed, result_.options.limit, false, true},
                    fmt::format("{}/tests/{}/run-{}", out(), name, number),
                    fmt::format("{} {}, seed {}", plan().name, name, seed), hashes_);
  }

  void write_files() const {
    const Trial& best = result_.trials[*result_.best];
    const std::string head = fmt::format(
        "# Trial {} of `simile tune`: {} {} on {}, of {} trials.\n", best.number,
        result_.metric_name(), result_.show(*best.value), "the evaluations", result_.trials.size());
    write_file_atomic(join_path(out(), "best.yaml"), head + result_.best_recipe);
    const std::string path = join_path(out(), "tune");
    write_file_atomic(path + ".txt", result_.to_text());
    write_file_atomic(path + ".md", result_.to_markdown());
    write_file_atomic(path + ".json", result_.to_json() + "\n");
    write_file_atomic(path + ".svg", result_.to_svg());
  }

  EventSink& events_;
  Scheduler scheduler_;
  Tuning result_;
  TrainOptions options_;  // of the recipe's own values
  std::string search_;
  TrialJudge judge_;
  int64_t trials_ = 0;
  double first_part_ = 1;
  ContentHashes hashes_;
};

}  // namespace

void TuneOptions::visit(OptionVisitor& v) {
  v.field("trials", trials, {"trials of the search; 0: as the recipe says", "trials", 0, 1e5});
  v.field("runs", runs,
          {"seeds to train and test the best setting and the recipe's with; -1: as the recipe says",
           "seeds", -1, 1000});
  v.field("limit", limit, quick_look_info());
  v.field("out", out,
          path_info("folder of the search; empty: runs/tune-NAME").named("--output,--out"));
}

Tuning search_settings(const std::string& recipe, const std::vector<std::string>& overrides,
                       const TuneOptions& options, EventSink& events) {
  return Tuner(recipe, overrides, options, events).run();
}

std::string tune_reference() {
  TuneSettings settings;
  return options_to_markdown(settings, "`tune` in a recipe (`simile tune`), beside `space`");
}

}  // namespace simile
