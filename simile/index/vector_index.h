// SPDX-License-Identifier: Apache-2.0
// Vectors with keys, searched exactly (exact_search.h). Hits of equal score come in the order in
// which the vectors were added.
//
// The file, all numbers little-endian:
//
//   byte 0   16 bytes  "simile vectors" and two zeros
//   16       uint32    version of this layout: 2
//   20       uint32    metric: 0 inner product, 1 squared distance, 2 absolute distance
//   24       int64     D, the dimension
//   32       int64     n, the number of vectors
//   40       32 bytes  what the vectors belong to, as text: digits that the caller has for it
//   72       32 bytes  checksum, as text: hash_bytes() (simile/core/hash.h) of bytes 0 to 71
//                      and of all behind the checksum, one behind the other
//   104      n D floats, vector after vector, then n int64, their keys, then n uint64, the hashes
//            of what the vectors are of
//
// Errors: kInput for vectors of another size and for files that are damaged, of another layout, or
// hold other vectors than expected; kIo for files that cannot be written. Const methods may run in
// several threads at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/exact_search.h"

namespace simile {

// What a vector is of.
struct VectorKey {
  int64_t key = 0;
  uint64_t content = 0;  // a hash of what has this key, by which it is known again
};

struct VectorHit {
  VectorKey vector;
  float score;  // see exact_search.h
};

class VectorIndex {
 public:
  VectorIndex(int64_t dimension, VectorMetric metric);

  // vectors [n, D] under keys[n], which must not be in the index yet.
  void add(const Matrix<float>& vectors, const std::vector<VectorKey>& keys);

  // Returns how many of `keys` there were.
  int64_t remove(const std::vector<int64_t>& keys);

  // queries [q, D]. At most size() hits per query, best first.
  std::vector<std::vector<VectorHit>> search(const Matrix<float>& queries, int64_t top_k) const;

  VectorKey vector(int64_t i) const;  // of row i, in the order of adding

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  int64_t dimension() const { return dimension_; }
  VectorMetric metric() const { return metric_; }

  // `owner`: what the vectors belong to, 32 characters; load() refuses those of another.
  void save(const std::string& path, const std::string& owner) const;  // complete or not at all
  static VectorIndex load(const std::string& path, int64_t dimension, VectorMetric metric,
                          const std::string& owner);

 private:
  int64_t dimension_;
  VectorMetric metric_;
  std::vector<float> vectors_;  // [size(), D]
  std::vector<int64_t> keys_;
  std::vector<uint64_t> contents_;  // of the keys
};

}  // namespace simile
