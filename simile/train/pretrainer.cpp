// SPDX-License-Identifier: Apache-2.0
#include "simile/train/pretrainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/model_folder.h"
#include "simile/train/flat_optimizer.h"
#include "simile/train/held_out.h"
#include "simile/train/run_card.h"
#include "simile/train/run_loop.h"
#include "simile/train/start_model.h"

namespace simile {
namespace {

StartModel load_start(const PretrainOptions& options, EventSink& events) {
  TrainOptions start;
  static_cast<StartOptions&>(start) = options;
  start.max_length = options.max_length;
  return load_start_model(start, events);
}

// The whole text, so that masked_batches.h can cut it into windows.
Tokenizer without_limit(Tokenizer tokenizer) {
  tokenizer.set_max_length(0);
  return tokenizer;
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
        tokenizer_(without_limit(start_.tokenizer)),
        vocabulary_(mask_vocabulary(tokenizer_)),
        held_out_(options, tokenizer_, vocabulary_, events),
        corpus_(inspect_corpus(options.corpus, events)),
        total_steps_(count_steps(options, corpus_, tokenizer_, events)),
        weights_(std::move(start_.weights)),
        gradients_(weights_.size()),
        head_(static_cast<size_t>(masked_lm_parameter_count(shape_))),
        head_gradients_(head_.size()),
        optimizer_(options.optimizer, encoder_layout(shape_), weights_.data(), {},
                   head_parameters()),
        masked_lm_(shape_),
        loop_(folder, resume, overwrite, options.save, options_to_json(options_), *this, events),
        state_(loop_.state()) {
    initialise_masked_lm_weights(shape_, seed(), head_.data());
    loop_.begin(data_fingerprint(), "corpus");
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
    result.gradient_norm =
        optimizer_.step(result.learning_rate, gradients_.data(), head_gradient_pointers());
    if (!std::isfinite(result.gradient_norm)) fail_step("gradient norm", result.gradient_norm);
    return result;
  }

  // Adds the gradients of the batch's mean loss, divided by the accumulation.
  VocabularyLoss backward(const MaskedBatch& batch, int64_t part) {
    const auto size = static_cast<size_t>(batch.tokens.tokens() * shape_.hidden);
    hidden_.resize(size);
    hidden_gradients_.resize(size);
    const EncoderDropout dropout = make_dropout(part);
    const EncoderWeights weights = encoder_weights(shape_, weights_.data());
    encoder_forward_training(shape_, weights, batch.tokens, dropout, nullptr, tape_,
                             hidden_.data());
    const double count = static_cast<double>(std::max<int64_t>(batch.masked.size(), 1));
    const MaskedLmGradients gradients{
        static_cast<float>(1 / (count * static_cast<double>(options_.accumulation))),
        hidden_gradients_.data(), head_gradients_.data(), gradients_.data()};
    const VocabularyLoss loss = masked_lm_(head_.data(), weights_.data(), hidden_.data(),
                                           batch.tokens.tokens(), batch.masked, &gradients);
    const EncoderGradients encoder = encoder_gradients(shape_, gradients_.data());
    encoder_backward(shape_, weights, batch.tokens, dropout, tape_, hidden_gradients_.data(),
                     &encoder, nullptr);
    return loss;
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
    Report report = held_out_.evaluate(shape_, weights_.data(), head_.data(), options_.name);
    if (state_.evaluated_step != state_.step) loop_.log_evaluation(report);
    return report;
  }

  void save_model(const std::vector<Report>& reports) {
    ModelToSave model;
    model.settings = start_.settings;
    model.weights = weights_.data();
    model.tokenizer = start_.tokenizer_files;
    model.model_card = make_card(reports);
    model.self_test = make_self_test(
        SentenceEncoder(make_encoder(shape_, weights_.data()), start_.settings, start_.tokenizer));
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
    state.optimizer = optimizer_.state();
    state.weights = weights_;
    state.weights.insert(state.weights.end(), head_.begin(), head_.end());
  }

  void take_state(TrainState& state) override {
    SIMILE_CHECK(
        state.weights.size() == weights_.size() + head_.size(), ErrorKind::kInput,
        fmt::format("'{}' holds {} weights, the model has {}", loop_.folder().states_path(),
                    state.weights.size(), weights_.size() + head_.size()));
    const auto head = state.weights.begin() + static_cast<std::ptrdiff_t>(weights_.size());
    std::copy(state.weights.begin(), head, weights_.begin());
    std::copy(head, state.weights.end(), head_.begin());
    optimizer_.load_state(std::move(state.optimizer));
    loop_.release_copies();
  }

  std::string data_fingerprint() const {
    uint64_t hash = stream_key(0, start_.tokenizer.to_json());
    for (const CorpusFile& file : corpus_) hash = stream_key(hash, std::to_string(file.hash));
    return fmt::format("{:016x}", hash);
  }

  std::vector<ExtraParameter> head_parameters() {
    std::vector<ExtraParameter> parameters;
    for (const ParameterSlot& slot : masked_lm_layout(shape_)) {
      parameters.push_back({slot.name, head_.data() + slot.offset, slot.size, 1.0, slot.decays});
    }
    return parameters;
  }

  std::vector<float*> head_gradient_pointers() {
    std::vector<float*> pointers;
    for (const ParameterSlot& slot : masked_lm_layout(shape_)) {
      pointers.push_back(head_gradients_.data() + slot.offset);
    }
    return pointers;
  }

  [[noreturn]] void fail_step(const char* what, double value) const {
    throw Error(ErrorKind::kFailed,
                fmt::format("{} of step {} is {}; likely cause: a learning rate too high ({}) or a "
                            "warm-up too short; the last saved state is kept",
                            what, state_.step, value, options_.learning_rate));
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
  std::vector<float> weights_, gradients_;    // of the encoder, flat
  std::vector<float> head_, head_gradients_;  // of the head, flat
  FlatOptimizer optimizer_;
  MaskedLm masked_lm_;
  EncoderTape tape_;
  std::vector<float> hidden_, hidden_gradients_;  // [tokens, H]
  std::optional<MaskedBatches> batches_;          // while there are steps to do
  RunLoop loop_;  // after all that is read: a mistake in the recipe changes nothing on disk
  TrainState& state_;
};

}  // namespace

TrainResult pretrain(const ConfigNode& recipe, const std::string& folder, bool resume,
                     bool overwrite, EventSink& events) {
  PretrainOptions options;
  read_options(without_environment(recipe), options);
  check_pretrain_options(options);
  return PretrainingRun(options, folder.empty() ? "runs/" + options.name : folder, resume,
                        overwrite, events)
      .run();
}

std::string pretrain_reference() {
  PretrainOptions options;
  return options_to_markdown(options, "Recipe of `simile pretrain`");
}

}  // namespace simile
