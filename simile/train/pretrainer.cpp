// SPDX-License-Identifier: Apache-2.0
#include "simile/train/pretrainer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/masked_batches.h"
#include "simile/train/option_rules.h"
#include "simile/train/placement.h"
#include "simile/train/read_recipe.h"
#include "simile/train/run_loop.h"
#include "simile/train/start_model.h"
#include "simile/train/trainer.h"
#include "simile/train/training_set.h"

namespace simile {

void HeldOutOptions::visit(OptionVisitor& v) {
  v.field("path", path, path_info("texts that are not trained on, one a line; empty: none"));
  v.field("limit", limit, {"texts of it to use; 0: all", "texts", 0});
  v.field("every_steps", every_steps, {"steps between two evaluations on it", "steps", 1});
}

PretrainOptions::PretrainOptions() {
  name = "pretrain";
  optimizer.beta2 = 0.98;
  schedule.warmup_fraction = 0.05;
}

void PretrainOptions::visit(OptionVisitor& v) {
  visit_start(v);
  v.field("corpus", corpus,
          path_info("text files, plain, .gz or .zst, one text a line; * in a name: several files"));
  v.field("shuffle_buffer", shuffle_buffer,
          {"texts held in memory to draw from, of any length; 1 keeps the files' order", "texts", 1,
           1e8});
  v.field("max_length", max_length,
          {"longest sequence, special tokens included; longer texts are cut into several", "tokens",
           3, 8192});
  v.field("batch_tokens", batch_tokens,
          {"a batch is full when it holds this many tokens", "tokens", 1, 1e7});
  v.field("accumulation", accumulation, {"batches whose gradients make one step", "batches", 1});
  v.field("steps", steps, {"steps in all; 0: use epochs", "steps", 0});
  v.field("epochs", epochs,
          {"passes over the corpus, which is tokenised once beforehand to count the steps",
           "epochs", 1e-6, 1e6});
  v.group("mask", mask, "words to predict");
  v.field("hidden_dropout", hidden_dropout,
          {"dropout of hidden states in this training", "", 0, 0.9});
  v.field("attention_dropout", attention_dropout,
          {"dropout of attention weights in this training", "", 0, 0.9});
  v.field("learning_rate", learning_rate, {"peak learning rate", "", 1e-12, 10});
  v.group("optimizer", optimizer, "optimiser");
  v.group("schedule", schedule, "learning rate over the steps");
  v.group("held_out", held_out, "masked accuracy and perplexity on other texts");
  save.visit(v);
}

namespace {

StartModel load_start(const PretrainOptions& options, EventSink& events) {
  TrainOptions start;
  static_cast<StartOptions&>(start) = options;
  start.max_length = options.max_length;
  StartModel model = load_start_model(start, events);
  SIMILE_CHECK(!model.settings.encoder.variant.averaged, ErrorKind::kRecipe,
               "a static encoder sees no context, so it has no masked words to guess; train it on "
               "pairs with `simile train`, or pre-train a transformer");
  return model;
}

int64_t count_steps(const PretrainOptions& options, const std::vector<CorpusFile>& corpus,
                    const Tokenizer& tokenizer, EventSink& events) {
  const int64_t limit = options.steps > 0 ? 1 : 0;  // one shows that there is something to learn
  const auto batches =
      static_cast<double>(count_batches(corpus, options, tokenizer, limit, events));
  if (options.steps > 0) return options.steps;
  return std::max<int64_t>(
      1, std::llround(options.epochs * batches / static_cast<double>(options.accumulation)));
}

class PretrainingRun final : public SteppedTraining {
 public:
  PretrainingRun(const PretrainOptions& options, const std::string& folder, bool resume,
                 bool overwrite, EventSink& events)
      : options_(options),
        events_(events),
        start_(load_start(options, events)),
        shape_(start_.settings.encoder.shape()),
        tokenizer_([this] {
          Tokenizer whole = start_.tokenizer;
          whole.set_max_length(0);  // masked_batches.h cuts texts into windows
          return whole;
        }()),
        vocabulary_(mask_vocabulary(tokenizer_)),
        held_out_(options, tokenizer_, vocabulary_, events),
        corpus_(inspect_corpus(options.corpus, events)),
        total_steps_(count_steps(options, corpus_, tokenizer_, events)),
        placement_(choose_placement(options.engine, options.device, options.compute)),
        encoder_(place_encoder(shape_, placement_)),
        head_(place_masked_lm(shape_, placement_)),
        optimizer_(place_optimizer(options.optimizer, encoder_.get(), head_tensors(), placement_,
                                   EmbeddingGradient::kDense)),
        loop_(folder, resume, overwrite, options.save, options_to_json(options_), *this, events),
        state_(loop_.state()) {
    ContentHashes hashes(folder);
    RecipeInputs inputs = find_inputs(options_, hashes);
    inputs["start weights"] = hash_bytes(bytes_of(start_.weights));
    describe_machine(placement_, true, inputs);
    encoder_->from_host(start_.weights.data());
    start_.weights = {};
    std::vector<float> head(static_cast<size_t>(masked_lm_parameter_count(shape_)));
    initialise_masked_lm_weights(shape_, seed(), head.data());
    head_->from_host(head.data());
    loop_.begin(inputs);
  }

  TrainResult run() {
    if (!is_done()) {
      batches_.emplace(corpus_, options_, tokenizer_, vocabulary_,
                       state_.step * options_.accumulation);
    }
    loop_.run([&] { loop_.run_stage(); });
    TrainResult result;
    result.model_path = loop_.folder().model_path();
    if (!held_out_.empty()) result.reports.push_back(evaluate_held_out());
    state_.evaluated_step = state_.step;
    save_model(result.reports);
    loop_.save();
    loop_.finish(result.reports);
    return result;
  }

 private:
  // The last look is run()'s.
  bool is_evaluation_due() const override {
    return !is_done() && state_.step % options_.held_out.every_steps == 0 &&
           state_.evaluated_step != state_.step;
  }

  bool is_done() const override { return state_.step == total_steps_; }

  StepResult step() override {
    StepResult result;
    int64_t masked = 0;
    VocabularyLoss total;
    for (int64_t i = 0; i < options_.accumulation; ++i) {
      const MaskedBatch batch = batches_->next(events_);
      const VocabularyLoss loss = backward(batch, i);
      total.sum += loss.sum;
      total.correct += loss.correct;
      masked += batch.masked.size();
    }
    result.loss = masked > 0 ? total.sum / static_cast<double>(masked) : 0;
    if (!std::isfinite(result.loss)) fail_step("loss", result.loss);
    result.values = {
        {"masked_accuracy", masked > 0 ? static_cast<double>(total.correct) / masked : 0}};
    result.learning_rate =
        options_.learning_rate * schedule_factor(options_.schedule, state_.step, total_steps_);
    result.gradient_norm = optimizer_->step(result.learning_rate);
    if (!std::isfinite(result.gradient_norm)) fail_step("gradient norm", result.gradient_norm);
    return result;
  }

  // Adds the gradients of the batch's mean loss, divided by the accumulation.
  VocabularyLoss backward(const MaskedBatch& batch, int64_t part) {
    const torch::Tensor hidden = encoder_->forward(batch.tokens, make_dropout(part));
    const double count = static_cast<double>(std::max<int64_t>(batch.masked.size(), 1));
    const double scale = 1 / (count * static_cast<double>(options_.accumulation));
    return head_->backward(*encoder_, hidden, batch.masked, static_cast<float>(scale));
  }

  EncoderDropout make_dropout(int64_t part) const {
    EncoderConfig config = start_.settings.encoder;
    config.hidden_dropout = options_.hidden_dropout;
    config.attention_dropout = options_.attention_dropout;
    config.embedding_dropout = -1;
    EncoderDropout dropout = config.dropout();
    dropout.key = stream_key(seed(), "dropout");
    dropout.step = static_cast<uint64_t>(state_.step * options_.accumulation + part);
    return dropout;
  }

  void evaluate() override {
    std::vector<Report> reports;
    if (!held_out_.empty()) {
      reports.push_back(evaluate_held_out());
      events_.info(fmt::format(
          "step {} of {}: masked accuracy {:.2f} %, perplexity {:.1f}", state_.step, total_steps_,
          100 * reports[0].metric("masked_accuracy"), reports[0].metric("perplexity")));
    }
    state_.evaluated_step = state_.step;
    save_model(reports);
  }

  Report evaluate_held_out() {
    Report report = held_out_.evaluate(*encoder_, *head_, options_.name);
    if (state_.evaluated_step != state_.step) loop_.log_evaluation(report);
    return report;
  }

  void save_model(const std::vector<Report>& reports) {
    const std::vector<float> weights = encoder_->to_host();
    ModelToSave model;
    model.settings = start_.settings;
    model.weights = weights.data();
    model.tokenizer = start_.tokenizer_files;
    model.model_card = make_card(reports);
    model.self_test = make_self_test(
        SentenceEncoder(encoder_->host_inference(), start_.settings, start_.tokenizer));
    save_model_folder(loop_.folder().model_path(), model);
  }

  std::string make_card(const std::vector<Report>& reports) {
    RunCard card;
    card.introduction = fmt::format(
        "An encoder pre-trained with Simile as a masked language model: {} of {} steps.",
        state_.step, total_steps_);
    for (const CorpusFile& file : corpus_) {
      card.data.push_back(fmt::format("{}: {} texts, {} bytes", file.path, file.texts, file.bytes));
    }
    card.reports = reports;
    card.recipe = options_to_json(options_);
    return make_run_card(options_, card, start_.settings);
  }

  void fill_state(TrainState& state) override {
    state.optimizer = optimizer_->state();
    state.weights = encoder_->to_host();
    const std::vector<float> head = head_->to_host();
    state.weights.insert(state.weights.end(), head.begin(), head.end());
  }

  void take_state(TrainState& state) override {
    const int64_t encoder = encoder_->parameter_count();
    const int64_t expected = encoder + head_->parameters().numel();
    SIMILE_CHECK(static_cast<int64_t>(state.weights.size()) == expected, ErrorKind::kInput,
                 "'{}' holds {} weights, the model has {}", loop_.folder().states_path(),
                 state.weights.size(), expected);
    encoder_->from_host(state.weights.data());
    head_->from_host(state.weights.data() + encoder);
    optimizer_->load_state(std::move(state.optimizer));
    loop_.release_copies();
  }

  std::vector<TrainedTensor> head_tensors() const {
    std::vector<TrainedTensor> tensors;
    for (const ParameterSlot& slot : masked_lm_layout(shape_)) {
      tensors.push_back({slot.name, head_->parameters().narrow(0, slot.offset, slot.size),
                         head_->gradients().narrow(0, slot.offset, slot.size), 1.0, slot.decays});
    }
    return tensors;
  }

  [[noreturn]] void fail_step(const char* what, double value) const {
    throw_error(ErrorKind::kFailed,
                "{} of step {} is {}; likely cause: a learning rate too high ({}) or a "
                "warm-up too short; the last saved state is kept",
                what, state_.step, value, options_.learning_rate);
  }

  Progress progress() const override {
    return {"pretrain", state_.step, total_steps_, "steps", {}};
  }
  double epochs_done() const override {
    return static_cast<double>(state_.step) / static_cast<double>(total_steps_);
  }
  std::string position() const override {
    return fmt::format("step {} of {}", state_.step, total_steps_);
  }
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  PretrainOptions options_;
  EventSink& events_;
  StartModel start_;
  EncoderShape shape_;
  Tokenizer tokenizer_;  // without a length limit
  MaskVocabulary vocabulary_;
  HeldOut held_out_;
  std::vector<CorpusFile> corpus_;
  int64_t total_steps_;
  Placement placement_;
  std::unique_ptr<TrainableEncoder> encoder_;
  std::unique_ptr<MaskedLmModule> head_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<MaskedBatches> batches_;  // while there are steps to do
  RunLoop loop_;  // after all that is read: a mistake in the recipe changes nothing on disk
  TrainState& state_;
};

}  // namespace

TrainResult pretrain(const ConfigNode& recipe, const std::string& folder, bool resume,
                     bool overwrite, EventSink& events) {
  PretrainOptions options;
  read_options(without_environment(recipe), options);
  check_pretrain_options(options);
  const std::string path = open_run(options, folder, resume, events);
  const char* advice = "take a smaller model or smaller batch_tokens, or another device";
  return translate_torch_errors(
      advice, [&] { return PretrainingRun(options, path, resume, overwrite, events).run(); });
}

}  // namespace simile
