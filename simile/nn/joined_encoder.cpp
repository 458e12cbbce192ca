// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/joined_encoder.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "simile/nn/head.h"

namespace simile {
namespace {

// The columns of a part, from its states for the batch as it sees it.
torch::Tensor weighted_units(const EncoderPart& part, const torch::Tensor& states,
                             const PackedBatch& seen) {
  Pooling pooling;
  pooling.modes = part.pooling;
  const torch::Tensor vectors = pool_tokens(states, seen.offsets, pooling);
  const torch::Tensor lengths = vectors.norm(2, {1}, true);
  return vectors / torch::where(lengths > 0, lengths, torch::ones_like(lengths)) * part.weight;
}

}  // namespace

TrainableJoinedEncoder::TrainableJoinedEncoder(const EncoderShape& shape, torch::Device device,
                                               const MakePart& make)
    : TrainableEncoder(shape, allocate_encoder_memory(shape, device)),
      offsets_(part_offsets(shape)) {
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    const int64_t size = offsets_[i + 1] - offsets_[i];
    parts_.push_back(make(shape.parts[i].shape, {parameters().narrow(0, offsets_[i], size),
                                                 gradients().narrow(0, offsets_[i], size)}));
  }
}

void TrainableJoinedEncoder::watch_gradients(const GradientsDone& done) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const auto of_part = [done, first = offsets_[i]](int64_t begin, int64_t end) {
      done(first + begin, first + end);
    };
    parts_[i]->watch_gradients(done ? GradientsDone(of_part) : GradientsDone());
  }
}

void TrainableJoinedEncoder::weights_set() {
  for (const auto& part : parts_) part->weights_set();
}

// Of each part; not defined for one that is not perturbed.
std::vector<torch::Tensor> TrainableJoinedEncoder::split_perturbation(
    const torch::Tensor& perturbation, const PackedBatch& batch) const {
  std::vector<torch::Tensor> split(parts_.size());
  if (!perturbation.defined()) return split;
  int64_t column = 0;
  for (const size_t i : perturbed_parts(shape())) {
    const EncoderPart& part = shape().parts[i];
    const torch::Tensor tokens =
        torch::tensor(part_tokens(part, batch), torch::kInt32).to(perturbation.device());
    split[i] = perturbation.narrow(1, column, part.shape.hidden).index_select(0, tokens);
    column += part.shape.hidden;
  }
  return split;
}

template <typename Encode>
torch::Tensor TrainableJoinedEncoder::join(const PackedBatch& batch, const Encode& encode) const {
  std::vector<torch::Tensor> columns;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const EncoderPart& part = shape().parts[i];
    const PackedBatch seen = part_batch(part, batch);
    columns.push_back(weighted_units(part, encode(i, seen), seen));
  }
  return torch::cat(columns, 1);
}

torch::Tensor TrainableJoinedEncoder::forward(const PackedBatch& batch,
                                              const EncoderDropout& dropout,
                                              const torch::Tensor& perturbation,
                                              WeightGradients weight_gradients) {
  const std::vector<torch::Tensor> shifts = split_perturbation(perturbation, batch);
  return join(batch, [&](size_t i, const PackedBatch& seen) {
    return parts_[i]->forward(seen, dropout_of_part(dropout, i), shifts[i], weight_gradients);
  });
}

torch::Tensor TrainableJoinedEncoder::forward_with(const torch::Tensor& parameters,
                                                   const PackedBatch& batch,
                                                   const EncoderDropout& dropout) {
  torch::NoGradGuard guard;
  return join(batch, [&](size_t i, const PackedBatch& seen) {
    const torch::Tensor own = parameters.narrow(0, offsets_[i], offsets_[i + 1] - offsets_[i]);
    return parts_[i]->forward_with(own, seen, dropout_of_part(dropout, i));
  });
}

}  // namespace simile
