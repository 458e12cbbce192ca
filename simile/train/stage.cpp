// SPDX-License-Identifier: Apache-2.0
#include "simile/train/stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "simile/batch/pack.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/neighbours.h"
#include "simile/nn/pooling.h"

namespace simile {
namespace {

std::vector<ExtraParameter> extra_parameters(const std::vector<LossParameter>& parameters,
                                             double learning_rate) {
  std::vector<ExtraParameter> extras;
  for (const LossParameter& parameter : parameters) {
    extras.push_back({parameter.name, parameter.tensor.data_ptr<float>(), parameter.tensor.numel(),
                      parameter.learning_rate / learning_rate, false});
  }
  return extras;
}

std::vector<int32_t> pick(const std::vector<int32_t>& texts, const std::vector<int32_t>& batch) {
  std::vector<int32_t> picked;
  for (const int32_t i : batch) picked.push_back(texts[static_cast<size_t>(i)]);
  return picked;
}

torch::Tensor to_tensor(const std::vector<int32_t>& values) {
  return torch::tensor(values, torch::kInt32).to(torch::kInt64);
}

}  // namespace

Stage::Stage(const StageOptions& options, const TrainedModel& model, const TrainingSet& set,
             EventSink& events)
    : options_(options),
      model_(model),
      events_(events),
      set_(set),
      loss_(options.objective().loss),
      loss_parameters_(loss_.parameters()),
      optimizer_(options.optimizer, encoder_layout(model.encoder.shape()), model.encoder.weights(),
                 deferred_table(encoder_layout(model.encoder.shape()).front()),
                 extra_parameters(loss_parameters_, options.learning_rate)),
      dropout_key_(stream_key(model.seed, "dropout/" + options.name)),
      order_seed_(stream_key(model.seed, "order/" + options.name)) {}

int64_t Stage::batches_per_epoch() const {
  const int64_t size = options_.objective().batch_size;
  return (set_.size() + size - 1) / size;
}

int64_t Stage::total_steps() const {
  if (options_.steps > 0) return options_.steps;
  return std::llround(options_.epochs * static_cast<double>(batches_per_epoch()));
}

ExampleOrder Stage::order_epoch(int64_t epoch) {
  const OrderOptions& order = options_.objective().order;
  if (order.name == "sequential") return order_sequential(set_.size());
  const auto number = static_cast<uint64_t>(epoch);
  if (order.name == "random") return order_random(set_.size(), order_seed_, number);
  const Matrix<float> embeddings = embed_side(order.side == "left" ? set_.left : set_.right);
  const int64_t count = std::min(order.neighbours, set_.size() - 1);
  return order_neighbours(nearest_neighbours(embeddings, count), {set_.left, set_.right}, order,
                          order_seed_, number);
}

// Embeddings [pairs, D] of one side, not normalised, with the weights as they are.
Matrix<float> Stage::embed_side(const std::vector<int32_t>& side) {
  optimizer_.flush_rows();
  std::vector<int32_t> distinct = side;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::vector<int32_t>> sequences;
  std::vector<int64_t> row_of_text(set_.texts.size());
  for (const int32_t text : distinct) {
    row_of_text[static_cast<size_t>(text)] = static_cast<int64_t>(sequences.size());
    sequences.push_back(set_.texts[static_cast<size_t>(text)]);
  }
  EncodeOptions options;
  options.normalize = false;
  const SentenceEncoder encoder(model_.encoder.weight_pointers(), model_.settings,
                                model_.tokenizer);
  const Matrix<float> rows = encoder.encode_ids(sequences, options, events_);
  Matrix<float> embeddings(set_.size(), rows.cols);
  for (int64_t i = 0; i < set_.size(); ++i) {
    std::copy_n(rows.row(row_of_text[static_cast<size_t>(side[static_cast<size_t>(i)])]), rows.cols,
                embeddings.row(i));
  }
  return embeddings;
}

StepResult Stage::step(int64_t step, const std::vector<int32_t>& batch) {
  PackedBatch packed;
  pack_texts(set_.texts, pick(set_.left, batch), packed);
  pack_texts(set_.texts, pick(set_.right, batch), packed);
  for (const auto& column : set_.negatives) pack_texts(set_.texts, pick(column, batch), packed);
  optimizer_.prepare_rows(packed.ids);

  const torch::Tensor loss = loss_(loss_input(embed_batch(packed, step), batch));
  StepResult result;
  result.loss = loss.item<double>();
  if (!std::isfinite(result.loss)) fail_step(step, batch, "loss", result.loss);
  loss.backward();

  result.learning_rate =
      options_.learning_rate * schedule_factor(options_.schedule, step, total_steps());
  std::vector<float*> extra_gradients;
  for (const LossParameter& parameter : loss_parameters_) {
    const torch::Tensor& gradient = parameter.tensor.grad();
    extra_gradients.push_back(gradient.defined() ? gradient.data_ptr<float>() : nullptr);
  }
  result.gradient_norm =
      optimizer_.step(result.learning_rate, model_.encoder.gradients(), extra_gradients);
  if (!std::isfinite(result.gradient_norm)) {
    fail_step(step, batch, "gradient norm", result.gradient_norm);
  }
  loss_.clamp_parameters();
  result.values = loss_.values();
  return result;
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

LossInput Stage::loss_input(const torch::Tensor& embeddings,
                            const std::vector<int32_t>& batch) const {
  const auto size = static_cast<int64_t>(batch.size());
  LossInput input;
  input.left = embeddings.narrow(0, 0, size);
  input.right = embeddings.narrow(0, size, size);
  for (size_t i = 0; i < set_.negatives.size(); ++i) {
    input.negatives.push_back(embeddings.narrow(0, static_cast<int64_t>(2 + i) * size, size));
  }
  std::vector<float> target;
  for (const int32_t i : batch) target.push_back(set_.target[static_cast<size_t>(i)]);
  input.target = torch::tensor(target);
  if (loss_.needs_groups()) {
    input.left_group = to_tensor(pick(set_.left, batch));
    input.right_group = to_tensor(pick(set_.right, batch));
  }
  return input;
}

void Stage::fail_step(int64_t step, const std::vector<int32_t>& batch, const char* what,
                      double value) const {
  throw Error(ErrorKind::kFailed,
              fmt::format("{} of step {} is {} (pairs {} of {}, numbered from 0); likely causes: a "
                          "learning rate too high ({}), a temperature too low, or a model whose "
                          "weights are damaged; the last checkpoint is kept",
                          what, step, value, fmt::join(batch, ", "),
                          options_.objective().data.file(), options_.learning_rate));
}

}  // namespace simile
