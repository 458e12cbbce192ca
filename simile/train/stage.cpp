// SPDX-License-Identifier: Apache-2.0
#include "simile/train/stage.h"

#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <numeric>
#include <set>

#include "simile/batch/plan.h"
#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/matrix_product.h"
#include "simile/nn/head.h"
#include "simile/nn/trainable_encoder.h"

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
    const LossSizes sizes{
        model.settings.embedding_size(), teachers.empty() ? 0 : teachers[0].dimension(),
        stream_key(model.seed, "loss/" + options.name + suffix), weights.placement().device};
    objectives.emplace_back(objective, options.objective_name(i), data[i], head, sizes,
                            order_seed(model.seed, options, i));
  }
  return objectives;
}

// The gradient of a leaf, from the first on at one place.
torch::Tensor gradient_of(const torch::Tensor& leaf) {
  if (!leaf.grad().defined()) leaf.mutable_grad() = torch::zeros_like(leaf);
  return leaf.grad();
}

// The heads that objectives use, tensor by tensor, shared ones once, then the losses.
std::vector<TrainedTensor> trained_tensors(const StageOptions& options,
                                           const std::vector<Objective>& objectives,
                                           ModelWeights& weights) {
  std::vector<TrainedTensor> tensors;
  const double head_factor =
      options.head_learning_rate > 0 ? options.head_learning_rate / options.learning_rate : 1.0;
  const std::vector<HeadSettings>& heads = weights.head_settings();
  std::set<std::pair<size_t, size_t>> used;  // a head, and a tensor of its layout
  for (const ObjectiveOptions& objective : options.objectives) {
    if (objective.head.empty()) continue;
    const size_t number = find_head(heads, objective.head);
    const HeadSettings& head = heads[number];
    const size_t owner = head.shares.empty() ? number : find_head(heads, head.shares);
    const int64_t H = weights.heads()[number].embedding_size();
    const std::vector<ParameterSlot> layout = head_layout(head, H);
    for (size_t i = 0; i < layout.size(); ++i) {
      used.emplace(layout[i].offset < inner_parameter_count(head, H) ? owner : number, i);
    }
  }
  for (const auto& [number, place] : used) {
    HeadModule& head = weights.heads()[number];
    const ParameterSlot slot = head_layout(head.settings(), head.embedding_size())[place];
    tensors.push_back({head.settings().name + "." + slot.name,
                       head.parameters().detach().narrow(0, slot.offset, slot.size),
                       gradient_of(head.parameters()).narrow(0, slot.offset, slot.size),
                       head_factor, slot.decays});
  }
  for (const Objective& objective : objectives) {
    for (const LossParameter& parameter : objective.parameters()) {
      tensors.push_back({parameter.name, parameter.tensor.detach(), gradient_of(parameter.tensor),
                         parameter.learning_rate / options.learning_rate, false});
    }
  }
  return tensors;
}

// The tokens of the first `end` texts.
int64_t count_tokens(const TrainingSet& set, const std::vector<int32_t>& texts, int64_t end) {
  int64_t tokens = 0;
  for (int64_t i = 0; i < end; ++i) {
    tokens += static_cast<int64_t>(set.texts[static_cast<size_t>(texts[i])].size());
  }
  return tokens;
}

// The weight of each part in a step, see Stage::step(); their sum is 1.
std::vector<double> part_shares(const std::vector<StepPart>& parts) {
  std::map<size_t, std::pair<double, double>> totals;  // of an objective: parts and examples
  for (const StepPart& part : parts) {
    totals[part.objective].first += 1;
    totals[part.objective].second += static_cast<double>(part.examples.size());
  }
  std::vector<double> shares;
  for (const StepPart& part : parts) {
    const auto& [count, examples] = totals[part.objective];
    shares.push_back(count / static_cast<double>(parts.size()) *
                     static_cast<double>(part.examples.size()) / examples);
  }
  return shares;
}

}  // namespace

Stage::Stage(const StageOptions& options, const TrainedModel& model,
             const std::vector<ObjectiveData>& data, EventSink& events)
    : options_(options),
      model_(model),
      events_(events),
      objectives_(make_objectives(options, model, data)),
      optimizer_(place_optimizer(
          options.optimizer, options.frozen ? nullptr : &model.weights.encoder(),
          trained_tensors(options, objectives_, model.weights), model.weights.placement())),
      smoothing_(options.siar, model.weights, model.settings,
                 stream_key(model.seed, "siar/" + options.name),
                 model.processes == nullptr ? nullptr : &model.processes->group),
      dropout_key_(stream_key(model.seed, "dropout/" + options.name)),
      mixing_seed_(stream_key(model.seed, "mixing/" + options.name)) {
  if (model.processes != nullptr) {
    shared_.emplace(*model.processes, options.frozen ? nullptr : &model.weights.encoder(),
                    trained_tensors(options, objectives_, model.weights));
  }
  for (size_t i = 0; i < options_.objectives.size(); ++i) {
    const ObjectiveOptions& objective = options_.objectives[i];
    if (objective.teacher_tokens == 0) continue;
    SIMILE_CHECK(model.processes == nullptr, ErrorKind::kRecipe,
                 "stage '{}': `teacher_tokens` is for one process; set it to 0, or train in one",
                 options_.name);
    token_teachers_.try_emplace(i, objective.teachers.front(), objective.teacher_precision,
                                model.tokenizer, model.settings, events);
  }
  int64_t pairs = 0;
  for (const int32_t objective : mix_epoch(0)) {
    pairs += options_.objectives[static_cast<size_t>(objective)].batch_size;
    ++batches_per_epoch_;
  }
  pairs_per_step_ = static_cast<double>(pairs) / static_cast<double>(steps_per_epoch());
}

int64_t Stage::steps_per_epoch() const {
  return (batches_per_epoch_ + options_.accumulation - 1) / options_.accumulation;
}

int64_t Stage::total_steps() const {
  if (options_.steps > 0) return options_.steps;
  const auto steps = std::llround(options_.epochs * static_cast<double>(steps_per_epoch()));
  return options_.epochs > 0 ? std::max<int64_t>(steps, 1) : 0;  // a part of an epoch is a step
}

std::vector<int32_t> Stage::mix_epoch(int64_t epoch) const {
  std::vector<int64_t> batches;
  std::vector<double> shares;
  for (const Objective& objective : objectives_) {
    batches.push_back(objective.batches_per_epoch());
    shares.push_back(objective.options().share);
  }
  return mix_batches(batches, shares, options_.mixing, mixing_seed_, static_cast<uint64_t>(epoch));
}

Batches Stage::plan_epoch(size_t objective, int64_t epoch) {
  const torch::Device device = model_.weights.placement().device;
  const OrderOptions& order = objectives_[objective].options().order;
  const ProductType products =
      choose_inference_products(order.chosen_precision(device.is_cpu()), device);
  const auto embed_all = [&](const auto& texts) {
    optimizer_->flush_rows();
    const SentenceEncoder encoder(model_.weights.encoder().inference(products), model_.settings,
                                  model_.tokenizer);
    const auto embed = [&](const auto& own) { return embed_for_order(encoder, own, events_); };
    if (model_.processes == nullptr) return embed(texts);
    return embed_in_shares(model_.processes->group, texts, embed);
  };
  return objectives_[objective].plan_epoch(epoch, embed_all, events_);
}

StepBatch Stage::make_batch(int64_t number, const Objective& objective,
                            const std::vector<int32_t>& examples) const {
  const TrainingSet& set = *objective.data().train.examples;
  const EncoderConfig& config = model_.settings.encoder;
  StepBatch batch{objective, examples, {}, {}, {}, static_cast<uint64_t>(number)};
  EncoderDropout dropout = config.dropout();
  dropout.head = static_cast<float>(model_.drop_head);
  dropout.key = dropout_key_;
  dropout.step = batch.step;
  if (!options_.frozen && !shared_) {
    batch.chunks = cut_chunks(set.texts, set.second, set.texts_of(examples),
                              objective.chunk_tokens(), config.shape(), dropout);
  } else if (!options_.frozen) {
    const ProcessGroup& group = model_.processes->group;
    const std::vector<int32_t> texts = set.texts_of(examples);
    const auto rank = static_cast<size_t>(group.rank());
    batch.shares = cut_shares(set.texts, texts, group.size());
    batch.chunks =
        cut_share(set.texts, set.second, texts, batch.shares[rank], batch.shares[rank + 1],
                  objective.chunk_tokens(), config.shape(), dropout);
    if (smoothing_.is_on()) batch.first_token = count_tokens(set, texts, batch.shares[rank]);
  }
  if (const HeadModule* head = objective.head()) {
    const HeadSettings& settings = head->settings();
    batch.head_dropout.probability = settings.dropout;
    batch.head_dropout.key =
        stream_key(model_.seed, fmt::format("head dropout/{}/{}", options_.name, settings.name));
    batch.head_dropout.step = batch.step;
  }
  return batch;
}

torch::Tensor Stage::encode(const BatchChunk& chunk, torch::Tensor* hidden) {
  const torch::Tensor states = model_.weights.encoder().forward(chunk.packed, chunk.dropout);
  if (hidden != nullptr) *hidden = states;
  return pool_tokens(states, chunk.packed.offsets, model_.settings.pooling);
}

Stage::BatchVectors Stage::embed(const StepBatch& batch) {
  const TrainingSet& set = *batch.objective.data().train.examples;
  if (options_.frozen) return {embed_without_dropout(set, set.texts_of(batch.examples)), false, {}};
  if (shared_) return embed_share(batch);
  for (const BatchChunk& chunk : batch.chunks) optimizer_->prepare_rows(chunk.packed.ids);
  if (batch.chunks.size() == 1) {
    BatchVectors result;
    result.vectors = encode(batch.chunks.front(), &result.hidden);
    return result;
  }
  const torch::Tensor vectors =
      encode_without_graph(batch.chunks, [this](const BatchChunk& chunk) { return encode(chunk); });
  return {vectors.requires_grad_(true), true, {}};
}

// The vectors of all processes, after each has encoded its share.
Stage::BatchVectors Stage::embed_share(const StepBatch& batch) {
  const TrainingSet& set = *batch.objective.data().train.examples;
  for (const int32_t text : set.texts_of(batch.examples)) {
    const std::vector<int32_t>& ids = set.texts[static_cast<size_t>(text)];
    optimizer_->prepare_rows(ids);
    shared_->note_rows(ids);
  }
  BatchVectors result;
  result.is_leaf = true;
  torch::Tensor own = no_vectors(model_.settings, model_.weights.placement().device);
  if (batch.chunks.size() == 1) {
    own = result.own = encode(batch.chunks.front());
  } else if (!batch.chunks.empty()) {
    own = encode_without_graph(batch.chunks,
                               [this](const BatchChunk& chunk) { return encode(chunk); });
  }
  result.vectors = model_.processes->group.gather_rows(own, batch.shares).requires_grad_(true);
  return result;
}

// The gradient of a leaf to the weights; `ends_step`: none is added to them after it.
void Stage::carry(const StepBatch& batch, const BatchVectors& embedded, bool ends_step) {
  if (!embedded.is_leaf || batch.chunks.empty()) return;
  torch::Tensor gradient = embedded.vectors.grad();
  if (shared_) {
    const auto rank = static_cast<size_t>(model_.processes->group.rank());
    const int64_t begin = batch.shares[rank];
    gradient = gradient.narrow(0, begin, batch.shares[rank + 1] - begin);
  }
  const auto before_backward = [&](const BatchChunk& chunk) {
    if (shared_ && ends_step && &chunk == &batch.chunks.back()) shared_->overlap();
  };
  if (embedded.own.defined()) {
    before_backward(batch.chunks.front());
    return embedded.own.backward(gradient.contiguous());
  }
  const auto encode_again = [&](const BatchChunk& chunk) {
    before_backward(chunk);
    return encode(chunk);
  };
  carry_gradient(batch.chunks, encode_again, gradient);
}

torch::Tensor Stage::embed_without_dropout(const TrainingSet& set,
                                           const std::vector<int32_t>& texts) {
  if (!options_.frozen) return encode_texts(set, texts);
  torch::NoGradGuard guard;
  // A frozen encoder gives a text the same vector at every step.
  torch::Tensor& vectors = frozen_vectors_[&set];
  if (!vectors.defined()) {
    std::vector<int32_t> all(set.texts.size());
    std::iota(all.begin(), all.end(), 0);
    vectors = encode_texts(set, all);
  }
  return vectors.index_select(0, torch::tensor(texts, torch::kInt32).to(vectors.device()));
}

torch::Tensor Stage::encode_texts(const TrainingSet& set, const std::vector<int32_t>& texts) {
  if (!shared_) return encode_share(set, texts);
  ProcessGroup& group = model_.processes->group;
  const std::vector<int64_t> bounds = cut_shares(set.texts, texts, group.size());
  const auto rank = static_cast<size_t>(group.rank());
  return group.gather_rows(
      encode_share(set, {texts.begin() + bounds[rank], texts.begin() + bounds[rank + 1]}), bounds);
}

torch::Tensor Stage::encode_share(const TrainingSet& set, const std::vector<int32_t>& texts) {
  if (texts.empty()) return no_vectors(model_.settings, model_.weights.placement().device);
  constexpr int64_t kTokens = 8192;  // bounds memory; vectors do not depend on their batch
  return encode_without_graph(
      cut_chunks(set.texts, set.second, texts, kTokens, model_.settings.encoder.shape(), {}),
      [this](const BatchChunk& chunk) { return encode(chunk); });
}

StepResult Stage::step(int64_t step, const std::vector<StepPart>& parts) {
  return within_device_memory("set a smaller batch_size; the last checkpoint is kept", [&] {
    StepResult result;
    const std::vector<double> shares = part_shares(parts);
    const std::vector<PartLoss> losses = add_all_gradients(step, parts, shares);
    if (shared_) shared_->add_up();  // before what may end the run: others have begun to
    for (size_t i = 0; i < parts.size(); ++i) {
      const double value = losses[i].loss.item<double>();
      if (!std::isfinite(value)) fail_step(step, {parts[i]}, "loss", value);
      result.loss += shares[i] * value;
      if (losses[i].penalty.defined()) result.siar += shares[i] * losses[i].penalty.item<double>();
    }
    result.learning_rate =
        options_.learning_rate * schedule_factor(options_.schedule, step, total_steps());
    result.gradient_norm = optimizer_->step(result.learning_rate);
    if (!std::isfinite(result.gradient_norm)) {
      fail_step(step, parts, "gradient norm", result.gradient_norm);
    }
    // Momentum moves the temperatures of the other objectives too.
    for (Objective& each : objectives_) each.loss().clamp_parameters();
    if (smoothing_.has_average()) {
      optimizer_->flush_rows();  // rows that wait would enter the average when they are next used
      smoothing_.follow_weights();
    }
    add_values(parts, result);
    return result;
  });
}

// Again from the first part on, in smaller pieces, while the device's memory does not suffice.
std::vector<Stage::PartLoss> Stage::add_all_gradients(int64_t step,
                                                      const std::vector<StepPart>& parts,
                                                      const std::vector<double>& shares) {
  std::vector<PartLoss> losses;
  while (losses.size() < parts.size()) {
    const size_t i = losses.size();
    const int64_t number = step * options_.accumulation + static_cast<int64_t>(i);
    try {
      losses.push_back(add_gradients(number, parts[i], shares[i], i + 1 == parts.size()));
    } catch (const c10::OutOfMemoryError&) {
      // The processes would no longer make the same calls.
      if (shared_ || !halve_chunks(parts[i])) throw;
      optimizer_->clear_gradients();
      losses.clear();
    }
  }
  return losses;
}

bool Stage::halve_chunks(const StepPart& part) {
  if (options_.frozen || smoothing_.is_on() || token_teachers_.count(part.objective) > 0) {
    return false;
  }
  Objective& objective = objectives_[part.objective];
  const TrainingSet& set = *objective.data().train.examples;
  const std::vector<int32_t> texts = set.texts_of(part.examples);
  const int64_t tokens = count_tokens(set, texts, static_cast<int64_t>(texts.size()));
  if (!objective.halve_chunks(tokens)) return false;
  events_.warning(
      fmt::format("the device's memory does not suffice for a batch of {} tokens{}: at most {} are "
                  "encoded at a time from now on, with the gradient of the whole batch; "
                  "`chunk_tokens: {}` says so from the start",
                  tokens, objectives_.size() > 1 ? fmt::format(" of '{}'", objective.name()) : "",
                  objective.chunk_tokens(), objective.chunk_tokens()));
  return true;
}

// The gradients of one part; its number among the stage's parts makes its masks differ from others.
Stage::PartLoss Stage::add_gradients(int64_t number, const StepPart& part, double share,
                                     bool ends_step) {
  const Objective& objective = objectives_[part.objective];
  const StepBatch batch = make_batch(number, objective, part.examples);
  const BatchVectors embedded = embed(batch);
  LossInput input =
      objective.read(objective.data().train, part.examples, embedded.vectors, batch.head_dropout);
  input.products = model_.weights.placement().loss_products();
  PartLoss result{objective.loss()(input), {}};
  if (const auto teacher = token_teachers_.find(part.objective); teacher != token_teachers_.end()) {
    result.loss =
        result.loss + objective.options().teacher_tokens *
                          teacher->second.loss(embedded.hidden, batch.chunks.front().packed);
  }
  const double weight = objective.options().weight * share;
  torch::Tensor total = weight == 1 ? result.loss : result.loss * weight;
  if (smoothing_.is_on()) {
    result.penalty = smoothing_.penalty(batch, input);
    if (result.penalty.defined()) {
      total = total + (share == 1 ? result.penalty : result.penalty * share);
    }
  }
  total.backward();
  carry(batch, embedded, ends_step);
  return result;
}

// Names what was trained, and what the log shows of it.
void Stage::add_values(const std::vector<StepPart>& parts, StepResult& result) const {
  std::set<size_t> trained;
  for (const StepPart& part : parts) trained.insert(part.objective);
  for (const size_t number : trained) {
    const Objective& objective = objectives_[number];
    if (objectives_.size() > 1) {
      result.objective += (result.objective.empty() ? "" : "+") + objective.name();
    }
    for (const auto& [name, value] : objective.loss().values()) {
      result.values.emplace_back(trained.size() > 1 ? objective.name() + "." + name : name, value);
    }
  }
  if (!smoothing_.is_on()) return;
  result.values.emplace_back("siar", result.siar);
  result.values.emplace_back("siar_skipped", static_cast<double>(smoothing_.skipped()));
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

void Stage::fail_step(int64_t step, const std::vector<StepPart>& parts, const char* what,
                      double value) const {
  constexpr size_t kNamed = 64;
  std::string pairs;
  for (const StepPart& part : parts) {
    const size_t named = std::min(kNamed, part.examples.size());
    pairs += fmt::format("{}pairs {}{} of {}", pairs.empty() ? "" : "; ",
                         fmt::join(part.examples.begin(), part.examples.begin() + named, ", "),
                         named < part.examples.size()
                             ? fmt::format(" and {} more", part.examples.size() - named)
                             : "",
                         objectives_[part.objective].options().data.file());
  }
  throw_error(
      ErrorKind::kFailed,
      "{} of step {} is {} ({}, numbered from 0); likely causes: a learning rate too high ({}), a "
      "temperature too low, or a model whose weights are damaged; the last checkpoint is kept",
      what, step, value, pairs, options_.learning_rate);
}

}  // namespace simile
