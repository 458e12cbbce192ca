// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/sequence_encoders.h"

#include <algorithm>
#include <utility>

#include "simile/core/parallel.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/pooling.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kTogether = 64;  // sequences, or rows

// The sequences and shares of the tokens with each id, in the order of the tokens.
struct Occurrences {
  std::vector<int32_t> begins;     // [V + 1] where those of an id begin
  std::vector<int32_t> sequences;  // of all ids, one after the other
  std::vector<float> shares;
  std::vector<int32_t> ids;  // those that occur
};

Occurrences find_occurrences(const PackedBatch& batch, const std::vector<float>& shares,
                             const std::vector<uint8_t>& trained) {
  Occurrences found;
  const size_t rows = trained.size();
  std::vector<int32_t> counts(rows, 0);
  for (const int32_t id : batch.ids) ++counts[id];
  found.begins.resize(rows + 1, 0);
  for (size_t id = 0; id < rows; ++id) {
    found.begins[id + 1] = found.begins[id] + counts[id];
    if (counts[id] > 0 && trained[id] != 0) found.ids.push_back(static_cast<int32_t>(id));
  }
  found.sequences.resize(batch.ids.size());
  found.shares.resize(batch.ids.size());
  std::vector<int32_t> next(found.begins.begin(), found.begins.end() - 1);
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int32_t end = batch.offsets[static_cast<size_t>(i) + 1];
    for (int32_t t = batch.offsets[i]; t < end; ++t) {
      const auto id = static_cast<size_t>(batch.ids[t]);
      const auto place = static_cast<size_t>(next[id]++);
      found.sequences[place] = static_cast<int32_t>(i);
      found.shares[place] = shares[t];
    }
  }
  return found;
}

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
  std::vector<float> states(encoder.states(seen) * H);
  encoder(seen, states.data());
  std::vector<float> vectors;
  if (part.pooling.empty()) {
    vectors = std::move(states);
  } else {
    vectors.resize(B * part.size());
    pool_states(part.pooling, states.data(), seen.offsets, H, vectors.data());
  }
  normalise_rows(vectors.data(), B, part.size());
  return vectors;
}

}  // namespace

StaticEncoder::StaticEncoder(const EncoderShape& shape, const StaticTable& table)
    : shape_(shape), table_(table), weights_(shape) {}

void StaticEncoder::average(const PackedBatch& batch, int64_t sequence, float* hidden) const {
  const int64_t begin = batch.offsets[sequence];
  const int64_t length = batch.offsets[static_cast<size_t>(sequence) + 1] - begin;
  RowSumCall call{};
  call.width = shape_.hidden;
  call.count = length;
  call.which = batch.ids.data() + begin;
  call.weights = table_.bytes == nullptr ? nullptr : table_.scales;
  call.factor = 1.0f / static_cast<float>(std::max<int64_t>(length, 1));
  call.sum = hidden;
  if (shape_.weighs_tokens()) {
    thread_local std::vector<float> shares;
    shares.resize(length);
    weights_(call.which, length, shares.data());
    call.shares = shares.data();
    call.factor = 1.0f;
  }
  const VectorKernels& kernels = vector_kernels();
  if (table_.floats != nullptr) return kernels.sum_float_rows(call, table_.floats);
  if (table_.bytes != nullptr) return kernels.sum_byte_rows(call, table_.bytes);
  kernels.sum_half_rows(call, table_.halves);
}

void StaticEncoder::operator()(const PackedBatch& batch, float* hidden) const {
  check_batch(shape_, batch);
  run_parallel(batch.size(), kTogether,
               [&](int64_t i) { average(batch, i, hidden + i * shape_.hidden); });
}

std::vector<uint8_t> trained_rows(const float* table, int64_t rows, int64_t columns) {
  std::vector<uint8_t> trained(rows);
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = table + i * columns;
    trained[i] = std::any_of(row, row + columns, [](float value) { return value != 0.0f; }) ? 1 : 0;
  }
  return trained;
}

void add_row_gradients(const PackedBatch& batch, const std::vector<float>& shares,
                       const float* hidden_gradient, int64_t columns,
                       const std::vector<uint8_t>& trained, float* gradient) {
  const Occurrences found = find_occurrences(batch, shares, trained);
  const auto rows = static_cast<int64_t>(found.ids.size());
  run_parallel(rows, kTogether, [&](int64_t i) {
    const auto id = static_cast<size_t>(found.ids[i]);
    RowSumCall call{};
    call.width = columns;
    call.count = found.begins[id + 1] - found.begins[id];
    call.which = found.sequences.data() + found.begins[id];
    call.shares = found.shares.data() + found.begins[id];
    call.factor = 1.0f;
    call.accumulate = true;
    call.sum = gradient + static_cast<int64_t>(id) * columns;
    vector_kernels().sum_float_rows(call, hidden_gradient);
  });
}

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
    const int64_t begin = batch.offsets[i], length = length_of(batch, i);
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
    seen.ids.push_back(batch.ids[token]);
    if (batch.type_ids.empty()) continue;
    seen.type_ids.push_back(batch.type_ids[token]);
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
