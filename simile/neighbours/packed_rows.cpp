// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/packed_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile::detail {
namespace {

std::vector<int32_t> all_rows(int64_t rows) {
  std::vector<int32_t> ids(static_cast<size_t>(rows));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

void gather_rows(const Matrix<float>& vectors, const int32_t* ids, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(vectors.row(ids[i]), vectors.cols, to + i * vectors.cols);
  }
}

PackedRows::PackedRows(const Matrix<float>& vectors)
    : PackedRows(vectors, all_rows(vectors.rows), {0, vectors.rows}) {}

PackedRows::PackedRows(const Matrix<float>& vectors, std::vector<int32_t> order,
                       std::vector<int64_t> offsets)
    : order_(std::move(order)), offsets_(std::move(offsets)), bias_(order_.size()) {
  for (int64_t block = 0; block < blocks(); ++block) {
    packed_.emplace_back(size(block), vectors.cols);
  }
  run_parallel(blocks(), 1, [&](int64_t block) { pack_block(vectors, block); });
}

void PackedRows::pack_block(const Matrix<float>& vectors, int64_t block) {
  const int64_t D = vectors.cols;
  std::vector<float> rows(static_cast<size_t>(std::min(kPackedRows, size(block)) * D));
  for (int64_t first = 0; first < size(block); first += kPackedRows) {
    const int64_t count = std::min(kPackedRows, size(block) - first);
    gather_rows(vectors, order_.data() + begin(block) + first, count, rows.data());
    packed_[static_cast<size_t>(block)].set_columns(first, count, rows.data());
    for (int64_t j = 0; j < count; ++j) {
      bias_[static_cast<size_t>(begin(block) + first + j)] =
          static_cast<float>(-0.5 * vector_kernels().sum_of_squares(rows.data() + j * D, D));
    }
  }
}

void PackedRows::score(int64_t block, int64_t first, int64_t rows, const float* queries,
                       int64_t count, float* scores, int64_t stride) const {
  packed_[static_cast<size_t>(block)].multiply_columns(
      queries, count, first, rows, bias_.data() + begin(block) + first, scores, stride);
}

}  // namespace simile::detail
