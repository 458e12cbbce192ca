// SPDX-License-Identifier: Apache-2.0
// Vectors of a frozen model, one per text, computed once, kept in a file and read by row: the file
// is mapped, never held in memory.
//
// PATH is a .npy matrix [rows, D] (parse_npy()) that other programs read too. Beside it
// PATH.json, {"fingerprint":..,"rows":..,"dimension":..,"precision":"fp32"|"fp16","checksum":..},
// says what the vectors were made of and, as hash_file(), what PATH is. It is removed before PATH
// is replaced and written after, so that a crash at any moment leaves no fingerprint with vectors
// that are not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/matrix.h"

namespace simile {

// NumPy's .npy format, version 1.0, for matrices in C order: the bytes "\x93NUMPY" 1 0, the length
// of the header in 2 bytes (little-endian), the header
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (ROWS, COLUMNS), }
//
// padded with spaces and a line end so that the numbers begin at a multiple of 64 bytes, then the
// numbers row by row: little-endian floats ('<f4') or halves ('<f2').
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
// Errors (kInput) name the file, what was expected and what was found: another format, version, type
// or order of numbers, number of dimensions or size.
NpyMatrix parse_npy(const std::string& path, std::string_view bytes);

// Errors: kIo when the file cannot be written; kFailed for vectors of another size, more or fewer of
// them than were announced, and a number that is not finite or, in half precision, beyond 65504.
// What PATH held stays until finish(); an old store whose replacement fails there has lost its
// fingerprint, no more. Without finish() nothing is left behind.
class EmbeddingStoreWriter {
 public:
  // kHalf rounds to the nearest half: a file of half the size.
  EmbeddingStoreWriter(const std::string& path, int64_t rows, int64_t dimension,
                       NpyNumber precision = NpyNumber::kFloat);

  // The next rows, [n, D].
  void append(const Matrix<float>& block);

  // Puts the file in its place. `fingerprint` is any text that changes when the vectors would:
  // of the model, the texts and their order.
  void finish(const std::string& fingerprint);

 private:
  void write(std::string_view bytes);

  std::string path_;
  int64_t rows_, dimension_, written_ = 0;
  NpyNumber precision_;
  AtomicFile file_;
  Hash128 hash_;
};

// A file of vectors, of EmbeddingStoreWriter or of others. Moved, not copied. Const methods may run
// in several threads at once. Errors (ErrorKind::kInput): a file that cannot be read, and those of
// parse_npy(); where PATH.json has a checksum, a file that it is not of.
class EmbeddingStore {
 public:
  explicit EmbeddingStore(const std::string& path);

  // Whether PATH.json has a checksum, so that the numbers are known to be those that were written.
  bool is_verified() const { return verified_; }
  int64_t rows() const { return matrix_.rows; }
  int64_t dimension() const { return matrix_.columns; }

  // Writes row i, 0 <= i < rows(), to out [D]; halves become floats exactly.
  void row(int64_t i, float* out) const;

  // The complete store at `path` that was finished with this fingerprint, if there is one. What is
  // damaged counts as absent.
  static std::optional<EmbeddingStore> open_current(const std::string& path,
                                                    const std::string& fingerprint);

 private:
  MappedFile file_;
  NpyMatrix matrix_;
  bool verified_ = false;
};

}  // namespace simile
