// SPDX-License-Identifier: Apache-2.0
// The vectors of a build as they come, in floats, in a file that only grows: a build that was
// killed goes on with them, and what the index keeps of them is measured by them.
//
// The file, all numbers little-endian: a header of "simile vectors" and two zeros, uint32 version
// 1, 4 zeros, int64 D, 32 digits that say what the vectors are made with, and as 32 digits the
// checksum of all that; then blocks of int64 rows, 32 digits of the documents, 32 of the vectors,
// 32 of the block's own 72 bytes before; then rows x D floats, and zeros up to a multiple of 8
// bytes. A last block that is not whole is as good as not there.
//
// Errors: kIo for a file that cannot be written; kUsage for one that is no such file; kInput for
// other vectors or documents than are asked for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/file.h"
#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/neighbours/stored_vectors.h"

namespace simile::detail {

class VectorLog {
 public:
  // `owner`: 32 digits. Of a file at `path` the blocks are kept if `resumes`, and otherwise it is
  // removed. A new one is made by the first block.
  VectorLog(std::string path, std::string owner, int64_t D, bool resumes);
  VectorLog(const VectorLog&) = delete;
  VectorLog& operator=(const VectorLog&) = delete;
  ~VectorLog();

  const std::string& path() const { return path_; }

  // Vectors of the next block that was kept, which must be of these documents; nothing at the end.
  std::optional<Matrix<float>> peek(const std::vector<Document>& documents) const;
  // The next block: passes by the one that was kept, which must be of these documents, or else
  // writes it.
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  // Passes by the next block that was kept; false where there is none, or one of other documents.
  bool pass(const std::vector<Document>& documents);
  bool is_taken() const { return taken_ == blocks_.size(); }  // there are no more that were kept
  // Errors (kInput): there are more blocks that were kept.
  void check_all_taken() const;

  // Vectors of all blocks, one behind the other.
  class Reader {
   public:
    explicit Reader(const VectorLog& log);
    struct Block {
      StoredRows rows;
      int64_t first;  // row of all
    };
    const std::vector<Block>& blocks() const { return blocks_; }
    void read(int64_t row, float* out) const;
    // Tells the system that the block will not be read again soon.
    void release(const Block& block) const;

   private:
    MappedFile file_;
    std::vector<Block> blocks_;
  };

 private:
  struct Place {
    int64_t offset, rows;
    std::string documents;  // their digest
  };
  bool is_next(const std::vector<Document>& documents) const;
  void check_next(const std::vector<Document>& documents) const;
  void append(const std::vector<Document>& documents, const Matrix<float>& vectors);
  void read_kept();
  void open();
  void write(std::string_view bytes);

  std::string path_, owner_;
  int64_t D_;
  std::vector<Place> blocks_;
  size_t taken_ = 0;
  int64_t size_ = 0;  // of the whole blocks, with the header
  std::FILE* file_ = nullptr;
};

}  // namespace simile::detail
