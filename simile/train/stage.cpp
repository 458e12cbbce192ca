// SPDX-License-Identifier: Apache-2.0
#include "simile/train/stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <cmath>

#include "simile/batch/mixing.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/nn/pooling.h"

namespace simile {
namespace {

std::vector<Objective> make_objectives(const StageOptions& options, uint64_t seed,
                                       const std::vector<TrainingSet>& sets) {
  std::vector<Objective> objectives;
  for (size_t i = 0; i < options.objectives.size(); ++i) {
    const std::string stream =
        i == 0 ? "order/" + options.name : fmt::format("order/{}/objective {}", options.name, i);
    objectives.emplace_back(options.objectives[i], options.objective_name(i), sets[i],
                            stream_key(seed, stream));
  }
  return objectives;
}

std::vector<ExtraParameter> extra_parameters(const std::vector<Objective>& objectives,
                                             double learning_rate) {
  std::vector<ExtraParameter> extras;
  for (const Objective& objective : objectives) {
    for (const LossParameter& parameter : objective.parameters()) {
      extras.push_back({parameter.name, parameter.tensor.data_ptr<float>(),
                        parameter.tensor.numel(), parameter.learning_rate / learning_rate, false});
    }
  }
  return extras;
}

}  // namespace

Stage::Stage(const StageOptions& options, const TrainedModel& model,
             const std::vector<TrainingSet>& sets, EventSink& events)
    : options_(options),
      model_(model),
      events_(events),
      objectives_(make_objectives(options, model.seed, sets)),
      optimizer_(options.optimizer, encoder_layout(model.encoder.shape()), model.encoder.weights(),
                 deferred_table(encoder_layout(model.encoder.shape()).front()),
                 extra_parameters(objectives_, options.learning_rate)),
      dropout_key_(stream_key(model.seed, "dropout/" + options.name)),
      mixing_seed_(stream_key(model.seed, "mixing/" + options.name)) {
  int64_t pairs = 0;
  for (const int32_t objective : mix_epoch(0)) {
    pairs += options_.objectives[static_cast<size_t>(objective)].batch_size;
    ++batches_per_epoch_;
  }
  pairs_per_step_ = static_cast<double>(pairs) / static_cast<double>(batches_per_epoch_);
}

int64_t Stage::total_steps() const {
  if (options_.steps > 0) return options_.steps;
  return std::llround(options_.epochs * static_cast<double>(batches_per_epoch()));
}

std::vector<int32_t> Stage::mix_epoch(int64_t epoch) const {
  std::vector<int64_t> batches;
  for (const Objective& objective : objectives_) batches.push_back(objective.batches_per_epoch());
  return mix_batches(batches, options_.mixing, mixing_seed_, static_cast<uint64_t>(epoch));
}

ExampleOrder Stage::order_epoch(size_t objective, int64_t epoch) {
  return objectives_[objective].order_epoch(
      epoch, [this](const auto& texts) { return embed_texts(texts); });
}

Matrix<float> Stage::embed_texts(const std::vector<std::vector<int32_t>>& texts) {
  optimizer_.flush_rows();
  EncodeOptions options;
  options.normalize = false;
  const SentenceEncoder encoder(model_.encoder.weight_pointers(), model_.settings,
                                model_.tokenizer);
  return encoder.encode_ids(texts, options, events_);
}

StepResult Stage::step(int64_t step, size_t number, const std::vector<int32_t>& batch) {
  Objective& objective = objectives_[number];
  const PackedBatch packed = objective.pack(batch);
  optimizer_.prepare_rows(packed.ids);

  const torch::Tensor loss = objective.compute(embed_batch(packed, step), batch);
  StepResult result;
  if (objectives_.size() > 1) result.objective = objective.name();
  result.loss = loss.item<double>();
  if (!std::isfinite(result.loss)) fail_step(step, objective, batch, "loss", result.loss);
  const double weight = objective.options().weight;
  (weight == 1 ? loss : loss * weight).backward();

  result.learning_rate =
      options_.learning_rate * schedule_factor(options_.schedule, step, total_steps());
  result.gradient_norm =
      optimizer_.step(result.learning_rate, model_.encoder.gradients(), loss_gradients());
  if (!std::isfinite(result.gradient_norm)) {
    fail_step(step, objective, batch, "gradient norm", result.gradient_norm);
  }
  // Momentum moves the temperatures of the other objectives too.
  for (Objective& each : objectives_) each.loss().clamp_parameters();
  result.values = objective.loss().values();
  return result;
}

std::vector<float*> Stage::loss_gradients() const {
  std::vector<float*> gradients;
  for (const Objective& objective : objectives_) {
    for (const LossParameter& parameter : objective.parameters()) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      gradients.push_back(gradient.defined() ? gradient.data_ptr<float>() : nullptr);
    }
  }
  return gradients;
}

torch::Tensor Stage::embed_batch(const PackedBatch& packed, int64_t step) {
  const EncoderConfig& config = model_.settings.encoder;
  EncoderDropout dropout;
  dropout.hidden = static_cast<float>(config.hidden_dropout);
  dropout.attention = static_cast<float>(config.attention_dropout);
  dropout.key = dropout_key_;
  dropout.step = static_cast<uint64_t>(step);
  return pool_tokens(model_.encoder.forward(packed, dropout), packed.offsets,
                     model_.settings.pooling);
}

void Stage::fail_step(int64_t step, const Objective& objective, const std::vector<int32_t>& batch,
                      const char* what, double value) const {
  throw Error(ErrorKind::kFailed,
              fmt::format("{} of step {} is {} (pairs {} of {}, numbered from 0); likely causes: a "
                          "learning rate too high ({}), a temperature too low, or a model whose "
                          "weights are damaged; the last checkpoint is kept",
                          what, step, value, fmt::join(batch, ", "),
                          objective.options().data.file(), options_.learning_rate));
}

}  // namespace simile
