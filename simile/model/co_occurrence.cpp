// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/co_occurrence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/parallel.h"

namespace simile::detail {
namespace {

constexpr int64_t kRowsTogether = 512;  // counted between two reports of progress

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
  result.places.resize(static_cast<size_t>(result.starts.back()));
  std::vector<int64_t> next(result.starts.begin(), result.starts.end() - 1);
  for (size_t place = 0; place < tokens.size(); ++place) {
    if (tokens[place] == PieceCorpus::kEnd) continue;
    int64_t& at = next[static_cast<size_t>(tokens[place])];
    result.places[static_cast<size_t>(at++)] = static_cast<uint32_t>(place);
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
    order_tokens();
    measure_contexts();
  }

  const std::vector<int32_t>& tokens() const { return tokens_; }

  // `counts` [V] are zeros, and zeros again afterwards.
  SparseRow row(int64_t number, std::vector<double>& counts) const;

 private:
  int64_t occurrences(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return places_.starts[i + 1] - places_.starts[i];
  }
  void order_tokens();
  void measure_contexts();
  void count_neighbours(int32_t id, std::vector<double>& counts) const;

  const PieceCorpus& corpus_;
  const PpmiOptions& options_;
  Places places_;
  std::vector<double> weights_;    // w_d
  std::vector<int32_t> tokens_;    // by row
  std::vector<double> as_row_;     // log n_i, by row
  std::vector<double> as_column_;  // log(n_j^s / sum of n^s) + shift, by row
};

void Counter::order_tokens() {
  for (int32_t id = 0; id < corpus_.vocabulary(); ++id) {
    if (occurrences(id) > 0) tokens_.push_back(id);
  }
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [this](int32_t a, int32_t b) { return occurrences(a) > occurrences(b); });
}

// A place with `left` places before it in its sequence and `right` behind it adds the weights of
// the nearest of them to its token's n.
void Counter::measure_contexts() {
  std::vector<double> reach(weights_.size() + 1, 0.0);  // the sum of w_1 .. w_d
  std::partial_sum(weights_.begin(), weights_.end(), reach.begin() + 1);
  const auto within = [&](size_t places) { return reach[std::min(places, weights_.size())]; };
  std::vector<double> totals(static_cast<size_t>(corpus_.vocabulary()), 0.0);
  const std::vector<int32_t>& stream = corpus_.tokens();
  for (size_t begin = 1; begin < stream.size();) {
    size_t end = begin;
    while (stream[end] != PieceCorpus::kEnd) ++end;
    for (size_t i = begin; i < end; ++i) {
      totals[static_cast<size_t>(stream[i])] += within(i - begin) + within(end - 1 - i);
    }
    begin = end + 1;
  }
  double all = 0;
  for (const int32_t id : tokens_) {
    all += std::pow(totals[static_cast<size_t>(id)], options_.smoothing);
  }
  for (const int32_t id : tokens_) {
    const double total = std::log(totals[static_cast<size_t>(id)]);
    as_row_.push_back(total);
    as_column_.push_back(options_.smoothing * total - std::log(all) + options_.shift);
  }
}

void Counter::count_neighbours(int32_t id, std::vector<double>& counts) const {
  const int32_t* const stream = corpus_.tokens().data();
  const auto window = static_cast<int64_t>(weights_.size());
  const auto i = static_cast<size_t>(id);
  for (int64_t k = places_.starts[i]; k < places_.starts[i + 1]; ++k) {
    const int32_t* const place = stream + places_.places[static_cast<size_t>(k)];
    for (int64_t d = 1; d <= window && place[d] != PieceCorpus::kEnd; ++d) {
      counts[static_cast<size_t>(place[d])] += weights_[static_cast<size_t>(d - 1)];
    }
    for (int64_t d = 1; d <= window && place[-d] != PieceCorpus::kEnd; ++d) {
      counts[static_cast<size_t>(place[-d])] += weights_[static_cast<size_t>(d - 1)];
    }
  }
}

SparseRow Counter::row(int64_t number, std::vector<double>& counts) const {
  const auto i = static_cast<size_t>(number);
  count_neighbours(tokens_[i], counts);
  counts[static_cast<size_t>(tokens_[i])] = 0;
  SparseRow row;
  for (size_t j = 0; j < tokens_.size(); ++j) {
    double& count = counts[static_cast<size_t>(tokens_[j])];
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

}  // namespace

PpmiMatrix count_ppmi(const PieceCorpus& corpus, const PpmiOptions& options, const WorkDone& done) {
  const Counter counter(corpus, options);
  PpmiMatrix result{counter.tokens(), SparseMatrix(counter.tokens().size())};
  const auto rows = static_cast<int64_t>(result.matrix.size());
  for (int64_t first = 0; first < rows; first += kRowsTogether) {
    const int64_t count = std::min(kRowsTogether, rows - first);
    run_parallel(count, 1, [&](int64_t i) {
      thread_local std::vector<double> counts;
      counts.resize(static_cast<size_t>(corpus.vocabulary()));
      result.matrix[static_cast<size_t>(first + i)] = counter.row(first + i, counts);
    });
    done(first + count, rows);
  }
  return result;
}

}  // namespace simile::detail
