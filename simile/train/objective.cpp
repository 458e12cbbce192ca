// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <torch/torch.h>

#include <algorithm>

#include "simile/batch/pack.h"
#include "simile/index/neighbours.h"

namespace simile {
namespace {

std::vector<int32_t> pick(const std::vector<int32_t>& texts, const std::vector<int32_t>& batch) {
  std::vector<int32_t> picked;
  for (const int32_t i : batch) picked.push_back(texts[static_cast<size_t>(i)]);
  return picked;
}

torch::Tensor to_tensor(const std::vector<int32_t>& values) {
  return torch::tensor(values, torch::kInt32).to(torch::kInt64);
}

}  // namespace

Objective::Objective(const ObjectiveOptions& options, const std::string& name,
                     const TrainingSet& set, uint64_t order_seed)
    : options_(options),
      name_(name),
      set_(set),
      loss_(options.loss),
      parameters_(loss_.parameters()),
      order_seed_(order_seed) {}

int64_t Objective::batches_per_epoch() const {
  return (set_.size() + options_.batch_size - 1) / options_.batch_size;
}

ExampleOrder Objective::order_epoch(int64_t epoch, const Embed& embed) const {
  const OrderOptions& order = options_.order;
  if (order.name == "sequential") return order_sequential(set_.size());
  const auto number = static_cast<uint64_t>(epoch);
  if (order.name == "random") return order_random(set_.size(), order_seed_, number);
  const Matrix<float> embeddings = embed_side(order.side == "left" ? set_.left : set_.right, embed);
  const int64_t count = std::min(order.neighbours, set_.size() - 1);
  return order_neighbours(nearest_neighbours(embeddings, count), {set_.left, set_.right}, order,
                          order_seed_, number);
}

// Embeddings [pairs, D] of one side; every distinct text is embedded once.
Matrix<float> Objective::embed_side(const std::vector<int32_t>& side, const Embed& embed) const {
  std::vector<int32_t> distinct = side;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::vector<int32_t>> sequences;
  std::vector<int64_t> row_of_text(set_.texts.size());
  for (const int32_t text : distinct) {
    row_of_text[static_cast<size_t>(text)] = static_cast<int64_t>(sequences.size());
    sequences.push_back(set_.texts[static_cast<size_t>(text)]);
  }
  const Matrix<float> rows = embed(sequences);
  Matrix<float> embeddings(set_.size(), rows.cols);
  for (int64_t i = 0; i < set_.size(); ++i) {
    std::copy_n(rows.row(row_of_text[static_cast<size_t>(side[static_cast<size_t>(i)])]), rows.cols,
                embeddings.row(i));
  }
  return embeddings;
}

PackedBatch Objective::pack(const std::vector<int32_t>& batch) const {
  PackedBatch packed;
  pack_texts(set_.texts, pick(set_.left, batch), packed);
  pack_texts(set_.texts, pick(set_.right, batch), packed);
  for (const auto& column : set_.negatives) pack_texts(set_.texts, pick(column, batch), packed);
  return packed;
}

torch::Tensor Objective::compute(const torch::Tensor& embeddings,
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
  return loss_(input);
}

}  // namespace simile
