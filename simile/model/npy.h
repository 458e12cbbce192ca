// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format, version 1.0, for matrices in C order: the bytes "\x93NUMPY" 1 0, the length
// of the header in 2 bytes (little-endian), the header
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (ROWS, COLUMNS), }
//
// padded with spaces and a line end so that the numbers begin at a multiple of 64 bytes, then the
// numbers row by row: little-endian floats ('<f4') or halves ('<f2').
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace simile {

enum class NpyNumber { kFloat, kHalf };

constexpr size_t npy_number_width(NpyNumber number) { return number == NpyNumber::kFloat ? 4 : 2; }

struct NpyMatrix {
  NpyNumber number = NpyNumber::kFloat;
  int64_t rows = 0, columns = 0;
  size_t offset = 0;  // of the first number, in bytes from the start of the file
};

// All that stands before the numbers.
std::string npy_header(NpyNumber number, int64_t rows, int64_t columns);

// Where the numbers of the file `path` lie, given all of its bytes; they may be read to their end.
// Errors (ErrorKind::kInput) name the file, what was expected and what was found: another format,
// version, type or order of numbers, another number of dimensions, and a file that is shorter or
// longer than its header says.
NpyMatrix parse_npy(const std::string& path, std::string_view bytes);

}  // namespace simile
