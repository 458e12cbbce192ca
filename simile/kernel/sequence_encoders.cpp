// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/sequence_encoders.h"

#include <algorithm>

#include "simile/core/parallel.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kTogether = 64;  // sequences, or rows

// The sequences of the tokens with each id, in the order of the tokens.
struct Occurrences {
  std::vector<int32_t> begins;     // [V + 1] where those of an id begin
  std::vector<int32_t> sequences;  // of all ids, one after the other
  std::vector<int32_t> ids;        // those that occur
};

Occurrences find_occurrences(const PackedBatch& batch, const std::vector<uint8_t>& trained) {
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
  std::vector<int32_t> next(found.begins.begin(), found.begins.end() - 1);
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int32_t end = batch.offsets[static_cast<size_t>(i) + 1];
    for (int32_t t = batch.offsets[i]; t < end; ++t) {
      found.sequences[next[batch.ids[t]]++] = static_cast<int32_t>(i);
    }
  }
  return found;
}

int64_t length_of(const PackedBatch& batch, int64_t sequence) {
  const auto i = static_cast<size_t>(sequence);
  return batch.offsets[i + 1] - batch.offsets[i];
}

}  // namespace

void StaticEncoder::average(const PackedBatch& batch, int64_t sequence, float* hidden) const {
  RowSumCall call{};
  call.width = shape_.hidden;
  call.count = length_of(batch, sequence);
  call.which = batch.ids.data() + batch.offsets[sequence];
  call.weights = table_.bytes == nullptr ? nullptr : table_.scales;
  call.factor = 1.0f / static_cast<float>(std::max<int64_t>(call.count, 1));
  call.sum = hidden;
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

void add_row_gradients(const PackedBatch& batch, const float* hidden_gradient, int64_t columns,
                       const std::vector<uint8_t>& trained, float* gradient) {
  const Occurrences found = find_occurrences(batch, trained);
  std::vector<float> shares;  // of a token in its sequence's mean
  for (int64_t i = 0; i < batch.size(); ++i) {
    shares.push_back(1.0f / static_cast<float>(std::max<int64_t>(length_of(batch, i), 1)));
  }
  const auto rows = static_cast<int64_t>(found.ids.size());
  run_parallel(rows, kTogether, [&](int64_t i) {
    const auto id = static_cast<size_t>(found.ids[i]);
    RowSumCall call{};
    call.width = columns;
    call.count = found.begins[id + 1] - found.begins[id];
    call.which = found.sequences.data() + found.begins[id];
    call.weights = shares.data();
    call.factor = 1.0f;
    call.accumulate = true;
    call.sum = gradient + static_cast<int64_t>(id) * columns;
    vector_kernels().sum_float_rows(call, hidden_gradient);
  });
}

}  // namespace simile
