// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <algorithm>
#include <chrono>

#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/loss/bsc.h"
#include "simile/train/placement.h"

namespace simile {
namespace {

constexpr double kWorthTelling = 1.0;    // seconds
constexpr double kUsualThreshold = 0.5;  // of losses that have one

// The threshold of the loss, or of the first loss in it that has one; null: none has.
const double* find_threshold(const LossOptions& loss) {
  if (const double* own = find_loss(loss.name).parts(loss).threshold) return own;
  for (const LossTerm& term : loss.of) {
    if (const double* threshold = find_threshold(term)) return threshold;
  }
  return nullptr;
}

LabelledNegatives find_negatives(const ObjectiveOptions& objective, const TrainingSet& set) {
  if (objective.order.labelled_negatives == 0) return {};
  double threshold = objective.order.positive_above;
  if (threshold < 0) {
    const double* of_loss = find_threshold(objective.loss);
    threshold = of_loss != nullptr ? *of_loss : kUsualThreshold;
  }
  std::vector<char> is_positive;
  for (const float target : set.target) is_positive.push_back(target > threshold ? 1 : 0);
  return find_labelled_negatives(set.left, is_positive);
}

OrderData order_data(const ObjectiveOptions& objective, const TrainingSet& set) {
  return {objective.order, objective.batch_size, set.file,    set.texts,    set.left,
          set.right,       set.negatives,        set.classes, set.originals};
}

template <typename T>
std::vector<T> pick(const std::vector<T>& values, const std::vector<int32_t>& examples) {
  std::vector<T> picked;
  for (const int32_t i : examples) picked.push_back(values[static_cast<size_t>(i)]);
  return picked;
}

torch::Tensor pick_numbers(const std::vector<int32_t>& values,
                           const std::vector<int32_t>& examples) {
  return torch::tensor(pick(values, examples), torch::kInt32).to(torch::kInt64);
}

}  // namespace

uint64_t order_seed(uint64_t run_seed, const StageOptions& stage, size_t objective) {
  const std::string suffix = objective == 0 ? "" : fmt::format("/objective {}", objective);
  return stream_key(run_seed, "order/" + stage.name + suffix);
}

Matrix<float> embed_for_order(const SentenceEncoder& encoder,
                              const std::vector<std::vector<int32_t>>& texts, EventSink& events) {
  EncodeOptions options;
  options.normalize = false;
  return encoder.encode_ids(texts, options, events);
}

std::vector<std::string> check_order_data(const ObjectiveOptions& objective,
                                          const TrainingSet& set) {
  const OrderOptions& order = objective.order;
  const OrderRow& row = find_order(order.name);
  if (row.check != nullptr) row.check(order_data(objective, set));
  if (!row.has(OrderRow::kTexts) && order.labelled_negatives == 0) return {};
  const std::string name =
      order.labelled_negatives > 0 ? "order.labelled_negatives" : "order `" + order.name + "`";
  SIMILE_CHECK(set.second.empty(), ErrorKind::kRecipe,
               "{}: {} looks at single texts, a joint head at pairs; choose another order",
               set.file, name);
  SIMILE_CHECK(order.side == "left" || !set.right.empty(), ErrorKind::kRecipe,
               "{}: single texts have no right side; set order.side: left", set.file);
  if (order.labelled_negatives == 0) return {};
  if (objective.mine.is_on() && objective.mine.as_pairs()) return {};  // negatives will come
  SIMILE_CHECK(set.offer.has_target, ErrorKind::kRecipe,
               "{}: the data has no scores, so no pair is labelled negative; remove "
               "order.labelled_negatives, or map a score",
               set.file);
  if (find_negatives(objective, set).attached() > 0) return {};
  return {
      fmt::format("{}: no left text of a positive pair stands in a negative one too, so "
                  "order.labelled_negatives does nothing",
                  set.file)};
}

EpochPlanner::EpochPlanner(const ObjectiveOptions& objective, const ExampleSet& set, uint64_t seed)
    : objective_(objective),
      row_(find_order(objective.order.name)),
      set_(set),
      seed_(seed),
      negatives_(find_negatives(objective, *set.examples)) {
  if (row_.find_words != nullptr) words_ = row_.find_words(data(0));
  if (row_.count != nullptr) {
    batches_ = row_.count(data(0));
  } else if (most_negatives() > 0) {
    batches_ = count_filled_batches(negatives_, most_negatives(), objective_.batch_size);
  } else {
    batches_ = (set_.size() + objective_.batch_size - 1) / objective_.batch_size;
  }
}

// The data of the examples that the order places.
OrderData EpochPlanner::data(int64_t epoch) const {
  OrderData data = order_data(objective_, *set_.examples);
  data.seed = seed_;
  data.epoch = static_cast<uint64_t>(epoch);
  data.words = &words_;
  if (most_negatives() > 0) data.placed = &negatives_.placed;
  return data;
}

Batches EpochPlanner::plan(int64_t epoch, const Embed& embed, EventSink& events) const {
  const auto begin = std::chrono::steady_clock::now();
  OrderData data = this->data(epoch);
  data.embed = embed;
  data.events = &events;
  Batches batches;
  if (row_.plan != nullptr) {
    batches = row_.plan(data, batches_);
  } else if (most_negatives() > 0) {
    ExampleOrder order = row_.order(data);
    for (int32_t& example : order) example = negatives_.placed[static_cast<size_t>(example)];
    FilledBatches filled =
        fill_batches(negatives_, order, most_negatives(), data.batch_size, data.seed, data.epoch);
    const auto attached = negatives_.attached();
    events.info(fmt::format(
        "{}: epoch {}: {} of {} labelled negatives stand beside their anchor, others wait",
        data.file, epoch + 1, attached - filled.left_out, attached));
    batches = std::move(filled.batches);
  } else {
    batches = cut_batches(row_.order(data), data.batch_size);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (elapsed.count() > kWorthTelling) {
    events.info(fmt::format("{}: epoch {}: the order `{}` took {:.1f} s", set_->file, epoch + 1,
                            row_.name, elapsed.count()));
  }
  return batches;
}

LossInput BatchReader::operator()(const ExampleSet& set, const std::vector<int32_t>& examples,
                                  const torch::Tensor& embeddings,
                                  const HeadDropout& dropout) const {
  const auto m = static_cast<int64_t>(examples.size());
  LossInput input;
  // One call for all sides: their gradients come back side by side, in one piece.
  const std::vector<torch::Tensor> sides = embeddings.split(m, 0);
  input.left = sides[0];
  if (!set->right.empty()) input.right = sides[1];
  for (size_t i = 0; i < set->negatives.size(); ++i) input.negatives.push_back(sides[2 + i]);
  input.target = torch::tensor(pick(set->target, examples));
  if (!set->classes.empty()) input.classes = pick_numbers(set->classes, examples);
  if (loss.needs_groups()) {
    input.left_group = pick_numbers(set->left, examples);
    if (!set->right.empty()) input.right_group = pick_numbers(set->right, examples);
  }
  if (head != nullptr) {
    input.logits = head->logits(input.left, input.right, dropout);
    if (loss.needs().cross_logits) {
      input.cross_logits = head->cross_logits(input.left, right_texts(input), dropout);
    }
  }
  for (const TeacherVectors& teacher : set.teachers) {
    input.left_teachers.push_back(teacher.read(pick(set->left, examples)));
    if (set->right.empty()) continue;
    input.right_teachers.push_back(teacher.read(pick(set->right, examples)));
  }
  place_batch(input);
  return input;
}

Objective::Objective(const ObjectiveOptions& options, const std::string& name,
                     const ObjectiveData& data, HeadModule* head, const LossSizes& sizes,
                     uint64_t order_seed)
    : options_(options),
      name_(name),
      data_(data),
      head_(head),
      loss_(options.loss, sizes),
      parameters_(loss_.parameters()),
      planner_(options, data.train, order_seed),
      chunk_tokens_(options.chunk_tokens) {}

bool Objective::halve_chunks(int64_t batch_tokens) {
  constexpr int64_t kMin = 256;
  const int64_t now = chunk_tokens_ > 0 ? std::min(chunk_tokens_, batch_tokens) : batch_tokens;
  int64_t next = kMin;
  while (next * 4 <= now) next *= 2;
  if (next * 2 > now) return false;
  chunk_tokens_ = next;
  return true;
}

}  // namespace simile
