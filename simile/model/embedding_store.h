// SPDX-License-Identifier: Apache-2.0
// Vectors of a frozen model, one per text, computed once, kept in a mapped file and read by row.
//
// PATH is a .npy matrix [rows, D] (parse_npy()) that other programs read too. Beside it
// PATH.json, {"fingerprint":..,"rows":..,"dimension":..,"precision":"fp32"|"fp16","checksum":..},
// describes the vectors' origin and has the hash_file() of PATH. It is removed before PATH is
// replaced and written after, so that no crash leaves a fingerprint with other vectors.
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

// All bytes before the numbers.
std::string npy_header(NpyNumber number, int64_t rows, int64_t columns);

// Where the numbers of the file `path` lie, given all of its bytes; they may be read to their end.
// Errors (kInput) name the file, what was expected and what was found: another format, version,
// type or order of numbers, number of dimensions or size.
NpyMatrix parse_npy(const std::string& path, std::string_view bytes);

// Errors: kIo when the file cannot be written; kFailed for vectors of another size, more or fewer
// of them than were announced, and a number that is not finite or, in half precision, beyond 65504.
// The old content of PATH stays until finish(). If finish() fails, the old store has lost its
// fingerprint and nothing else. Without finish() no file is left behind.
class EmbeddingStoreWriter {
 public:
  // kHalf rounds to the nearest half: a file of half the size.
  EmbeddingStoreWriter(const std::string& path, int64_t rows, int64_t dimension,
                       NpyNumber precision = NpyNumber::kFloat);

  // The next rows, [n, D].
  void append(const Matrix<float>& block);

  // Moves the finished file to its path. `fingerprint`: a text that changes when the vectors would:
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
// parse_npy(); a file that does not match the checksum of PATH.json, if it has one.
class EmbeddingStore {
 public:
  explicit EmbeddingStore(const std::string& path);

  // Whether PATH.json has a checksum, so that the numbers are known to be those that were written.
  bool is_verified() const { return verified_; }
  int64_t rows() const { return matrix_.rows; }
  int64_t dimension() const { return matrix_.columns; }

  // Writes row i, 0 <= i < rows(), to out [D]; halves become floats exactly.
  void row(int64_t i, float* out) const;

  // The complete store at `path` finished with this fingerprint; none where it is damaged.
  static std::optional<EmbeddingStore> open_current(const std::string& path,
                                                    const std::string& fingerprint);

 private:
  MappedFile file_;
  NpyMatrix matrix_;
  bool verified_ = false;
};

}  // namespace simile
