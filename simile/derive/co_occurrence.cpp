// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/detail/co_occurrence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/memory.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/matrix_product.h"
#include "simile/kernel/numerics.h"
#include "simile/kernel/vector_kernels.h"

namespace simile::detail {
namespace {

constexpr int64_t kPanel = 64;         // columns multiplied at a time, so that they stay in cache
constexpr int64_t kRowsTogether = 16;  // that a thread takes

int64_t size(const SparseMatrix& m) { return static_cast<int64_t>(m.size()); }

Matrix<float> multiply_small(const Matrix<float>& x, const Matrix<double>& small) {
  const std::vector<float> numbers(small.values.begin(), small.values.end());
  Matrix<float> y(x.rows, small.cols);
  PackedMatrix(numbers.data(), small.cols, small.rows, MatrixLayout::kRows)
      .multiply(x.values.data(), x.rows, nullptr, y.values.data());
  return y;
}

// One pass leaves columns that lie nearly in the space of others shorter than 1, two more hardly
// any. Columns of zeros stay.
void make_orthonormal(int64_t passes, Matrix<float>& x) {
  for (int64_t pass = 0; pass < passes; ++pass) {
    Matrix<double> gram = gram_matrix(x.values.data(), x.rows, x.cols);
    double trace = 0, largest = 0;
    for (int64_t j = 0; j < x.cols; ++j) {
      trace += gram.at(j, j);
      largest = std::max(largest, gram.at(j, j));
    }
    // How far from 0 rounding may leave an eigenvalue of the inner products. The largest of them is
    // at most their trace; after a first pass it is about 1.
    const double shift = std::max(pass == 0 ? 1e-7 * trace : 1e-6 * largest, 1e-30);
    for (int64_t j = 0; j < x.cols; ++j) gram.at(j, j) += shift;
    x = multiply_small(x, whitening_factor(gram));
  }
}

void fix_signs(Matrix<float>& vectors) {
  std::vector<float> largest(vectors.cols);
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < vectors.cols; ++j) {
      float& most = largest[j];
      if (std::abs(vectors.at(i, j)) > std::abs(most)) most = vectors.at(i, j);
    }
  }
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < vectors.cols; ++j) {
      if (largest[j] < 0) vectors.at(i, j) = -vectors.at(i, j);
    }
  }
}

}  // namespace

Matrix<float> multiply(const SparseMatrix& m, bool transposed, const Matrix<float>& x) {
  Matrix<float> y(size(m), x.cols);
  FloatBuffer panel;
  panel.reserve(x.rows * kPanel);
  for (int64_t first = 0; first < x.cols; first += kPanel) {
    const int64_t width = std::min(kPanel, x.cols - first);
    run_parallel(x.rows, 1024, [&](int64_t i) {
      std::copy_n(x.row(i) + first, width, panel.data() + i * width);
    });
    run_parallel(size(m), kRowsTogether, [&](int64_t i) {
      const SparseRow& row = m[i];
      vector_kernels().weighted_rows({static_cast<int64_t>(row.places.size()), row.places.data(),
                                      (transposed ? row.column : row.row).data(), panel.data(),
                                      width, width, y.row(i) + first});
    });
  }
  return y;
}

TruncatedSvd truncated_svd(const SparseMatrix& m, const SvdOptions& options, const WorkDone& done) {
  const int64_t columns = std::min(options.rank + options.oversample, size(m));
  const int64_t products = 2 * options.iterations + 2;
  int64_t multiplied = 0;
  const auto times = [&](bool transposed, const Matrix<float>& x) {
    Matrix<float> y = multiply(m, transposed, x);
    done(++multiplied, products);
    return y;
  };
  Matrix<float> random(size(m), columns);
  run_parallel(random.rows, 256, [&](int64_t i) {
    RandomStream stream(options.seed, "subspace", static_cast<uint64_t>(i));
    std::generate_n(random.row(i), columns, [&] { return static_cast<float>(stream.normal()); });
  });
  Matrix<float> q = times(false, random);
  for (int64_t i = 0; i < options.iterations; ++i) {
    make_orthonormal(1, q);
    q = times(true, q);
    make_orthonormal(1, q);
    q = times(false, q);
  }
  make_orthonormal(3, q);
  const Matrix<float> b = times(true, q);
  const SymmetricEigen eigen = symmetric_eigen(gram_matrix(b.values.data(), b.rows, b.cols));
  Matrix<double> leading(eigen.vectors.cols, options.rank);  // of the largest eigenvalues
  for (int64_t i = 0; i < leading.rows; ++i) {
    for (int64_t j = 0; j < leading.cols; ++j) leading.at(i, j) = eigen.vectors.at(j, i);
  }
  TruncatedSvd svd{multiply_small(q, leading), {}};
  for (int64_t j = 0; j < options.rank; ++j) {
    svd.values.push_back(std::sqrt(std::max(eigen.values[j], 0.0)));
  }
  fix_signs(svd.left);
  return svd;
}

namespace {

constexpr int64_t kRowsCounted = 512;  // counted between two reports of progress

// Where each token stands: places[starts[i] .. starts[i + 1]) of the stream, in order.
struct Places {
  std::vector<int64_t> starts;   // [V + 1]
  std::vector<uint32_t> places;  // [tokens]
};

Places find_places(const PieceCorpus& corpus) {
  const std::vector<int32_t>& tokens = corpus.tokens();
  Places result;
  result.starts.assign(static_cast<size_t>(corpus.vocabulary()) + 1, 0);
  for (const int32_t id : tokens) {
    if (id != PieceCorpus::kEnd) ++result.starts[static_cast<size_t>(id) + 1];
  }
  std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
  result.places.resize(result.starts.back());
  std::vector<int64_t> next(result.starts.begin(), result.starts.end() - 1);
  for (size_t place = 0; place < tokens.size(); ++place) {
    if (tokens[place] == PieceCorpus::kEnd) continue;
    int64_t& at = next[tokens[place]];
    result.places[at++] = static_cast<uint32_t>(place);
  }
  return result;
}

class Counter {
 public:
  Counter(const PieceCorpus& corpus, const PpmiOptions& options)
      : corpus_(corpus), options_(options), places_(find_places(corpus)) {
    for (int64_t d = 1; d <= options.window; ++d) {
      weights_.push_back(options.weighting == "flat" ? 1.0
                                                     : static_cast<double>(options.window + 1 - d));
    }
    for (int32_t id = 0; id < corpus_.vocabulary(); ++id) {
      if (occurrences(id) > 0) tokens_.push_back(id);
    }
    std::stable_sort(tokens_.begin(), tokens_.end(),
                     [this](int32_t a, int32_t b) { return occurrences(a) > occurrences(b); });
    measure_contexts();
  }

  const std::vector<int32_t>& tokens() const { return tokens_; }

  // `counts` [V] are zeros, and zeros again afterwards.
  SparseRow row(int64_t number, std::vector<double>& counts) const {
    const auto i = static_cast<size_t>(number);
    count_neighbours(tokens_[i], counts);
    counts[tokens_[i]] = 0;
    SparseRow row;
    for (size_t j = 0; j < tokens_.size(); ++j) {
      double& count = counts[tokens_[j]];
      if (count >= options_.minimum_count && count > 0) {
        const double logarithm = std::log(count);
        const double here = logarithm - as_row_[i] - as_column_[j];
        const double there = logarithm - as_row_[j] - as_column_[i];
        if (here > 0 || there > 0) {
          row.places.push_back(static_cast<int32_t>(j));
          row.row.push_back(static_cast<float>(std::max(here, 0.0)));
          row.column.push_back(static_cast<float>(std::max(there, 0.0)));
        }
      }
      count = 0;
    }
    row.places.shrink_to_fit();
    row.row.shrink_to_fit();
    row.column.shrink_to_fit();
    return row;
  }

 private:
  int64_t occurrences(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return places_.starts[i + 1] - places_.starts[i];
  }

  // A place with `left` places before it in its sequence and `right` behind it adds the weights of
  // the nearest of them to its token's n.
  void measure_contexts() {
    std::vector<double> reach(weights_.size() + 1, 0.0);  // the sum of w_1 .. w_d
    std::partial_sum(weights_.begin(), weights_.end(), reach.begin() + 1);
    const auto within = [&](size_t places) { return reach[std::min(places, weights_.size())]; };
    std::vector<double> totals(corpus_.vocabulary(), 0.0);
    const std::vector<int32_t>& stream = corpus_.tokens();
    for (size_t begin = 1; begin < stream.size();) {
      size_t end = begin;
      while (stream[end] != PieceCorpus::kEnd) ++end;
      for (size_t i = begin; i < end; ++i) {
        totals[stream[i]] += within(i - begin) + within(end - 1 - i);
      }
      begin = end + 1;
    }
    double all = 0;
    for (const int32_t id : tokens_) all += std::pow(totals[id], options_.smoothing);
    for (const int32_t id : tokens_) {
      const double total = std::log(totals[id]);
      as_row_.push_back(total);
      as_column_.push_back(options_.smoothing * total - std::log(all) + options_.shift);
    }
  }

  void count_neighbours(int32_t id, std::vector<double>& counts) const {
    const int32_t* const stream = corpus_.tokens().data();
    const auto window = static_cast<int64_t>(weights_.size());
    const auto i = static_cast<size_t>(id);
    for (int64_t k = places_.starts[i]; k < places_.starts[i + 1]; ++k) {
      const int32_t* const place = stream + places_.places[k];
      for (int64_t d = 1; d <= window && place[d] != PieceCorpus::kEnd; ++d) {
        counts[place[d]] += weights_[d - 1];
      }
      for (int64_t d = 1; d <= window && place[-d] != PieceCorpus::kEnd; ++d) {
        counts[place[-d]] += weights_[d - 1];
      }
    }
  }

  const PieceCorpus& corpus_;
  const PpmiOptions& options_;
  Places places_;
  std::vector<double> weights_;    // w_d
  std::vector<int32_t> tokens_;    // by row
  std::vector<double> as_row_;     // log n_i, by row
  std::vector<double> as_column_;  // log(n_j^s / sum of n^s) + shift, by row
};

}  // namespace

PpmiMatrix count_ppmi(const PieceCorpus& corpus, const PpmiOptions& options, const WorkDone& done) {
  const Counter counter(corpus, options);
  PpmiMatrix result{counter.tokens(), SparseMatrix(counter.tokens().size())};
  const auto rows = static_cast<int64_t>(result.matrix.size());
  for (int64_t first = 0; first < rows; first += kRowsCounted) {
    const int64_t count = std::min(kRowsCounted, rows - first);
    run_parallel(count, 1, [&](int64_t i) {
      thread_local std::vector<double> counts;
      counts.resize(corpus.vocabulary());
      result.matrix[first + i] = counter.row(first + i, counts);
    });
    done(first + count, rows);
  }
  return result;
}

}  // namespace simile::detail
