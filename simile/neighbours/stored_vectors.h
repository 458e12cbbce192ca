// SPDX-License-Identifier: Apache-2.0
// Vectors as an index keeps them: in floats, in half the space or in a quarter. Queries are floats
// always; a score is that of the query with the numbers that the row stands for, in floats:
//
//   fp32   D floats
//   fp16   D halves (simile/core/half.h): the nearest ones, ties to even; at most 65504
//   int8   a float s, then D bytes c with a sign: s = max_d |x_d| / 127, rounded up to 17
//          significant bits, c_d = x_d / s rounded, ties to even (simile/kernel/byte_kernels.h);
//          stands for s c_d, which is exact in a float and at most s / 2 from x_d
//
// So hits in an index of halves or bytes are, bit for bit, those in an index of floats that holds
// what its rows stand for, and storing that again gives the same bytes.
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

// Of a vector of D numbers.
constexpr int64_t stored_bytes(StoredNumber number, int64_t D) {
  return number == StoredNumber::kFp32 ? 4 * D : number == StoredNumber::kFp16 ? 2 * D : 4 + D;
}

// Rows that lie one behind the other, of which nothing need be aligned.
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
  // What row i stands for, to out [D].
  void read(int64_t i, float* out) const;
};

// vectors [count, D], finite and none beyond largest_number(), to `out`, count * stored_bytes().
void store_rows(const float* vectors, int64_t count, int64_t D, StoredNumber number, char* out);

}  // namespace simile
