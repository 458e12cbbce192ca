// SPDX-License-Identifier: Apache-2.0
#include "simile/train/stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <cmath>
#include <numeric>
#include <set>

#include "simile/batch/mixing.h"
#include "simile/batch/pack.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/nn/pooling.h"

namespace simile {
namespace {

std::vector<Objective> make_objectives(const StageOptions& options, const TrainedModel& model,
                                       const std::vector<ObjectiveData>& data) {
  std::vector<Objective> objectives;
  for (size_t i = 0; i < options.objectives.size(); ++i) {
    const ObjectiveOptions& objective = options.objectives[i];
    const std::string suffix = i == 0 ? "" : fmt::format("/objective {}", i);
    ModelWeights& weights = model.weights;
    HeadModule* head = objective.head.empty()
                           ? nullptr
                           : &weights.heads()[find_head(weights.head_settings(), objective.head)];
    const auto& teachers = data[i].train.teachers;
    const LossSizes sizes{model.settings.encoder.hidden,
                          teachers.empty() ? 0 : teachers[0].dimension(),
                          stream_key(model.seed, "loss/" + options.name + suffix)};
    objectives.emplace_back(objective, options.objective_name(i), data[i], head, sizes,
                            stream_key(model.seed, "order/" + options.name + suffix));
  }
  return objectives;
}

std::vector<size_t> find_trained_heads(const StageOptions& options, const ModelWeights& weights) {
  std::set<size_t> heads;
  for (const ObjectiveOptions& objective : options.objectives) {
    if (!objective.head.empty()) heads.insert(find_head(weights.head_settings(), objective.head));
  }
  return {heads.begin(), heads.end()};
}

// Of the heads tensor by tensor, then of the losses: extra_gradients() has the same order.
std::vector<ExtraParameter> extra_parameters(const StageOptions& options,
                                             const std::vector<Objective>& objectives,
                                             const std::vector<size_t>& heads,
                                             ModelWeights& weights) {
  std::vector<ExtraParameter> extras;
  const double head_factor =
      options.head_learning_rate > 0 ? options.head_learning_rate / options.learning_rate : 1.0;
  for (const size_t number : heads) {
    HeadModule& head = weights.heads()[number];
    for (const ParameterSlot& slot : head_layout(head.settings(), head.embedding_size())) {
      extras.push_back({head.settings().name + "." + slot.name, head.weights() + slot.offset,
                        slot.size, head_factor, slot.decays});
    }
  }
  for (const Objective& objective : objectives) {
    for (const LossParameter& parameter : objective.parameters()) {
      extras.push_back({parameter.name, parameter.tensor.data_ptr<float>(),
                        parameter.tensor.numel(), parameter.learning_rate / options.learning_rate,
                        false});
    }
  }
  return extras;
}

Optimizer make_optimizer(const StageOptions& options, const std::vector<Objective>& objectives,
                         const std::vector<size_t>& heads, ModelWeights& weights) {
  const std::vector<ExtraParameter> extras = extra_parameters(options, objectives, heads, weights);
  if (options.frozen) return Optimizer(options.optimizer, {}, nullptr, {}, extras);
  EncoderNode& encoder = weights.encoder();
  const std::vector<ParameterSlot> slots = encoder_layout(encoder.shape());
  return Optimizer(options.optimizer, slots, encoder.weights(), deferred_table(slots.front()),
                   extras);
}

}  // namespace

Stage::Stage(const StageOptions& options, const TrainedModel& model,
             const std::vector<ObjectiveData>& data, EventSink& events)
    : options_(options),
      model_(model),
      events_(events),
      objectives_(make_objectives(options, model, data)),
      trained_heads_(find_trained_heads(options, model.weights)),
      optimizer_(make_optimizer(options, objectives_, trained_heads_, model.weights)),
      smoothing_(options.siar, model.weights, model.settings.pooling,
                 stream_key(model.seed, "siar/" + options.name)),
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
  const SentenceEncoder encoder(model_.weights.encoder().weight_pointers(), model_.settings,
                                model_.tokenizer);
  return encoder.encode_ids(texts, options, events_);
}

StepBatch Stage::make_batch(int64_t step, const Objective& objective,
                            const std::vector<int32_t>& examples) const {
  const TrainingSet& set = *objective.data().train.examples;
  const EncoderConfig& config = model_.settings.encoder;
  StepBatch batch{objective, examples, {}, {}, {}, static_cast<uint64_t>(step)};
  if (!options_.frozen) {
    batch.packed = pack_texts(set.texts, set.second, set.texts_of(examples));
  }
  batch.dropout.hidden = static_cast<float>(config.hidden_dropout);
  batch.dropout.attention = static_cast<float>(config.attention_dropout);
  batch.dropout.head = static_cast<float>(model_.drop_head);
  batch.dropout.key = dropout_key_;
  batch.dropout.step = batch.step;
  if (const HeadModule* head = objective.head()) {
    const HeadSettings& settings = head->settings();
    batch.head_dropout.probability = settings.dropout;
    batch.head_dropout.key =
        stream_key(model_.seed, fmt::format("head dropout/{}/{}", options_.name, settings.name));
    batch.head_dropout.step = batch.step;
  }
  return batch;
}

torch::Tensor Stage::encode(const PackedBatch& packed, const EncoderDropout& dropout) {
  return pool_tokens(model_.weights.encoder().forward(packed, dropout), packed.offsets,
                     model_.settings.pooling);
}

torch::Tensor Stage::embed(const StepBatch& batch) {
  const TrainingSet& set = *batch.objective.data().train.examples;
  if (options_.frozen) return embed_without_dropout(set, set.texts_of(batch.examples));
  optimizer_.prepare_rows(batch.packed.ids);
  return encode(batch.packed, batch.dropout);
}

torch::Tensor Stage::embed_without_dropout(const TrainingSet& set,
                                           const std::vector<int32_t>& texts) {
  torch::NoGradGuard guard;
  if (options_.frozen) {
    return frozen_vectors(set).index_select(0, torch::tensor(texts, torch::kInt32));
  }
  return encode(pack_texts(set.texts, set.second, texts), {});
}

// A frozen encoder gives a text the same vector at every step.
const torch::Tensor& Stage::frozen_vectors(const TrainingSet& set) {
  const auto found = frozen_vectors_.find(&set);
  if (found != frozen_vectors_.end()) return found->second;
  constexpr size_t kBlock = 256;  // texts
  std::vector<torch::Tensor> blocks;
  for (size_t begin = 0; begin < set.texts.size(); begin += kBlock) {
    std::vector<int32_t> texts(std::min(kBlock, set.texts.size() - begin));
    std::iota(texts.begin(), texts.end(), static_cast<int32_t>(begin));
    blocks.push_back(encode(pack_texts(set.texts, set.second, texts), {}));
  }
  return frozen_vectors_.emplace(&set, torch::cat(blocks, 0)).first->second;
}

StepResult Stage::step(int64_t step, size_t number, const std::vector<int32_t>& examples) {
  Objective& objective = objectives_[number];
  const StepBatch batch = make_batch(step, objective, examples);
  const LossInput input =
      objective.read(objective.data().train, examples, embed(batch), batch.head_dropout);
  const torch::Tensor loss = objective.loss()(input);
  StepResult result;
  if (objectives_.size() > 1) result.objective = objective.name();
  result.loss = loss.item<double>();
  if (!std::isfinite(result.loss)) fail_step(step, objective, examples, "loss", result.loss);
  const double weight = objective.options().weight;
  torch::Tensor total = weight == 1 ? loss : loss * weight;
  if (smoothing_.is_on()) {
    const torch::Tensor penalty = smoothing_.penalty(batch, input);
    if (penalty.defined()) total = total + penalty;
    result.values.emplace_back("siar", penalty.defined() ? penalty.item<double>() : 0.0);
    result.values.emplace_back("siar_skipped", static_cast<double>(smoothing_.skipped()));
  }
  total.backward();

  result.learning_rate =
      options_.learning_rate * schedule_factor(options_.schedule, step, total_steps());
  result.gradient_norm = optimizer_.step(
      result.learning_rate, options_.frozen ? nullptr : model_.weights.encoder().gradients(),
      extra_gradients());
  if (!std::isfinite(result.gradient_norm)) {
    fail_step(step, objective, examples, "gradient norm", result.gradient_norm);
  }
  // Momentum moves the temperatures of the other objectives too.
  for (Objective& each : objectives_) each.loss().clamp_parameters();
  if (smoothing_.has_average()) {
    optimizer_.flush_rows();  // rows that wait would enter the average when they are next used
    smoothing_.follow_weights();
  }
  const auto values = objective.loss().values();
  result.values.insert(result.values.begin(), values.begin(), values.end());
  return result;
}

std::vector<float*> Stage::extra_gradients() {
  std::vector<float*> gradients;
  for (const size_t number : trained_heads_) {
    HeadModule& head = model_.weights.heads()[number];
    for (const ParameterSlot& slot : head_layout(head.settings(), head.embedding_size())) {
      gradients.push_back(head.gradients() + slot.offset);
    }
  }
  for (const Objective& objective : objectives_) {
    for (const LossParameter& parameter : objective.parameters()) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      gradients.push_back(gradient.defined() ? gradient.data_ptr<float>() : nullptr);
    }
  }
  return gradients;
}

double Stage::measure_loss(const Objective& objective) {
  torch::NoGradGuard guard;
  const ExampleSet& set = objective.data().dev;
  double sum = 0;
  for (const auto& examples :
       cut_batches(order_sequential(set.size()), objective.options().batch_size)) {
    const torch::Tensor vectors = embed_without_dropout(*set.examples, set->texts_of(examples));
    const LossInput input = objective.read(set, examples, vectors, {});
    sum += objective.loss()(input).item<double>() * static_cast<double>(examples.size());
  }
  return sum / static_cast<double>(set.size());
}

std::optional<Report> Stage::measure_losses() {
  Report report;
  report.task = report.name = kLossEvaluation;
  double all = 0;
  for (const Objective& objective : objectives_) {
    const int64_t size = objective.data().dev.size();
    if (size == 0) continue;
    const double loss = measure_loss(objective);
    report.examples += size;
    report.metrics.emplace_back(objective.name(), loss);
    all += objective.options().weight * loss;
  }
  if (report.metrics.empty()) return std::nullopt;
  report.metrics.emplace_back("all", all);
  return report;
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
