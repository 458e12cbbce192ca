// SPDX-License-Identifier: Apache-2.0
#include "simile/train/trainer.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "simile/core/error.h"
#include "simile/model/fingerprint.h"
#include "simile/train/batch_feed.h"
#include "simile/train/data_review.h"
#include "simile/train/evaluations.h"
#include "simile/train/mined_negatives.h"
#include "simile/train/run_data.h"
#include "simile/train/run_folder.h"
#include "simile/train/seeds.h"
#include "simile/train/selection.h"
#include "simile/train/stage.h"
#include "simile/train/start_model.h"
#include "simile/train/state_store.h"
#include "simile/train/train_state.h"

namespace simile {
namespace {

using Clock = std::chrono::steady_clock;

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, const std::string& folder, bool resume, bool overwrite,
              EventSink& events)
      : options_(options),
        events_(events),
        recipe_(options_to_json(options_)),
        start_(load_start_model(options, events)),
        weights_(start_.settings, start_.heads, choose_placement(options.engine, options.device)),
        evaluations_(options.evaluations, events),
        tests_(options.tests, events),
        data_(read_data()),
        folder_(folder, resume, overwrite),
        states_(folder_.states_path(), options.save.keep_states) {
    weights_.assign(start_.weights);
    state_.temperatures = start_.settings.temperatures;
    state_.data = fingerprint_data();
    resume ? restore() : folder_.remove_old_run();
    folder_.write_run(recipe_);
  }

  TrainResult run() {
    const auto begin = Clock::now();
    try {
      while (state_.stage < static_cast<int64_t>(options_.stages.size())) run_stage();
      save();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) stop(error);
      throw;
    }
    return finish(begin);
  }

 private:
  std::vector<std::vector<ObjectiveData>> read_data() {
    auto data = read_run_data(options_, start_, events_);
    review_run_data(options_, data, evaluations_, tests_, events_);
    return data;
  }

  // Of all that the stages train on.
  std::string fingerprint_data() const {
    std::map<const TrainingSet*, std::string> known;  // objectives share sets
    std::string all;
    for (const auto& stage : data_) {
      for (const ObjectiveData& objective : stage) {
        const TrainingSet* set = objective.train.examples.get();
        std::string& fingerprint = known[set];
        if (fingerprint.empty()) fingerprint = fingerprint_examples(*set);
        all += fingerprint;
      }
    }
    return hash_bytes(all);
  }

  // The training loop. state_ always tells exactly what was done, so that an interruption between
  // any two lines can be saved and resumed.
  void run_stage() {
    const StageOptions& options = options_.stages[stage_number()];
    if (state_.step == 0) take_weights(options.from);
    NegativeMiner miner(options_, stage_number(), start_, weights_, folder_, data_[stage_number()],
                        events_);
    miner.begin_stage(state_);
    open_teachers(options_, stage_number(), start_, folder_, data_[stage_number()], events_);
    stage_ = std::make_unique<Stage>(
        options,
        TrainedModel{weights_, start_.tokenizer, start_.settings, options_.drop_head, seed()},
        data_[stage_number()], events_);
    Stage& stage = *stage_;
    EarlyStop selection(selection_rules(options.selection));
    resume_stage(stage, selection);
    release_copies();
    BatchFeed feed(stage, state_, [&](size_t objective, int64_t epoch) {
      if (!miner.is_due(objective, epoch)) return;
      stage.optimizer().flush_rows();
      miner.mine(objective, epoch);
    });
    for (;;) {
      if (is_evaluation_due(stage, options.selection)) {
        evaluate(stage, options.selection, selection);
        save();
      }
      if (state_.step == stage.total_steps() || selection.should_stop()) break;
      const StepResult result = stage.step(state_.step, feed.next(options.accumulation));
      ++state_.step;
      folder_.log_step(stage_name(), state_.step, epochs_done(stage), result);
      show_progress(stage, result);
      if (is_save_due()) save();
    }
    end_stage(stage);
  }

  // Before a stage's first step: `from` of its options.
  void take_weights(const std::string& from) {
    if (from == "start") {
      weights_.assign(start_.weights);
      state_.temperatures = start_.settings.temperatures;
    } else if (find_stage(options_, from, stage_number()) >= 0) {
      KeptStage kept = folder_.read_stage(from);
      weights_.assign(kept.weights);
      state_.temperatures = std::move(kept.temperatures);
    }
  }

  void resume_stage(Stage& stage, EarlyStop& selection) {
    if (state_.step == 0) {
      for (Objective& objective : stage.objectives()) {
        if (objective.loss().start_from(state_.temperatures) == 0) continue;
        events_.info(
            fmt::format("stage '{}': the temperature of {} goes on from where it was trained",
                        stage_name(), objective.options().loss.name));
      }
    }
    if (state_.step == 0 && state_.evaluated_step < 0) return;
    selection.load_state(state_.selection);
    if (!state_.optimizer.first_moment.empty()) stage.optimizer().load_state(state_.optimizer);
    if (state_.step == 0) return;
    for (size_t i = 0; i < state_.objectives.size(); ++i) {
      stage.objectives()[i].loss().load_state(state_.objectives[i].loss);
    }
    stage.smoothing().load_state(state_.average, state_.siar_skipped);
  }

  // Of what the model and the optimiser hold: they are for the file.
  void release_copies() {
    state_.weights = {};
    state_.average = {};
    state_.optimizer = {};
  }

  bool is_save_due() const {
    const std::chrono::duration<double, std::ratio<60>> elapsed = Clock::now() - saved_at_;
    return options_.save.save_every_minutes > 0 &&
           elapsed.count() >= options_.save.save_every_minutes;
  }

  bool is_evaluation_due(const Stage& stage, const SelectionOptions& options) const {
    if (state_.evaluated_step == state_.step) return false;
    const double per_epoch = static_cast<double>(stage.steps_per_epoch());
    const int64_t interval =
        options.every_steps > 0
            ? options.every_steps
            : std::max<int64_t>(1, std::llround(options.every_epochs * per_epoch));
    return state_.step % interval == 0 || state_.step == stage.total_steps();
  }

  // Evaluates and keeps the weights if they are the best so far.
  void evaluate(Stage& stage, const SelectionOptions& options, EarlyStop& selection) {
    stage.optimizer().flush_rows();
    std::vector<Report> reports = evaluate_weights(evaluations_, options_.name);
    if (const auto losses = stage.measure_losses()) reports.push_back(*losses);
    for (const Report& report : reports) {
      folder_.log_evaluation(stage_name(), state_.step, epochs_done(stage), report);
    }
    if (!options.metric.empty()) {
      const double value = selection_value(reports, options.metric);
      const bool is_best = selection.update(value);
      if (is_best && options.keep == "best") {
        state_.best = weights_.copy();
        state_.best_temperatures = temperatures_of(stage);
      }
      events_.info(fmt::format("{} step {}: {}", stage_name(), state_.step,
                               describe_selection(options, value, is_best)));
    }
    state_.selection = selection.state();
    state_.evaluated_step = state_.step;
  }

  Loss::Temperatures temperatures_of(Stage& stage) const {
    Loss::Temperatures temperatures = state_.temperatures;
    for (const Objective& objective : stage.objectives()) {
      objective.loss().add_temperatures(temperatures);
    }
    return temperatures;
  }

  // The next stage starts from the weights this one kept, unless it says otherwise.
  void end_stage(Stage& stage) {
    stage.optimizer().flush_rows();
    TrainState next;
    next.stage = state_.stage + 1;
    next.data = state_.data;
    next.selected = state_.selected;
    next.selected_value = state_.selected_value;
    if (state_.selection.best_evaluation >= 0) {
      next.selected = 1;
      next.selected_value = state_.selection.best_value;
    }
    next.temperatures = state_.best.empty() ? temperatures_of(stage) : state_.best_temperatures;
    stage_.reset();
    if (!state_.best.empty()) weights_.assign(state_.best);
    if (is_referred_to(stage_name())) {
      folder_.keep_stage(stage_name(), {weights_.copy(), next.temperatures});
    }
    data_[stage_number()].clear();  // it will not be asked for again
    state_ = std::move(next);
  }

  bool is_referred_to(const std::string& name) const {
    const auto& stages = options_.stages;
    return std::any_of(stages.begin() + state_.stage + 1, stages.end(), [&](const auto& stage) {
      return stage.from == name ||
             std::any_of(stage.objectives.begin(), stage.objectives.end(), [&](const auto& o) {
               return std::count(o.teachers.begin(), o.teachers.end(), name) > 0;
             });
    });
  }

  TrainResult finish(Clock::time_point begin) {
    TrainResult result;
    result.model_path = folder_.model_path();
    if (state_.selected != 0) result.selected_value = state_.selected_value;
    round_to_precision(options_, weights_.encoder());
    // One list per model; every list has the evaluations, then the tests.
    std::vector<std::vector<Report>> by_model = {
        evaluate_all(options_.name, folder_.predictions_path())};
    save_trained_model(result.model_path, options_, start_, weights_, state_.temperatures,
                       by_model[0]);
    for (const std::string& baseline : options_.baselines) {
      if (baseline == "untrained") {
        weights_.assign(start_.weights);
        by_model.push_back(evaluate_all(options_.model.empty() ? baseline : "zero-shot"));
      } else {
        by_model.push_back(
            join(evaluations_.evaluate_baseline(baseline), tests_.evaluate_baseline(baseline)));
      }
    }
    for (size_t i = 0; i < by_model[0].size(); ++i) {
      for (const auto& reports : by_model) {
        if (!reports[i].metrics.empty()) result.reports.push_back(reports[i]);
      }
    }
    const std::vector<std::string>& metrics = options_.stages.back().selection.metric;
    for (const auto& reports : by_model) {
      if (metrics.size() < 2 || is_loss_metric(metrics[0])) break;
      const Report mean = mean_report(reports, metrics);
      if (!mean.metrics.empty()) result.reports.push_back(mean);
    }
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    folder_.write_results(result.reports, elapsed.count());
    return result;
  }

  std::vector<Report> evaluate_all(const std::string& name, const std::string& predictions = "") {
    return join(evaluate_weights(evaluations_, name, predictions),
                evaluate_weights(tests_, name, predictions));
  }

  static std::vector<Report> join(std::vector<Report> first, const std::vector<Report>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  std::vector<Report> evaluate_weights(const Evaluations& set, const std::string& name,
                                       const std::string& predictions = "") {
    return set.evaluate(name, {weights_, start_.tokenizer, start_.settings}, events_, predictions);
  }

  void save() {
    state_.weights = weights_.copy();
    if (stage_) {
      state_.optimizer = stage_->optimizer().state();
      state_.average = stage_->smoothing().average();
      state_.siar_skipped = stage_->smoothing().skipped();
      for (size_t i = 0; i < state_.objectives.size(); ++i) {
        state_.objectives[i].loss = stage_->objectives()[i].loss().state();
      }
    }
    state_.metrics_bytes = folder_.flush_metrics();
    states_.save(state_, recipe_);
    release_copies();
    saved_at_ = Clock::now();
  }

  void restore() {
    folder_.check_resume(false);
    std::optional<TrainState> saved = states_.load(recipe_, events_);
    if (!saved) return folder_.cut_metrics(0);
    SIMILE_CHECK(saved->data == state_.data, ErrorKind::kInput,
                 fmt::format("the training data or the tokenizer is not what '{}' was trained "
                             "with; bring the old files back or start anew with --overwrite",
                             folder_.states_path()));
    state_ = std::move(*saved);
    weights_.assign(state_.weights);
    for (int64_t done = 0; done < state_.stage; ++done) data_[static_cast<size_t>(done)].clear();
    folder_.cut_metrics(state_.metrics_bytes);
    events_.info(fmt::format("resuming at stage {} step {}", state_.stage + 1, state_.step));
  }

  [[noreturn]] void stop(const Error& error) {
    save();
    throw Error(ErrorKind::kInterrupted,
                fmt::format("{}; saved at stage {} step {}: add --resume to go on", error.what(),
                            state_.stage + 1, state_.step));
  }

  void show_progress(const Stage& stage, const StepResult& result) {
    const auto pairs = [&](int64_t steps) {
      return std::llround(static_cast<double>(steps) * stage.pairs_per_step());
    };
    Progress progress{stage_name(),
                      pairs(state_.step),
                      pairs(stage.total_steps()),
                      "pairs",
                      {{"epoch", epochs_done(stage)}, {"loss", result.loss}}};
    progress.values.insert(progress.values.end(), result.values.begin(), result.values.end());
    events_.progress(progress);
  }

  double epochs_done(const Stage& stage) const {
    return static_cast<double>(state_.step) / static_cast<double>(stage.steps_per_epoch());
  }
  size_t stage_number() const { return static_cast<size_t>(state_.stage); }
  std::string stage_name() const { return options_.stages[stage_number()].name; }
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  TrainOptions options_;
  EventSink& events_;
  std::string recipe_;
  StartModel start_;
  ModelWeights weights_;
  Evaluations evaluations_, tests_;
  std::vector<std::vector<ObjectiveData>> data_;  // [stages][objectives]
  RunFolder folder_;  // after all that is read: a mistake in the recipe changes nothing on disk
  StateStore states_;
  TrainState state_;
  std::unique_ptr<Stage> stage_;  // while it runs
  Clock::time_point saved_at_ = Clock::now();
};

}  // namespace

TrainResult train(const ConfigNode& recipe, const std::string& folder, bool resume, bool overwrite,
                  EventSink& events) {
  TrainOptions options;
  read_options(without_environment(recipe), options);
  check_train_options(options);
  const std::string path = folder.empty() ? "runs/" + options.name : folder;
  try {
    if (options.runs == 1) return TrainingRun(options, path, resume, overwrite, events).run();
    const auto train_once = [&](const TrainOptions& once, const std::string& once_path,
                                const std::function<void()>& begin) {
      TrainingRun run(once, once_path, resume, overwrite, events);
      begin();
      return run.run();
    };
    return train_seeds(options, path, resume, overwrite, train_once, events);
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kFailed, fmt::format("torch: {}", error.what_without_backtrace()));
  }
}

std::string recipe_reference() {
  TrainOptions recipe;
  return options_to_markdown(recipe, "Recipe of `simile train`");
}

}  // namespace simile
