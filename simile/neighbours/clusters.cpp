// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/neighbours/detail/neighbours.h"
#include "simile/neighbours/detail/scan.h"

namespace simile {
namespace detail {
namespace {

constexpr int64_t kSpreadCentres = 1024;  // up to so many start by k-means++
constexpr int64_t kSpreadRows = 16;       // which looks at so many rows a centre
constexpr int64_t kBlock = 1024;          // rows of one task

Matrix<float> take_rows(const Matrix<float>& vectors, const std::vector<int32_t>& ids) {
  Matrix<float> rows(static_cast<int64_t>(ids.size()), vectors.cols);
  gather_rows(vectors, ids.data(), rows.rows, rows.values.data());
  return rows;
}

// Lowers `distances` to those to `centre` where that is nearer.
void lower_distances(const Matrix<float>& rows, const float* centre,
                     std::vector<float>& distances) {
  run_parallel((rows.rows + kBlock - 1) / kBlock, 1, [&](int64_t task) {
    const int64_t first = task * kBlock, count = std::min(kBlock, rows.rows - first);
    std::vector<float> scores(kBlock);
    scan_kernels().scan({centre, 1, rows.row(first), count, rows.cols,
                         VectorMetric::kSquaredDistance, scores.data(), kBlock});
    for (int64_t j = 0; j < count; ++j) {
      float& distance = distances[first + j];
      distance = std::min(distance, -scores[j]);
    }
  });
}

// A row with probability in proportion to its distance; any when all are 0.
int32_t draw_far_row(const std::vector<float>& distances, RandomStream& stream) {
  const double total = std::accumulate(distances.begin(), distances.end(), 0.0);
  if (!(total > 0)) return static_cast<int32_t>(stream.below(distances.size()));
  double left = stream.uniform() * total;
  int32_t last = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] == 0) continue;
    last = static_cast<int32_t>(i);
    left -= distances[i];
    if (left < 0) break;
  }
  return last;
}

Matrix<float> spread_centres(const Matrix<float>& sample, int64_t centres, RandomStream& stream) {
  const Matrix<float> rows = take_rows(
      sample, sample_rows(sample.rows, std::min(sample.rows, centres * kSpreadRows), stream));
  std::vector<float> distances(rows.rows, std::numeric_limits<float>::infinity());
  std::vector<int32_t> chosen;
  for (int64_t c = 0; c < centres; ++c) {
    const int32_t row = c == 0 ? static_cast<int32_t>(stream.below(distances.size()))
                               : draw_far_row(distances, stream);
    chosen.push_back(row);
    lower_distances(rows, rows.row(row), distances);
  }
  return take_rows(rows, chosen);
}

void set_mean(const Matrix<float>& rows, const int32_t* ids, int64_t count, float* mean) {
  std::vector<double> sum(rows.cols, 0.0);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = rows.row(ids[i]);
    for (int64_t d = 0; d < rows.cols; ++d) sum[d] += row[d];
  }
  for (int64_t d = 0; d < rows.cols; ++d) {
    mean[d] = static_cast<float>(sum[d] / static_cast<double>(count));
  }
}

// The rows farthest from their centres, farthest first: `count` of them.
std::vector<int32_t> farthest_rows(const Matrix<float>& rows, const std::vector<float>& scores,
                                   int64_t count) {
  std::vector<double> distances;  // half the squared ones
  for (int64_t i = 0; i < rows.rows; ++i) {
    const float* row = rows.row(i);
    distances.push_back(0.5 * std::inner_product(row, row + rows.cols, row, 0.0) -
                        static_cast<double>(scores[i]));
  }
  std::vector<int32_t> order(distances.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, rows.rows);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
    const double left = distances[a];
    const double right = distances[b];
    return left != right ? left > right : a < b;
  });
  order.resize(count);
  return order;
}

void move_centres(const Matrix<float>& rows, const NearestCentres& nearest,
                  Matrix<float>& centres) {
  const GroupedRows groups = group_rows(nearest.centre, centres.rows);
  const auto size = [&](int64_t c) {
    return groups.offsets[static_cast<size_t>(c) + 1] - groups.offsets[c];
  };
  run_parallel(centres.rows, 1, [&](int64_t c) {
    const int32_t* ids = groups.rows.data() + groups.offsets[c];
    if (size(c) > 0) set_mean(rows, ids, size(c), centres.row(c));
  });
  std::vector<int64_t> empty;
  for (int64_t c = 0; c < centres.rows; ++c) {
    if (size(c) == 0) empty.push_back(c);
  }
  if (empty.empty()) return;
  const auto far = farthest_rows(rows, nearest.score, static_cast<int64_t>(empty.size()));
  for (size_t i = 0; i < far.size(); ++i) {
    std::copy_n(rows.row(far[i]), rows.cols, centres.row(empty[i]));
  }
}

}  // namespace

void check_vectors(const Matrix<float>& vectors, const char* work) {
  SIMILE_CHECK(vectors.rows <= std::numeric_limits<int32_t>::max(), ErrorKind::kFailed,
               "{}: {} embeddings are more than 2^31 - 1", work, vectors.rows);
  const bool finite = std::all_of(vectors.values.begin(), vectors.values.end(),
                                  [](float value) { return std::abs(value) < 1e15f; });
  SIMILE_CHECK(finite, ErrorKind::kFailed,
               "{}: an embedding is not finite (or beyond 1e15); has training diverged?", work);
}

std::vector<int32_t> sample_rows(int64_t rows, int64_t count, RandomStream& stream) {
  std::vector<int32_t> sample;
  sample.reserve(count);
  // Knuth's selection sampling: each row is taken with what is still wanted over what is left.
  for (int64_t row = 0; row < rows && static_cast<int64_t>(sample.size()) < count; ++row) {
    const int64_t wanted = count - static_cast<int64_t>(sample.size());
    if (static_cast<int64_t>(stream.below(static_cast<uint64_t>(rows - row))) < wanted) {
      sample.push_back(static_cast<int32_t>(row));
    }
  }
  return sample;
}

GroupedRows group_rows(const std::vector<int32_t>& group_of, int64_t groups) {
  GroupedRows result;
  result.offsets.assign(static_cast<size_t>(groups) + 1, 0);
  for (const int32_t group : group_of) ++result.offsets[static_cast<size_t>(group) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  result.rows.resize(group_of.size());
  for (size_t row = 0; row < group_of.size(); ++row) {
    result.rows[next[group_of[row]]++] = static_cast<int32_t>(row);
  }
  return result;
}

NearestCentres nearest_centres(const Matrix<float>& vectors, const Matrix<float>& centres) {
  const PackedRows packed(centres);
  NearestCentres nearest;
  nearest.centre.assign(static_cast<size_t>(vectors.rows), 0);
  nearest.score.assign(static_cast<size_t>(vectors.rows), -std::numeric_limits<float>::infinity());
  run_parallel((vectors.rows + kPackedQueries - 1) / kPackedQueries, 1, [&](int64_t task) {
    const int64_t first = task * kPackedQueries;
    const int64_t count = std::min(kPackedQueries, vectors.rows - first);
    std::vector<float> scores(kPackedQueries * kPackedRows);
    for (int64_t c = 0; c < centres.rows; c += kPackedRows) {
      const int64_t columns = std::min(kPackedRows, centres.rows - c);
      packed.score(0, c, columns, vectors.row(first), count, scores.data(), kPackedRows);
      for (int64_t i = 0; i < count; ++i) {
        const float* row = scores.data() + i * kPackedRows;
        const float* best = std::max_element(row, row + columns);
        if (!(*best > nearest.score[first + i])) continue;
        nearest.score[first + i] = *best;
        nearest.centre[first + i] = static_cast<int32_t>(c + (best - row));
      }
    }
  });
  return nearest;
}

Matrix<float> train_centres(const Matrix<float>& vectors, const KmeansOptions& options,
                            RandomStream& stream) {
  const int64_t size = std::min(vectors.rows, options.centres * options.rows_per_centre);
  const Matrix<float> sample = take_rows(vectors, sample_rows(vectors.rows, size, stream));
  Matrix<float> centres =
      options.centres <= kSpreadCentres
          ? spread_centres(sample, options.centres, stream)
          : take_rows(sample, sample_rows(sample.rows, options.centres, stream));
  std::vector<int32_t> last;
  for (int64_t i = 0; i < options.iterations; ++i) {
    NearestCentres nearest = nearest_centres(sample, centres);
    if (nearest.centre == last) break;
    move_centres(sample, nearest, centres);
    last = std::move(nearest.centre);
  }
  return centres;
}

}  // namespace detail

std::vector<int32_t> cluster_vectors(const Matrix<float>& vectors, int64_t clusters,
                                     uint64_t seed) {
  detail::check_vectors(vectors, "clusters");
  SIMILE_CHECK(clusters >= 1, ErrorKind::kFailed, "clusters: expected 1 or more of them, found {}",
               clusters);
  if (vectors.rows == 0) return {};
  RandomStream stream(seed, "clusters");
  const Matrix<float> centres =
      detail::train_centres(vectors, {std::min(clusters, vectors.rows), 256, 20}, stream);
  return detail::nearest_centres(vectors, centres).centre;
}

}  // namespace simile
