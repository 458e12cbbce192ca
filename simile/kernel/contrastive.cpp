// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/contrastive.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kStrip = 128;          // rows of scores at a time: they stay in the second cache
constexpr int64_t kTextsTogether = 256;  // rows of the right gradient that one thread makes
static_assert(kStrip % PackedMatrix::kRowBlock == 0 &&
              kTextsTogether % PackedMatrix::kColumnBlock == 0);

// to [columns, rows] of from [rows, columns], whose rows lie `to_stride` and `from_stride` apart,
// in squares that stay in the first cache.
void transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
               int64_t to_stride) {
  constexpr int64_t kSide = 64;
  for (int64_t i = 0; i < rows; i += kSide) {
    for (int64_t j = 0; j < columns; j += kSide) {
      vector_kernels().transpose(from + i * from_stride + j, from_stride, std::min(kSide, rows - i),
                                 std::min(kSide, columns - j), to + j * to_stride + i, to_stride);
    }
  }
}

// log sum_t sums_t e^maxima_t of each column over `strips` parts [strips, m].
void combine(const std::vector<float>& maxima, const std::vector<float>& sums, int64_t strips,
             std::vector<float>& log_sums) {
  const auto m = static_cast<int64_t>(log_sums.size());
  FloatBuffer memory;
  float* const most = memory.reserve(3 * m);
  float *const total = most + m, *const below = total + m;
  std::fill_n(most, m, -std::numeric_limits<float>::infinity());
  std::fill_n(total, m, 0.0f);
  const auto at = [m](int64_t strip, int64_t j) { return static_cast<size_t>(strip * m + j); };
  for (int64_t t = 0; t < strips; ++t) {
    for (int64_t j = 0; j < m; ++j) most[j] = std::max(most[j], maxima[at(t, j)]);
  }
  for (int64_t t = 0; t < strips; ++t) {
    for (int64_t j = 0; j < m; ++j) below[j] = maxima[at(t, j)] - most[j];
    vector_kernels().exponential(m, below, below);
    for (int64_t j = 0; j < m; ++j) total[j] += sums[at(t, j)] * below[j];
  }
  for (int64_t j = 0; j < m; ++j) log_sums[j] = most[j] + std::log(total[j]);
}

double dot(const float* a, const float* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

ContrastiveTerms::ContrastiveTerms(const ContrastiveInput& input)
    : input_(input),
      products_(input.products),
      // Not a power of two: rows below one another would lie in the same lines of a cache.
      stride_((input.n + 31) / 32 * 32 + 16),
      row_log_sums_(static_cast<size_t>(input.rows ? input.m : 0)),
      column_log_sums_(static_cast<size_t>(input.columns ? input.m : 0)) {
  if (input.products == ProductType::kFloat) scores_.emplace(input.m * stride_);
}

// Calls work(first row, number of rows, their scores) for each strip.
template <typename Work>
void ContrastiveTerms::for_each_strip(const Work& work) {
  std::optional<PackedMatrix> texts;
  if (!has_scores_) {
    texts.emplace(input_.right, input_.n, input_.D, MatrixLayout::kColumns, products_);
  }
  run_parallel_blocks(input_.m, kStrip, [&](int64_t first, int64_t end) {
    static thread_local FloatBuffer aside;
    float* scores = scores_ ? scores_->data() + first * stride_ : aside.reserve(kStrip * stride_);
    if (texts) {
      texts->multiply_rows(input_.left + first * input_.D, input_.D, end - first, scores, stride_);
    }
    work(first, end - first, scores);
  });
}

void ContrastiveTerms::terms(float* rows, float* columns) {
  const int64_t m = input_.m, strips = (m + kStrip - 1) / kStrip;
  const auto column_parts = static_cast<size_t>(input_.columns ? strips * m : 0);
  std::vector<float> maxima(column_parts), sums(column_parts), own(static_cast<size_t>(m));
  for_each_strip([&](int64_t first, int64_t count, const float* scores) {
    const VectorKernels& kernels = vector_kernels();
    for (int64_t i = 0; i < count; ++i) {
      own[static_cast<size_t>(first + i)] = input_.scale * scores[i * stride_ + first + i];
    }
    if (input_.columns) {
      const auto part = static_cast<size_t>(first / kStrip * m);
      kernels.column_softmax({count, m, input_.scale, scores, stride_}, &maxima[part], &sums[part]);
    }
    if (!input_.rows) return;
    float most[kStrip], sum[kStrip];
    kernels.row_softmax({count, input_.n, input_.scale, scores, stride_}, most, sum);
    for (int64_t i = 0; i < count; ++i) {
      row_log_sums_[static_cast<size_t>(first + i)] = most[i] + std::log(sum[i]);
    }
  });
  has_scores_ = scores_.has_value();
  if (input_.columns) combine(maxima, sums, strips, column_log_sums_);
  for (size_t i = 0; i < own.size(); ++i) {
    if (input_.rows) rows[i] = own[i] - row_log_sums_[i];
    if (input_.columns) columns[i] = own[i] - column_log_sums_[i];
  }
}

double ContrastiveTerms::gradients(const TermGradients& of_terms, float* left, float* right) {
  const int64_t m = input_.m, n = input_.n, D = input_.D;
  const auto scaled = [&](const float* gradient, bool wanted) {
    std::vector<float> values(static_cast<size_t>(wanted ? m : 0));
    for (size_t i = 0; i < values.size(); ++i) values[i] = input_.scale * gradient[i];
    return values;
  };
  const std::vector<float> rows = scaled(of_terms.rows, input_.rows);
  const std::vector<float> columns = scaled(of_terms.columns, input_.columns);
  const PackedMatrix texts(input_.right, D, n, MatrixLayout::kRows, products_);
  std::optional<PackedMatrix> rounded;  // the gradient of the scores
  if (!scores_) rounded.emplace(n, m, products_);
  std::vector<double> scale_parts(static_cast<size_t>(m));
  for_each_strip([&](int64_t first, int64_t count, float* scores) {
    const auto at = static_cast<size_t>(first);
    SoftmaxGradients call{};
    if (input_.rows) {
      call.row_log_sum = &row_log_sums_[at];
      call.row_gradient = &rows[at];
    }
    if (input_.columns) {
      call.columns = m;
      call.column_log_sum = column_log_sums_.data();
      call.column_gradient = columns.data();
    }
    vector_kernels().softmax_gradient({count, n, input_.scale, scores, stride_}, call, scores);
    for (int64_t i = 0; i < count; ++i) {
      float& own = scores[i * stride_ + first + i];
      if (input_.rows) own += rows[at + static_cast<size_t>(i)];
      if (input_.columns) own += columns[at + static_cast<size_t>(i)];
    }
    texts.multiply_rows(scores, stride_, count, left + first * D, D);
    for (int64_t i = first; i < first + count; ++i) {
      scale_parts[static_cast<size_t>(i)] = dot(input_.left + i * D, left + i * D, D);
    }
    if (rounded) rounded->set_rows(first, count, scores, stride_);
  });
  has_scores_ = false;  // their gradients have taken their place
  if (rounded) {
    multiply_rounded(*rounded, right);
  } else {
    const PackedMatrix lefts(input_.left, D, m, MatrixLayout::kRows);
    run_parallel_blocks(n, kTextsTogether, [&](int64_t begin, int64_t end) {
      lefts.multiply_transposed(scores_->data() + begin, stride_, end - begin, right + begin * D,
                                D);
    });
  }
  double sum = 0;
  for (const double part : scale_parts) sum += part;
  return sum / input_.scale;
}

// right = gradient^T u, as u^T gradient turned over.
void ContrastiveTerms::multiply_rounded(const PackedMatrix& gradient, float* right) const {
  const int64_t m = input_.m, D = input_.D;
  LentFloats turned(D * m);
  run_parallel_blocks(m, kStrip, [&](int64_t begin, int64_t end) {
    transpose(input_.left + begin * D, D, end - begin, D, turned.data() + begin, m);
  });
  run_parallel_blocks(input_.n, kTextsTogether, [&](int64_t begin, int64_t end) {
    static thread_local FloatBuffer aside;
    const int64_t count = end - begin;
    float* part = aside.reserve(D * kTextsTogether);
    gradient.multiply_columns(turned.data(), D, begin, count, nullptr, part, count);
    transpose(part, count, D, count, right + begin * D, D);
  });
}

}  // namespace simile
