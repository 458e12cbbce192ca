// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/neighbours/clusters.h"
#include "simile/neighbours/detail/neighbours.h"
#include "simile/neighbours/detail/scan.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile {
namespace {

using detail::TopRows;

constexpr int64_t kRows = 128;  // rows compared at a time

std::vector<int32_t> all_rows(int64_t rows) {
  std::vector<int32_t> ids(rows);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// A row whose neighbours are wanted, and the row of the result that they go to.
struct WantedRow {
  int32_t id;
  int64_t result;
};

// The neighbours of some rows, every row compared by its differences.
void compare_all(const Matrix<float>& vectors, const std::vector<WantedRow>& wanted,
                 Matrix<int32_t>& neighbours) {
  std::vector<int32_t> ids;
  for (const WantedRow& row : wanted) ids.push_back(row.id);
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<float> queries(count * vectors.cols);
  detail::gather_rows(vectors, ids.data(), count, queries.data());
  std::vector<TopRows> best(ids.size(), TopRows(neighbours.cols));
  std::vector<float> scores(count * kRows);
  for (int64_t begin = 0; begin < vectors.rows; begin += kRows) {
    const int64_t rows = std::min(kRows, vectors.rows - begin);
    detail::scan_kernels().scan({queries.data(), count, vectors.row(begin), rows, vectors.cols,
                                 VectorMetric::kSquaredDistance, scores.data(), kRows});
    for (int64_t i = 0; i < count; ++i) {
      const float* row = scores.data() + i * kRows;
      for (int64_t j = 0; j < rows; ++j) {
        if (begin + j != ids[i]) best[i].push(static_cast<int32_t>(begin + j), row[j]);
      }
    }
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::vector<int32_t> nearest = best[i].take_sorted();
    std::copy(nearest.begin(), nearest.end(), neighbours.row(wanted[i].result));
  }
}

// The nearest of `candidates` (no fewer than are wanted), compared by their differences.
void compare_candidates(const Matrix<float>& vectors, WantedRow wanted,
                        std::vector<int32_t> candidates, Matrix<int32_t>& neighbours) {
  const auto count = static_cast<int64_t>(candidates.size());
  std::sort(candidates.begin(), candidates.end());
  std::vector<float> rows(count * vectors.cols);
  detail::gather_rows(vectors, candidates.data(), count, rows.data());
  std::vector<float> scores(count + 4);
  detail::scan_kernels().scan({vectors.row(wanted.id), 1, rows.data(), count, vectors.cols,
                               VectorMetric::kSquaredDistance, scores.data(), count + 4});
  TopRows best(neighbours.cols);
  for (size_t i = 0; i < candidates.size(); ++i) best.push(candidates[i], scores[i]);
  const std::vector<int32_t> nearest = best.take_sorted();
  std::copy_n(nearest.begin(), neighbours.cols, neighbours.row(wanted.result));
}

// A score s of PackedRows and a squared distance d of scan(), each a sum of D products of
// floats, are off by at most (D + 4) u (M^2 + M^2 / 2) and (D + 8) u (2 M)^2, with u = 2^-24 and
// norms up to M. A row of the best by d has a score that is below the k-th best score by no more
// than twice the first and the second; this bound is above their sum,
// with room for products that underflow.
float sifting_margin(const Matrix<float>& vectors) {
  double largest = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    const float* row = vectors.row(i);
    largest = std::max(largest, std::inner_product(row, row + vectors.cols, row, 0.0));
  }
  const auto norm = static_cast<float>(std::sqrt(largest));
  const auto terms = static_cast<float>(vectors.cols + 32);
  return 8 * terms * 0x1p-24f * norm * norm + terms * std::numeric_limits<float>::min();
}

// The neighbours of rows[first] .. rows[first + count - 1], into those rows of the result.
void sift(const Matrix<float>& vectors, const detail::PackedRows& packed, float margin,
          const std::vector<int32_t>& rows, int64_t first, int64_t count,
          Matrix<int32_t>& neighbours) {
  const int32_t* ids = rows.data() + first;
  std::vector<float> queries(count * vectors.cols);
  detail::gather_rows(vectors, ids, count, queries.data());
  std::vector<TopRows> best(count, TopRows(neighbours.cols, margin));
  std::vector<TopRows*> pointers;
  for (TopRows& top : best) pointers.push_back(&top);
  detail::ScoreScratch scratch;
  detail::offer_block(packed, 0, queries.data(), ids, count, pointers.data(), scratch);
  std::vector<WantedRow> unclear;
  for (int64_t i = 0; i < count; ++i) {
    const WantedRow wanted{ids[i], first + i};
    std::vector<int32_t> candidates = best[i].take_sorted();
    if (best[i].overflowed()) {
      unclear.push_back(wanted);
    } else {
      compare_candidates(vectors, wanted, std::move(candidates), neighbours);
    }
  }
  if (!unclear.empty()) compare_all(vectors, unclear, neighbours);
}

}  // namespace

namespace detail {

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
  std::vector<float> rows(std::min(kPackedRows, size(block)) * D);
  for (int64_t first = 0; first < size(block); first += kPackedRows) {
    const int64_t count = std::min(kPackedRows, size(block) - first);
    gather_rows(vectors, order_.data() + begin(block) + first, count, rows.data());
    packed_[block].set_columns(first, count, rows.data());
    for (int64_t j = 0; j < count; ++j) {
      bias_[begin(block) + first + j] =
          static_cast<float>(-0.5 * vector_kernels().sum_of_squares(rows.data() + j * D, D));
    }
  }
}

void PackedRows::score(int64_t block, int64_t first, int64_t rows, const float* queries,
                       int64_t count, float* scores, int64_t stride) const {
  packed_[block].multiply_columns(queries, count, first, rows, bias_.data() + begin(block) + first,
                                  scores, stride);
}

ScoreScratch::ScoreScratch()
    : scores(static_cast<size_t>(kPackedQueries * kPackedRows)),
      found(static_cast<size_t>(kPackedRows)) {}

void offer_block(const PackedRows& rows, int64_t block, const float* queries, const int32_t* ids,
                 int64_t count, TopRows* const* best, ScoreScratch& scratch) {
  for (int64_t first = 0; first < rows.size(block); first += kPackedRows) {
    const int64_t columns = std::min(kPackedRows, rows.size(block) - first);
    const int32_t* row_ids = rows.ids().data() + rows.begin(block) + first;
    rows.score(block, first, columns, queries, count, scratch.scores.data(), kPackedRows);
    for (int64_t i = 0; i < count; ++i) {
      const float* scores = scratch.scores.data() + i * kPackedRows;
      const int64_t found =
          scan_kernels().find(scores, columns, best[i]->threshold(), scratch.found.data());
      for (int64_t f = 0; f < found; ++f) {
        const int32_t j = scratch.found[f];
        if (row_ids[j] != ids[i]) best[i]->push(row_ids[j], scores[j]);
      }
    }
  }
}

Matrix<int32_t> nearest_neighbours_below(const Matrix<float>& vectors, int64_t top_n,
                                         int64_t exact_below, NeighbourReport* report) {
  check_vectors(vectors, "nearest neighbours");
  if (report != nullptr) *report = {"exact", 1, 0};
  const int64_t cols = std::max<int64_t>(0, std::min(top_n, vectors.rows - 1));
  Matrix<int32_t> neighbours(vectors.rows, cols);
  if (cols == 0) return neighbours;
  if (vectors.rows >= exact_below) {
    approximate_neighbours(vectors, neighbours, report);
    return neighbours;
  }
  return ExactNeighbours(vectors, cols).find(all_rows(vectors.rows));
}

ExactNeighbours::ExactNeighbours(const Matrix<float>& vectors, int64_t top_n)
    : vectors_(vectors), top_n_(top_n), packed_(vectors), margin_(sifting_margin(vectors)) {}

Matrix<int32_t> ExactNeighbours::find(const std::vector<int32_t>& rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  Matrix<int32_t> neighbours(count, top_n_);
  run_parallel((count + kPackedQueries - 1) / kPackedQueries, 1, [&](int64_t task) {
    const int64_t first = task * kPackedQueries;
    sift(vectors_, packed_, margin_, rows, first, std::min(kPackedQueries, count - first),
         neighbours);
  });
  return neighbours;
}

}  // namespace detail

Matrix<int32_t> nearest_neighbours(const Matrix<float>& vectors, int64_t top_n,
                                   NeighbourReport* report) {
  return detail::nearest_neighbours_below(vectors, top_n, detail::kExactNeighbours, report);
}

NeighbourSearch::NeighbourSearch(Matrix<float> vectors, int64_t top_n)
    : vectors_(std::move(vectors)) {
  const int64_t columns = std::max<int64_t>(0, std::min(top_n, vectors_.rows - 1));
  if (columns == 0 || vectors_.rows >= detail::kExactNeighbours) {
    all_ = nearest_neighbours(vectors_, top_n, &report_);
  } else {
    detail::check_vectors(vectors_, "nearest neighbours");
    report_ = {"exact", 1, 0};
    exact_ = std::make_unique<detail::ExactNeighbours>(vectors_, columns);
  }
}

NeighbourSearch::~NeighbourSearch() = default;

Matrix<int32_t> NeighbourSearch::find(const std::vector<int32_t>& rows) const {
  if (exact_) return exact_->find(rows);
  Matrix<int32_t> neighbours(static_cast<int64_t>(rows.size()), all_.cols);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(all_.row(rows[i]), all_.cols, neighbours.row(static_cast<int64_t>(i)));
  }
  return neighbours;
}

}  // namespace simile
