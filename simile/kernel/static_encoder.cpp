// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/static_encoder.h"

#include <algorithm>

#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kSequencesTogether = 64;
constexpr int64_t kColumnsTogether =
    64;  // of all rows they stay in the cache while all tokens pass

// Adds the row of `id` to sum [H]; `row` [H] is for a row of halves.
void add_row(const StaticTable& table, int64_t id, int64_t H, float* row, float* sum) {
  const VectorKernels& kernels = vector_kernels();
  if (table.floats != nullptr) return kernels.add_to(H, table.floats + id * H, sum);
  if (table.bytes != nullptr) {
    return kernels.add_bytes(H, table.bytes + id * H, table.scales[id], sum);
  }
  halves_to_floats(table.halves + id * H, H, row);
  kernels.add_to(H, row, sum);
}

void average(const StaticTable& table, const PackedBatch& batch, int64_t H, int64_t sequence,
             float* hidden) {
  static thread_local std::vector<float> row;
  row.resize(static_cast<size_t>(H));
  std::fill_n(hidden, H, 0.0f);
  const int64_t begin = batch.offsets[static_cast<size_t>(sequence)];
  const int64_t end = batch.offsets[static_cast<size_t>(sequence) + 1];
  for (int64_t t = begin; t < end; ++t) {
    add_row(table, batch.ids[static_cast<size_t>(t)], H, row.data(), hidden);
  }
  const float share = 1.0f / static_cast<float>(std::max<int64_t>(end - begin, 1));
  for (int64_t j = 0; j < H; ++j) hidden[j] *= share;
}

}  // namespace

StaticEncoder::StaticEncoder(const EncoderShape& shape, const StaticTable& table)
    : shape_(shape), table_(table) {}

void StaticEncoder::operator()(const PackedBatch& batch, float* hidden) const {
  check_batch(shape_, batch);
  const int64_t H = shape_.hidden;
  run_parallel(batch.size(), kSequencesTogether,
               [&](int64_t i) { average(table_, batch, H, i, hidden + i * H); });
}

std::vector<uint8_t> trained_rows(const float* table, int64_t rows, int64_t columns) {
  std::vector<uint8_t> trained(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = table + i * columns;
    trained[static_cast<size_t>(i)] =
        std::any_of(row, row + columns, [](float value) { return value != 0.0f; }) ? 1 : 0;
  }
  return trained;
}

void add_row_gradients(const PackedBatch& batch, const float* hidden_gradient, int64_t columns,
                       const std::vector<uint8_t>& trained, float* gradient) {
  run_parallel_blocks(columns, kColumnsTogether, [&](int64_t first, int64_t end) {
    const int64_t width = end - first;
    float share[kColumnsTogether];
    for (int64_t i = 0; i < batch.size(); ++i) {
      const int64_t begin = batch.offsets[static_cast<size_t>(i)];
      const int64_t length = batch.offsets[static_cast<size_t>(i) + 1] - begin;
      const float scale = 1.0f / static_cast<float>(std::max<int64_t>(length, 1));
      const float* of_sequence = hidden_gradient + i * columns + first;
      for (int64_t j = 0; j < width; ++j) share[j] = of_sequence[j] * scale;
      for (int64_t t = begin; t < begin + length; ++t) {
        const int64_t id = batch.ids[static_cast<size_t>(t)];
        if (trained[static_cast<size_t>(id)] == 0) continue;
        vector_kernels().add_to(width, share, gradient + id * columns + first);
      }
    }
  });
}

}  // namespace simile
