// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/exact_search.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "simile/core/check.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/neighbours/detail/scan.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile {
const std::vector<std::string>& stored_number_names() {
  static const std::vector<std::string> names = {"fp32", "fp16", "int8"};
  return names;
}

const std::string& number_name(StoredNumber number) {
  return stored_number_names()[static_cast<size_t>(number)];
}

StoredNumber parse_stored_number(const std::string& name) {
  const auto& names = stored_number_names();
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kUsage, "vectors: expected {}, found '{}'",
               fmt::join(names, ", "), name);
  return static_cast<StoredNumber>(found - names.begin());
}

float largest_number(StoredNumber number) {
  // With bytes, 127 s must be finite too, where s was rounded up.
  return number == StoredNumber::kFp32   ? std::numeric_limits<float>::max()
         : number == StoredNumber::kFp16 ? 65504.0f
                                         : 1e38f;
}

void StoredRows::read(int64_t i, float* out) const {
  const char* const from = row(i);
  if (number == StoredNumber::kFp32) {
    std::memcpy(out, from, static_cast<size_t>(D) * sizeof(float));
  } else if (number == StoredNumber::kFp16) {
    halves_to_floats(from, D, out);
  } else {
    float scale;
    std::memcpy(&scale, from, sizeof scale);
    const auto* const numbers = reinterpret_cast<const int8_t*>(from + sizeof scale);
    for (int64_t d = 0; d < D; ++d) out[d] = scale * static_cast<float>(numbers[d]);
  }
}

void store_rows(const float* vectors, int64_t count, int64_t D, StoredNumber number, char* out) {
  if (number == StoredNumber::kFp32) {
    const auto bytes = static_cast<size_t>(stored_bytes(number, D) * count);
    if (bytes > 0) std::memcpy(out, vectors, bytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i, vectors += D, out += stored_bytes(number, D)) {
    if (number == StoredNumber::kFp16) {
      for (int64_t d = 0; d < D; ++d) {
        const uint16_t half = float_to_half(vectors[d]);
        std::memcpy(out + d * static_cast<int64_t>(sizeof half), &half, sizeof half);
      }
    } else {
      float scale;
      quantise_rows(vectors, 1, D, reinterpret_cast<int8_t*>(out + sizeof scale), &scale);
      std::memcpy(out, &scale, sizeof scale);
    }
  }
}

namespace detail {

extern const ScanKernels kScanKernelsBaseline;
#ifdef SIMILE_X86
extern const ScanKernels kScanKernelsAvx2;
extern const ScanKernels kScanKernelsAvx512;
#endif

const ScanKernels& scan_kernels() {
#ifdef SIMILE_X86
  static const Isa isa = vector_kernels().isa;
  if (isa == Isa::kAvx512) return kScanKernelsAvx512;
  if (isa == Isa::kAvx2) return kScanKernelsAvx2;
#endif
  return kScanKernelsBaseline;
}

}  // namespace detail

namespace {

using detail::TopRows;

constexpr int64_t kQueries = 32;  // searched together, so that rows are read from memory once
constexpr int64_t kRows = 256;    // scored at a time: with 32 queries, 32 KiB of scores
constexpr int64_t kPiece = 8192;  // rows of one task when there are few queries
constexpr int64_t kMostRows = int64_t{1} << 30;  // of one task

struct Range {
  int64_t begin, end;
};

// Calls use(row, count, scores) for the rows of the range, kRows at a time: scores[i * kRows + j]
// is that of query i with row `row` + j. `call` has all rows.
template <typename Use>
void scan_range(detail::ScanCall call, Range range, const Use& use) {
  std::vector<float> scores(call.query_count * kRows);
  call.scores = scores.data();
  call.stride = kRows;
  const StoredRows rows(call.rows, 0, call.D, call.number);
  const int64_t* const places = call.places;
  for (int64_t begin = range.begin; begin < range.end; begin += kRows) {
    const int64_t count = std::min(kRows, range.end - begin);
    call.rows = places == nullptr ? rows.row(begin) : rows.bytes;
    call.places = places == nullptr ? nullptr : places + begin;
    call.row_count = count;
    detail::scan_kernels().scan(call);
    use(begin, count, scores.data());
  }
}

// The best rows of the range for the queries of `call`, which has all rows.
std::vector<std::vector<Hit>> search_piece(const detail::ScanCall& call, Range range,
                                           int64_t top_k) {
  std::vector<TopRows> best(static_cast<size_t>(call.query_count), TopRows(top_k));
  scan_range(call, range, [&](int64_t begin, int64_t count, const float* scores) {
    for (int64_t i = 0; i < call.query_count; ++i) {
      TopRows& rows = best[static_cast<size_t>(i)];
      for (int64_t j = 0; j < count; ++j) {
        const float score = scores[i * kRows + j];
        if (score >= rows.threshold()) {
          rows.push(static_cast<int32_t>(begin - range.begin + j), score);
        }
      }
    }
  });
  std::vector<std::vector<Hit>> hits;
  for (TopRows& rows : best) hits.push_back(rows.take_hits(range.begin));
  return hits;
}

// Cuts queries and rows into the tasks of a search.
struct Pieces {
  int64_t row_count, query_count, blocks, rows, pieces;

  Pieces(int64_t row_count_in, int64_t query_count_in)
      : row_count(row_count_in),
        query_count(query_count_in),
        blocks((query_count + kQueries - 1) / kQueries),
        rows(blocks >= 8 ? std::min(row_count, kMostRows) : kPiece),
        pieces((row_count + rows - 1) / rows) {}
  int64_t tasks() const { return blocks * pieces; }
  int64_t first_query(int64_t task) const { return task / pieces * kQueries; }
  int64_t queries(int64_t task) const {
    return std::min(kQueries, query_count - first_query(task));
  }
  Range range(int64_t task) const {
    return {task % pieces * rows, std::min((task % pieces + 1) * rows, row_count)};
  }
};

detail::ScanCall scan_call(const StoredRows& rows, int64_t row_count, const float* queries,
                           int64_t query_count, VectorMetric metric, const int64_t* places) {
  detail::ScanCall call{queries, query_count, rows.bytes, row_count, rows.D, metric};
  call.places = places;
  call.number = rows.number;
  return call;
}

}  // namespace

std::vector<std::vector<Hit>> exact_search(const float* rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t D,
                                           int64_t top_k, VectorMetric metric,
                                           const int64_t* places) {
  return exact_search({rows, row_count, D}, row_count, queries, query_count, top_k, metric, places);
}

std::vector<std::vector<Hit>> exact_search(const StoredRows& rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t top_k,
                                           VectorMetric metric, const int64_t* places) {
  std::vector<std::vector<Hit>> results(query_count);
  if (row_count == 0 || top_k <= 0) return results;
  top_k = std::min(top_k, row_count);
  const Pieces cut(row_count, query_count);
  std::vector<std::vector<std::vector<Hit>>> partial(cut.tasks());
  run_parallel(cut.tasks(), 1, [&](int64_t task) {
    const auto call = scan_call(rows, row_count, queries + cut.first_query(task) * rows.D,
                                cut.queries(task), metric, places);
    partial[task] = search_piece(call, cut.range(task), top_k);
  });
  for (int64_t i = 0; i < query_count; ++i) {
    std::vector<Hit>& hits = results[i];
    for (int64_t p = 0; p < cut.pieces; ++p) {
      const auto& some = partial[i / kQueries * cut.pieces + p][static_cast<size_t>(i % kQueries)];
      hits.insert(hits.end(), some.begin(), some.end());
    }
    const auto end = hits.begin() + std::min(top_k, static_cast<int64_t>(hits.size()));
    std::partial_sort(hits.begin(), end, hits.end(), detail::better_hit);
    hits.erase(end, hits.end());
  }
  return results;
}

void exact_scores(const float* rows, int64_t row_count, const float* queries, int64_t query_count,
                  int64_t D, VectorMetric metric, double* scores, const int64_t* places) {
  exact_scores({rows, row_count, D}, row_count, queries, query_count, metric, scores, places);
}

void exact_scores(const StoredRows& rows, int64_t row_count, const float* queries,
                  int64_t query_count, VectorMetric metric, double* scores, const int64_t* places) {
  if (row_count == 0) return;
  const Pieces cut(row_count, query_count);
  run_parallel(cut.tasks(), 1, [&](int64_t task) {
    const int64_t first = cut.first_query(task);
    const auto call =
        scan_call(rows, row_count, queries + first * rows.D, cut.queries(task), metric, places);
    scan_range(call, cut.range(task), [&](int64_t begin, int64_t count, const float* found) {
      for (int64_t i = 0; i < call.query_count; ++i) {
        std::copy_n(found + i * kRows, count, scores + (first + i) * row_count + begin);
      }
    });
  });
}

Similarity parse_similarity(const std::string& name) {
  if (name == "cosine") return Similarity::kCosine;
  if (name == "dot") return Similarity::kDot;
  if (name == "euclidean") return Similarity::kEuclidean;
  if (name == "manhattan") return Similarity::kManhattan;
  throw_error(ErrorKind::kRecipe,
              "similarity: expected cosine, dot, euclidean or manhattan, found '{}'", name);
}

VectorMetric ranking_metric(Similarity similarity) {
  if (similarity == Similarity::kEuclidean) return VectorMetric::kSquaredDistance;
  if (similarity == Similarity::kManhattan) return VectorMetric::kAbsoluteDistance;
  return VectorMetric::kInnerProduct;
}

}  // namespace simile
