// SPDX-License-Identifier: Apache-2.0
#include "simile/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/data/pair_data.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/shared_texts.h"
#include "simile/index/search_settings.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/batch_feed.h"
#include "simile/train/data_review.h"
#include "simile/train/evaluations.h"
#include "simile/train/mined_negatives.h"
#include "simile/train/read_recipe.h"
#include "simile/train/run_data.h"
#include "simile/train/run_loop.h"
#include "simile/train/run_verdict.h"
#include "simile/train/selection.h"
#include "simile/train/shared_training.h"
#include "simile/train/stage.h"
#include "simile/train/start_model.h"

namespace simile {
namespace {

class TrainingRun final : public SteppedTraining {
  using Clock = std::chrono::steady_clock;

 public:
  TrainingRun(const TrainOptions& options, const std::string& folder, bool resume, bool overwrite,
              EventSink& events, SharedProcesses* processes)
      : options_(options),
        events_(events),
        processes_(processes),
        group_(processes == nullptr ? nullptr : &processes->group),
        start_(load_start_model(options, events)),
        weights_(start_.settings, start_.heads,
                 choose_placement(options.engine, options.device, options.compute)),
        evaluations_(options.evaluations, events),
        tests_(options.tests, events),
        judged_(judged_metrics(options_, evaluations_, tests_)),
        data_(read_data()),
        sample_(sample_texts(data_)),
        loop_(folder, resume, overwrite, save_options(), options_to_json(options_), *this, events),
        folder_(loop_.folder()),
        state_(loop_.state()) {
    weights_.assign(start_.weights);
    state_.temperatures = start_.settings.temperatures;
    ContentHashes hashes(folder);
    RecipeInputs inputs = find_inputs(options_, hashes);
    inputs["start weights"] = fingerprint_weights();
    if (group_ != nullptr) {
      processes_->events.share(true);
      for (const auto& [name, hash] : inputs) check_equal(*group_, name, hash);
    }
    if (is_first()) describe_machine(weights_.placement(), group_ == nullptr, inputs);
    loop_.begin(inputs);
  }

  TrainResult run() {
    loop_.run([&] {
      while (state_.stage < static_cast<int64_t>(options_.stages.size())) run_stage();
      loop_.save();
    });
    if (processes_ != nullptr) processes_->events.share(false);
    return is_first() ? finish() : TrainResult();
  }

 private:
  // Rank 0 alone of several processes writes and evaluates what was trained.
  bool is_first() const { return group_ == nullptr || group_->rank() == 0; }

  SaveOptions save_options() const {
    SaveOptions save = options_.save;
    if (!is_first()) save.keep_states = 0;
    return save;
  }

  // Completes the recipe before anything is written.
  std::vector<std::vector<ObjectiveData>> read_data() {
    choose_learning_rates(start_.settings.encoder, options_, events_);
    keep_no_random_heads(start_.new_heads, options_);
    for (const StageOptions& stage : options_.stages) {
      const std::vector<std::string>& metrics = stage.selection.metric;
      if (metrics.empty() || is_loss_metric(metrics[0])) continue;
      evaluations_.check_metrics(metrics);
    }
    auto data = read_run_data(options_, start_, events_);
    review_run_data(options_, data, evaluations_, tests_, events_);
    std::vector<uint64_t> keys;
    for (const auto& stage : data) {
      for (const ObjectiveData& objective : stage) {
        const DataReview& review = objective.train->review;
        keys.insert(keys.end(), review.left.begin(), review.left.end());
        keys.insert(keys.end(), review.right.begin(), review.right.end());
      }
    }
    const KeySet seen = key_set(std::move(keys));
    evaluations_.tell_seen(seen);
    tests_.tell_seen(seen);
    return data;
  }

  std::string fingerprint_weights() const { return hash_bytes(bytes_of(weights_.copy())); }

  // The rest is taken up by resume_stage().
  void take_state(TrainState& state) override {
    weights_.assign(state.weights);
    for (int64_t done = 0; done < state.stage; ++done) data_[static_cast<size_t>(done)].clear();
  }

  void run_stage() {
    const StageOptions& options = stage_options();
    if (state_.step == 0) take_weights(options.from);
    miner_.emplace(options_, stage_number(), start_, weights_, folder_, data_[stage_number()],
                   events_, group_);
    miner_->begin_stage(state_);
    open_teachers(options_, stage_number(), start_, folder_, data_[stage_number()], events_);
    stage_.emplace(options,
                   TrainedModel{weights_, start_.tokenizer, start_.settings, options_.drop_head,
                                seed(), processes_},
                   data_[stage_number()], events_);
    if (options.minutes > 0) {
      constexpr int64_t kBeforeMeasured = 1000;  // of the first step's warm-up
      stage_->plan_steps(state_.planned_steps > 0 ? state_.planned_steps : kBeforeMeasured);
    }
    selection_.emplace(selection_rules(options.selection));
    resume_stage();
    loop_.release_copies();  // of what the model and the optimiser now hold
    feed_.emplace(*stage_, state_, [&](size_t objective, int64_t epoch) {
      if (!miner_->is_due(objective, epoch)) return;
      stage_->optimizer().flush_rows();
      miner_->mine(objective, epoch);
    });
    timed_until_ = Clock::now();
    loop_.run_stage();
    end_stage();
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

  void resume_stage() {
    if (state_.step == 0) {
      for (Objective& objective : stage_->objectives()) {
        if (objective.loss().start_from(state_.temperatures) == 0) continue;
        events_.info(
            fmt::format("stage '{}': the temperature of {} goes on from where it was trained",
                        stage_options().name, objective.options().loss.name));
      }
    }
    if (state_.step == 0 && state_.evaluated_step < 0) return;
    selection_->load_state(state_.selection);
    if (!state_.optimizer.first_moment.empty()) stage_->optimizer().load_state(state_.optimizer);
    if (state_.step == 0) return;
    for (size_t i = 0; i < state_.objectives.size(); ++i) {
      stage_->objectives()[i].loss().load_state(state_.objectives[i].loss);
    }
    stage_->smoothing().load_state(state_.average, state_.siar_skipped);
  }

  bool is_evaluation_due() const override {
    if (state_.evaluated_step == state_.step) return false;
    const SelectionOptions& options = stage_options().selection;
    const double per_epoch = static_cast<double>(stage_->steps_per_epoch());
    const int64_t interval =
        options.every_steps > 0
            ? options.every_steps
            : std::max<int64_t>(1, std::llround(options.every_epochs * per_epoch));
    return state_.step % interval == 0 || state_.step == stage_->total_steps();
  }

  // Keeps the weights if they are the best so far.
  void evaluate() override {
    const SelectionOptions& options = stage_options().selection;
    stage_->optimizer().flush_rows();
    if (group_ != nullptr) check_equal(*group_, "weights", fingerprint_weights());
    const bool is_start = state_.stage == 0 && state_.step == 0;
    const bool is_moved =
        state_.step >= first_trained_step(stage_options().schedule, stage_->total_steps());
    const bool counts = options.may_keep_start() || !options.keeps_best() || is_moved;
    // If the start cannot be selected, score it in fp32, because that score is reported.
    const ProductType products =
        is_start && !counts
            ? ProductType::kFloat
            : choose_inference_products(options.precision, weights_.placement().device);
    const auto scorer = make_model_scorer(options_.name, weights_, start_, products, events_);
    std::vector<Report> reports = evaluate_all({&evaluations_}, *scorer, true, events_).reports;
    if (const auto losses = stage_->measure_losses()) reports.push_back(*losses);
    for (const Report& report : reports) loop_.log_evaluation(report);
    if (!options.metric.empty()) {
      const double value = selection_value(reports, options.metric);
      const bool is_best = counts && selection_->update(value);
      if (auto* sink = dynamic_cast<SelectionSink*>(&events_); counts && sink != nullptr) {
        const auto steps = static_cast<double>(std::max<int64_t>(1, stage_->total_steps()));
        sink->selected(
            {stage_options().name, state_.step, static_cast<double>(state_.step) / steps, value});
      }
      if (is_best && options.keeps_best()) {
        state_.best = weights_.copy();
        state_.best_temperatures = current_temperatures();
      }
      std::string line = describe_selection(options, value, is_best);
      for (const auto& [name, loss] : loop_.recent_losses().values()) {
        line += fmt::format(", {} {:.4g}", name, loss);
      }
      events_.info(fmt::format("{} step {}: {}", stage_options().name, state_.step, line));
    }
    state_.selection = selection_->state();
    state_.evaluated_step = state_.step;
  }

  Temperatures current_temperatures() {
    Temperatures temperatures = state_.temperatures;
    for (const Objective& objective : stage_->objectives()) {
      objective.loss().add_temperatures(temperatures);
    }
    return temperatures;
  }

  bool is_done() const override {
    return state_.step == stage_->total_steps() || selection_->should_stop();
  }

  StepResult step() override {
    const Clock::time_point begun = Clock::now();
    const StepResult result = stage_->step(state_.step, feed_->next(stage_options().accumulation));
    if (stage_options().minutes > 0) plan_steps(begun);
    return result;
  }

  // The steps that the rest of the stage's `minutes` allows, after one that has `begun` then.
  void plan_steps(Clock::time_point begun) {
    constexpr double kNewest = 0.02;  // a step's weight beside those before, once there are fifty
    const auto seconds = [](Clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    const Clock::time_point now = Clock::now();
    state_.trained_seconds += seconds(now - timed_until_);
    timed_until_ = now;
    const int64_t done = state_.step + 1;
    state_.step_seconds += (seconds(now - begun) - state_.step_seconds) *
                           std::max(kNewest, 1 / static_cast<double>(done));
    const double left = 60 * stage_options().minutes - state_.trained_seconds;
    state_.planned_steps =
        done + static_cast<int64_t>(std::max(0.0, left) / std::max(state_.step_seconds, 1e-9));
    stage_->plan_steps(state_.planned_steps);
  }

  Progress progress() const override {
    const auto pairs = [&](int64_t steps) {
      return std::llround(static_cast<double>(steps) * stage_->pairs_per_step());
    };
    return {stage_options().name,
            pairs(state_.step),
            pairs(stage_->total_steps()),
            "pairs",
            {{"epoch", epochs_done()}}};
  }

  double epochs_done() const override {
    return static_cast<double>(state_.step) / static_cast<double>(stage_->steps_per_epoch());
  }

  std::string position() const override {
    return fmt::format("stage {} step {}", state_.stage + 1, state_.step);
  }

  void fill_state(TrainState& state) override {
    state.weights = weights_.copy();
    if (!stage_) return;
    state.optimizer = stage_->optimizer().state();
    state.average = stage_->smoothing().average();
    state.siar_skipped = stage_->smoothing().skipped();
    for (size_t i = 0; i < state.objectives.size(); ++i) {
      state.objectives[i].loss = stage_->objectives()[i].loss().state();
    }
  }

  // The next stage starts from the weights this one kept, unless it says otherwise.
  void end_stage() {
    stage_->optimizer().flush_rows();
    warn_of_margins();
    TrainState next;
    next.stage = state_.stage + 1;
    next.inputs = state_.inputs;
    if (state_.selection.best_evaluation >= 0) {
      next.selected = 1;
      next.selected_value = state_.selection.best_value;
    }
    next.temperatures = state_.best.empty() ? current_temperatures() : state_.best_temperatures;
    feed_.reset();
    stage_.reset();
    miner_.reset();
    if (!state_.best.empty()) weights_.assign(state_.best);
    if (is_referred_to(stage_options().name)) {
      folder_.keep_stage(stage_options().name, {weights_.copy(), next.temperatures});
    }
    data_[stage_number()].clear();  // it will not be asked for again
    state_ = std::move(next);
  }

  // Warns if a triplet loss is stuck at its margin; call before the best weights are restored.
  void warn_of_margins() {
    const std::vector<Objective>& objectives = stage_->objectives();
    for (const auto& [name, loss] : loop_.recent_losses().values()) {
      for (size_t i = 0; i < objectives.size(); ++i) {
        const LossOptions& options = objectives[i].options().loss;
        const bool is_its = objectives.size() == 1 ||
                            name == fmt::format("loss ({})", stage_options().objective_name(i));
        const TripletOptions* triplet = find_loss(options.name).parts(options).triplet;
        if (triplet == nullptr || !is_its) continue;
        EncodeOptions encode;
        encode.normalize = false;
        const std::string warning =
            describe_margin(stage_options().name, *triplet, loss, sample_vectors(encode));
        if (!warning.empty()) events_.warning(warning);
      }
    }
  }

  SentenceEncoder encoder() {
    return SentenceEncoder(weights_.encoder().inference(), start_.settings, start_.tokenizer);
  }

  Matrix<float> sample_vectors(const EncodeOptions& options) {
    return encoder().encode_ids(sample_, options, silent_events());
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

  TrainResult finish() {
    TrainResult result;
    result.model_path = folder_.model_path();
    round_to_precision(options_, weights_.encoder());
    const std::string collapse = describe_collapse(sample_vectors({}));
    if (!collapse.empty()) events_.warning(collapse);
    make_final_scorer(options_.name, has_baseline("hybrid") || judged_.are_rankings ||
                                         chooses_hybrid_weight(options_));
    RunScores scores;
    const Scores& trained = scores.trained;
    scores.trained = evaluate_all({&evaluations_, &tests_}, *final_scorer_, true, events_,
                                  folder_.predictions_path());
    result.selected_value = selected_value(trained.reports);
    save_trained_model(result.model_path, options_, start_, weights_, state_.temperatures,
                       trained.reports);
    keep_hybrid_weight();
    // One list per model; every list has the evaluations, then the tests.
    std::vector<std::vector<Report>> by_model = {trained.reports};
    scores.bm25 = evaluate_baseline("bm25");
    scores.trained_hybrid = evaluate_baseline("hybrid");
    keep_class_scopes();
    scores.start = evaluate_start();
    scores.start_hybrid = evaluate_baseline("hybrid:untrained");
    for (const std::string& baseline : options_.baselines) {
      by_model.push_back(baseline == "bm25"               ? scores.bm25.reports
                         : baseline == "hybrid"           ? scores.trained_hybrid.reports
                         : baseline == "untrained"        ? scores.start.reports
                         : baseline == "hybrid:untrained" ? scores.start_hybrid.reports
                                                          : evaluate_baseline(baseline).reports);
    }
    for (size_t i = 0; i < by_model[0].size(); ++i) {
      for (const auto& reports : by_model) {
        if (!reports[i].metrics.empty()) result.reports.push_back(reports[i]);
      }
    }
    const std::vector<std::string>& metrics = options_.stages.back().selection.metric;
    for (const auto& reports : by_model) {
      if (metrics.size() < 2 || is_loss_metric(metrics[0])) break;
      const Report mean = selection_report(reports, metrics);
      if (!mean.metrics.empty()) result.reports.push_back(mean);
    }
    write_query_tables(run_format::kStart, scores.start);
    write_query_tables(run_format::kBm25, scores.bm25);
    result.verdict = judge_run(options_, folder_.log_path(), judged_, scores, events_);
    loop_.finish(result.reports, result.verdict);
    return result;
  }

  // As it is reported, where that is of the same weights.
  std::optional<double> selected_value(const std::vector<Report>& trained) const {
    if (state_.selected == 0) return std::nullopt;
    const SelectionOptions& last = options_.stages.back().selection;
    const bool is_reported =
        last.keeps_best() && !last.metric.empty() && !is_loss_metric(last.metric[0]);
    return is_reported ? selection_value(trained, last.metric) : state_.selected_value;
  }

  // Scores a baseline; if the recipe does not name it, only on the rankings that decide.
  Scores evaluate_baseline(const std::string& baseline) {
    const bool is_named = has_baseline(baseline), is_trained = baseline == "hybrid";
    if (!is_named && !judged_.are_rankings) return {};
    const EvaluationSets sets = {&evaluations_, &tests_};
    const auto metrics = is_named ? std::vector<std::string>() : judged_.metrics;
    if (!is_trained && baseline != "hybrid:untrained") {
      return evaluate_all(sets, *make_lexical_scorer(baseline), false, silent_events(), "",
                          metrics);
    }
    if (!is_trained) make_hybrid();
    return evaluate_all(sets, *hybrid_, false, events_,
                        is_named && is_trained ? folder_.predictions_path(run_format::kHybrid) : "",
                        metrics);
  }

  // Makes hybrid_ of final_scorer_ and BM25. Returns whether the weight was chosen: on the first
  // ranking with judgements of dev, or else on the first among the evaluations, which are dev.
  bool make_hybrid() {
    hybrid_.emplace(hybrid_name(final_scorer_->name()), std::make_shared<Bm25Scorer>(),
                    final_scorer_, options_.hybrid);
    for (const bool on_own : {false, true}) {
      EvaluationSets sets = {&evaluations_};
      if (!on_own) sets.push_back(&tests_);
      for (const Task* task : tasks_of(sets)) {
        const std::optional<double> weight = task->choose_weight(*hybrid_, on_own);
        if (!weight) continue;
        hybrid_->take_chosen(*weight);
        return true;
      }
    }
    return false;
  }

  // Which texts belong to no class lies in the model's folder, for each head that is evaluated.
  void keep_class_scopes() {
    constexpr int64_t kTextsOfClass = 100;
    EncodeOptions whole;
    whole.normalize = false;
    for (const Evaluation& each : evaluations_.list()) {
      if (each.options.task != "classification") continue;
      const HeadSettings& head = start_.heads[find_head(start_.heads, each.options.head)];
      const PairDataOptions* taught = find_class_data(options_, head.name);
      if (taught == nullptr || head.input != "single") continue;
      PairDataOptions data = *taught;
      if (data.per_class == 0) data.per_class = kTextsOfClass;
      const PairDataset train = read_pairs(data);
      const ClassScope scope =
          choose_class_scope(encoder().encode(train.left, whole, silent_events()), train.classes,
                             encoder().encode(*each.task->texts().left, whole, silent_events()));
      write_class_scope(folder_.model_path(), head.name, scope);
      events_.info(
          fmt::format("head '{}': a text whose similarity to every class is below {:.3f} "
                      "belongs to none, as 5 % of the texts of '{}' would",
                      head.name, scope.minimum_similarity, each.options.name));
    }
  }

  // The chosen weight lies in the model's folder, for indexes and evaluations of hybrid:MODEL.
  void keep_hybrid_weight() {
    if (!make_hybrid()) return;
    const SearchSettings settings = {"hybrid", hybrid_->fusion()};
    write_search_settings(folder_.model_path(), settings);
    events_.info(fmt::format("{} searches by {}, chosen on dev", folder_.model_path(),
                             describe_search(settings)));
  }

  // Beside the predictions of the trained model, query by query.
  void write_query_tables(const char* of, const Scores& scores) const {
    for (const Predictions& table : scores.predictions) {
      if (table.kind != PredictionKind::kQueries) continue;
      const Report& report =
          scores.reports[static_cast<size_t>(&table - scores.predictions.data())];
      const std::string run =
          predictions_file(folder_.predictions_path(of), "ranking", report.name);
      write_predictions(query_table_file(run), table);
    }
  }

  // Scores of the weights before the first step; on tests as a baseline or for the verdict alone.
  Scores evaluate_start() {
    weights_.assign(start_.weights);
    make_final_scorer(options_.model.empty() ? "untrained" : "zero-shot",
                      has_baseline("hybrid:untrained") || judged_.are_rankings);
    Scores scores = evaluate_all({&evaluations_}, *final_scorer_, true, events_);
    scores.add(
        evaluate_all({&tests_}, *final_scorer_, true, events_, "",
                     has_baseline("untrained") ? std::vector<std::string>() : judged_.metrics));
    return scores;
  }

  bool has_baseline(const std::string& name) const {
    return std::count(options_.baselines.begin(), options_.baselines.end(), name) > 0;
  }

  // Scores by the weights as they are. With a hybrid both share one embedding of each text.
  void make_final_scorer(const std::string& name, bool has_hybrid) {
    final_scorer_ = make_model_scorer(name, weights_, start_, ProductType::kFloat, events_);
    final_scorer_->embed_once(std::make_shared<const SharedTexts>(
        tasks_of({&evaluations_, &tests_}), has_hybrid ? 2 : 1));
  }

  size_t stage_number() const { return static_cast<size_t>(state_.stage); }
  const StageOptions& stage_options() const { return options_.stages[stage_number()]; }
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  TrainOptions options_;
  EventSink& events_;
  SharedProcesses* processes_;  // null: this process alone
  ProcessGroup* group_;
  StartModel start_;
  ModelWeights weights_;
  Evaluations evaluations_, tests_;
  const JudgedMetrics judged_;
  std::vector<std::vector<ObjectiveData>> data_;  // [stages][objectives]
  std::vector<std::vector<int32_t>> sample_;      // texts of `data_`, which is let go
  RunLoop loop_;  // after all that is read: a mistake in the recipe changes nothing on disk
  const RunFolder& folder_;
  TrainState& state_;
  std::shared_ptr<Scorer> final_scorer_;  // make_final_scorer()
  std::optional<HybridScorer> hybrid_;    // make_hybrid()

  // While a stage runs.
  std::optional<NegativeMiner> miner_;
  std::optional<Stage> stage_;
  Clock::time_point timed_until_;  // what its `minutes` count
  std::optional<EarlyStop> selection_;
  std::optional<BatchFeed> feed_;
};

// In several processes: rank 0 as one process alone does, the others with files of no use.
TrainResult train_shared(const TrainOptions& options, const std::string& path,
                         const TrainingMode& mode, EventSink& events) {
  ProcessGroup& group = *mode.processes;
  check_shared_options(options, group.size());
  check_shared_recipe(group, options);
  std::optional<ScratchFolder> scratch;
  if (group.rank() > 0) scratch.emplace("simile-rank");
  const std::string& folder = scratch ? scratch->path() : path;
  if (mode.resume) send_run(group, folder);
  SharedEvents shared_events(events);
  SharedProcesses processes{group, shared_events};
  try {
    TrainingRun run(options, folder, mode.resume, mode.overwrite, shared_events, &processes);
    if (mode.begin) mode.begin();
    TrainResult result = run.run();
    // Rank 0 measures and saves alone, which may take long.
    if (mode.more_follow) group.await_first([&] { shared_events.progress({}); });
    if (!mode.more_follow) group.leave();
    return result;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) group.leave();  // as all do
    throw;
  }
}

}  // namespace

TrainResult train(const TrainOptions& options, const std::string& folder, const TrainingMode& mode,
                  EventSink& events) {
  SIMILE_CHECK(options.runs == 1 && options.folds == 0, ErrorKind::kUsage,
               "the recipe '{}' has {} runs; train_recipe() trains them", options.name,
               options.folds > 0 ? options.folds : options.runs);
  const char* advice = "take a smaller model or a smaller batch_size, or another device";
  return translate_torch_errors(advice, [&] {
    if (mode.processes != nullptr) return train_shared(options, folder, mode, events);
    TrainingRun run(options, folder, mode.resume, mode.overwrite, events, nullptr);
    if (mode.begin) mode.begin();
    return run.run();
  });
}

}  // namespace simile
