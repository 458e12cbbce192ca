// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <torch/types.h>

#include <algorithm>

#include "simile/loss/bsc.h"
#include "simile/train/placement.h"

namespace simile {
namespace {

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

// The teacher's vectors [m, E] of one side.
torch::Tensor read_rows(const EmbeddingStore& store, const std::vector<int32_t>& texts) {
  const torch::Tensor rows =
      torch::empty({static_cast<int64_t>(texts.size()), store.dimension()}, torch::kFloat32);
  float* out = rows.data_ptr<float>();
  for (const int32_t text : texts) {
    store.row(text, out);
    out += store.dimension();
  }
  return rows;
}

void add_teachers(const ExampleSet& set, const std::vector<int32_t>& examples, LossInput& input) {
  for (const EmbeddingStore& store : set.teachers) {
    input.left_teachers.push_back(read_rows(store, pick(set->left, examples)));
    if (set->right.empty()) continue;
    input.right_teachers.push_back(read_rows(store, pick(set->right, examples)));
  }
}

}  // namespace

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
  add_teachers(set, examples, input);
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
