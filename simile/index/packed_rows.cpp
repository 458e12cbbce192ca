// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/packed_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simile/index/detail/parallel.h"
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
    : D_(vectors.cols),
      order_(std::move(order)),
      offsets_(std::move(offsets)),
      bias_(order_.size()) {
  panels_at_ = {0};
  for (int64_t block = 0; block < blocks(); ++block) {
    panels_at_.push_back(panels_at_.back() + panel_floats(vector_kernels(), size(block), D_));
  }
  panels_.reset(new float[static_cast<size_t>(panels_at_.back())]);  // written by pack_block alone
  run_tasks(blocks(), [&](int64_t block) { pack_block(vectors, block); });
}

void PackedRows::pack_block(const Matrix<float>& vectors, int64_t block) {
  const VectorKernels& kernels = vector_kernels();
  std::vector<float> rows(static_cast<size_t>(std::min(kPackedRows, size(block)) * D_));
  for (int64_t first = 0; first < size(block); first += kPackedRows) {
    const int64_t count = std::min(kPackedRows, size(block) - first);
    gather_rows(vectors, order_.data() + begin(block) + first, count, rows.data());
    kernels.pack_rows(rows.data(), count, D_, D_,
                      panels_.get() + panels_at_[static_cast<size_t>(block)] + first * D_);
    for (int64_t j = 0; j < count; ++j) {
      bias_[static_cast<size_t>(begin(block) + first + j)] =
          static_cast<float>(-0.5 * kernels.sum_of_squares(rows.data() + j * D_, D_));
    }
  }
}

void PackedRows::score(int64_t block, int64_t first, int64_t rows, const float* queries,
                       int64_t count, float* scores, int64_t stride) const {
  MatmulCall call{};
  call.m = count;
  call.n = rows;
  call.k = D_;
  call.a = queries;
  call.lda = D_;
  call.panels = panels_.get() + panels_at_[static_cast<size_t>(block)] + first * D_;
  call.c = scores;
  call.ldc = stride;
  call.bias = bias_.data() + begin(block) + first;
  vector_kernels().matmul(call);
}

}  // namespace simile::detail
