// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/joined_encoder.h"

#include <algorithm>
#include <utility>

#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

int64_t length_of(const PackedBatch& batch, int64_t sequence) {
  const auto i = static_cast<size_t>(sequence);
  return batch.offsets[i + 1] - batch.offsets[i];
}

bool sees_all(const EncoderPart& part, const PackedBatch& batch) {
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (length_of(batch, i) > part.longest) return false;
  }
  return true;
}

// Unit vectors [sequences, part.size()] of what the part sees.
std::vector<float> part_vectors(const EncoderPart& part, const Encoder& encoder,
                                const PackedBatch& seen) {
  const int64_t B = seen.size(), H = part.shape.hidden;
  std::vector<float> states(static_cast<size_t>(encoder.states(seen) * H));
  encoder(seen, states.data());
  std::vector<float> vectors;
  if (part.pooling.empty()) {
    vectors = std::move(states);
  } else {
    vectors.resize(static_cast<size_t>(B * part.size()));
    pool_states(part.pooling, states.data(), seen.offsets, H, vectors.data());
  }
  normalise_rows(vectors.data(), B, part.size());
  return vectors;
}

}  // namespace

EncoderShape joined_shape(std::vector<EncoderPart> parts) {
  EncoderShape shape;
  shape.vocabulary = parts.empty() ? 0 : parts.front().shape.vocabulary;
  for (const EncoderPart& part : parts) {
    shape.hidden += part.size();
    shape.vocabulary = std::min(shape.vocabulary, part.shape.vocabulary);
    shape.positions = std::max(shape.positions, part.longest);
  }
  shape.parts = std::move(parts);
  return shape;
}

std::vector<int64_t> part_offsets(const EncoderShape& shape) {
  std::vector<int64_t> offsets = {0};
  for (const EncoderPart& part : shape.parts) {
    offsets.push_back(offsets.back() + encoder_parameter_count(part.shape));
  }
  return offsets;
}

std::vector<int32_t> part_tokens(const EncoderPart& part, const PackedBatch& batch) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t begin = batch.offsets[static_cast<size_t>(i)], length = length_of(batch, i);
    const int64_t closing = length > part.longest ? part.closing : 0;
    const int64_t first = std::min(length, part.longest) - closing;
    for (int64_t t = 0; t < first; ++t) tokens.push_back(static_cast<int32_t>(begin + t));
    for (int64_t t = length - closing; t < length; ++t) {
      tokens.push_back(static_cast<int32_t>(begin + t));
    }
  }
  return tokens;
}

PackedBatch part_batch(const EncoderPart& part, const PackedBatch& batch) {
  if (sees_all(part, batch)) return batch;
  PackedBatch seen;
  for (const int32_t token : part_tokens(part, batch)) {
    seen.ids.push_back(batch.ids[static_cast<size_t>(token)]);
    if (batch.type_ids.empty()) continue;
    seen.type_ids.push_back(batch.type_ids[static_cast<size_t>(token)]);
  }
  seen.offsets = {0};
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = std::min(length_of(batch, i), part.longest);
    seen.offsets.push_back(seen.offsets.back() + static_cast<int32_t>(length));
  }
  return seen;
}

std::vector<size_t> perturbed_parts(const EncoderShape& shape) {
  std::vector<size_t> all, attending;
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    all.push_back(i);
    if (!shape.parts[i].shape.averaged) attending.push_back(i);
  }
  return attending.empty() ? all : attending;
}

int64_t perturbed_size(const EncoderShape& shape) {
  if (!shape.is_joined()) return shape.hidden;
  int64_t size = 0;
  for (const size_t i : perturbed_parts(shape)) size += shape.parts[i].shape.hidden;
  return size;
}

JoinedEncoder::JoinedEncoder(const EncoderShape& shape,
                             std::vector<std::shared_ptr<const Encoder>> parts)
    : shape_(shape), parts_(std::move(parts)) {}

void JoinedEncoder::operator()(const PackedBatch& batch, float* hidden) const {
  check_batch(shape_, batch);
  if (batch.size() == 0) return;
  int64_t column = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const EncoderPart& part = shape_.parts[i];
    const int64_t D = part.size();
    const std::vector<float> vectors =
        sees_all(part, batch) ? part_vectors(part, *parts_[i], batch)
                              : part_vectors(part, *parts_[i], part_batch(part, batch));
    for (int64_t b = 0; b < batch.size(); ++b) {
      const float* const vector = vectors.data() + b * D;
      float* const out = hidden + b * shape_.hidden + column;
      for (int64_t j = 0; j < D; ++j) out[j] = part.weight * vector[j];
    }
    column += D;
  }
}

}  // namespace simile
