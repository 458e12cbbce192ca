// SPDX-License-Identifier: Apache-2.0
// Exact search: every query against every row, without an index structure and without BLAS. Search
// and evaluation rank by it alike, to the last bit.
//
// A hit's score is q . x (inner product), or a distance negated so that higher is always better:
// -|q - x|^2 (squared distance) or -sum_d |q_d - x_d| (absolute distance). Equal scores are ordered
// by lower row. A score's bits depend on its query and row alone (and on the processor's
// instruction set): not on other queries and rows, nor on the number of threads.
//
// Rows are floats, or stored in half the space or in a quarter. Queries are always floats; a score
// compares the query with the numbers that the row represents, in floats:
//
//   fp32   D floats
//   fp16   D halves (simile/core/half.h): the nearest ones, ties to even; at most 65504
//   int8   a float s, then D bytes c with a sign: s = max_d |x_d| / 127, rounded up to 17
//          significant bits, c_d = x_d / s rounded, ties to even (simile/kernel/byte_kernels.h);
//          stands for s c_d, which is exact in a float and at most s / 2 from x_d
//
// So hits in an index of halves or bytes equal, bit for bit, those in an index of the floats that
// its rows represent, and storing these floats again gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simile {

enum class StoredNumber { kFp32, kFp16, kInt8 };

const std::vector<std::string>& stored_number_names();  // in that order
const std::string& number_name(StoredNumber number);
// Errors (kUsage): none of these names.
StoredNumber parse_stored_number(const std::string& name);

// The largest number that can be stored.
float largest_number(StoredNumber number);

// The bytes of a vector of D numbers.
constexpr int64_t stored_bytes(StoredNumber number, int64_t D) {
  return number == StoredNumber::kFp32 ? 4 * D : number == StoredNumber::kFp16 ? 2 * D : 4 + D;
}

// Rows stored one after the other, without any alignment.
struct StoredRows {
  const char* bytes = nullptr;
  int64_t count = 0, D = 0;
  StoredNumber number = StoredNumber::kFp32;

  StoredRows() = default;
  StoredRows(const void* rows, int64_t row_count, int64_t dimension,
             StoredNumber kind = StoredNumber::kFp32)
      : bytes(static_cast<const char*>(rows)), count(row_count), D(dimension), number(kind) {}

  const char* row(int64_t i) const { return bytes + i * stored_bytes(number, D); }
  StoredRows from(int64_t i) const { return {row(i), count - i, D, number}; }
  // Writes the vector that row i stores to out [D].
  void read(int64_t i, float* out) const;
};

// vectors [count, D], finite and none beyond largest_number(), to `out`, count * stored_bytes().
void store_rows(const float* vectors, int64_t count, int64_t D, StoredNumber number, char* out);

enum class VectorMetric { kInnerProduct, kSquaredDistance, kAbsoluteDistance };

// How a model compares its vectors.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };
// From "cosine", "dot", "euclidean" or "manhattan"; another name is ErrorKind::kRecipe.
Similarity parse_similarity(const std::string& name);

// The metric that exact_search() ranks by; for the cosine, rows have length 1.
VectorMetric ranking_metric(Similarity similarity);

struct Hit {
  int64_t id;
  float score;
};

// rows [row_count, D], queries [query_count, D], row-major; where `places` is given, row i is
// places[i] of `rows`. Hits of each query, best first: top_k, or row_count if that is less. Rows
// whose score is not a number are left out.
std::vector<std::vector<Hit>> exact_search(const float* rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t D,
                                           int64_t top_k, VectorMetric metric,
                                           const int64_t* places = nullptr);

// The same of rows in another form: `rows` has all that `places` name, or row_count of them.
std::vector<std::vector<Hit>> exact_search(const StoredRows& rows, int64_t row_count,
                                           const float* queries, int64_t query_count, int64_t top_k,
                                           VectorMetric metric, const int64_t* places = nullptr);

// The scores behind exact_search(), to the last bit, which double holds: scores[i * row_count + j]
// is that of query i with row j.
void exact_scores(const float* rows, int64_t row_count, const float* queries, int64_t query_count,
                  int64_t D, VectorMetric metric, double* scores, const int64_t* places = nullptr);
void exact_scores(const StoredRows& rows, int64_t row_count, const float* queries,
                  int64_t query_count, VectorMetric metric, double* scores,
                  const int64_t* places = nullptr);

}  // namespace simile
