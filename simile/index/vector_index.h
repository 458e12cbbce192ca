// SPDX-License-Identifier: Apache-2.0
// Vectors with keys, kept by Faiss (IndexIDMap over IndexFlat) and searched exactly.
//
// The file is Faiss's own format, so other tools can read it; searching uses exact_search.h, which
// needs no BLAS. Hits of equal score come in the order in which the vectors were added.
// Errors: kInput for vectors of another size and for files that are damaged or of another kind
// (their sizes are checked before Faiss reads them); kIo for files that cannot be written. Const
// methods may run in several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/exact_search.h"

namespace simile {

class VectorIndex {
 public:
  VectorIndex(int64_t dimension, VectorMetric metric);
  VectorIndex(VectorIndex&&) noexcept;
  VectorIndex& operator=(VectorIndex&&) noexcept;
  ~VectorIndex();

  // vectors [n, D] under keys[n], which must not be in the index yet.
  void add(const Matrix<float>& vectors, const std::vector<int64_t>& keys);

  // Returns how many of `keys` there were.
  int64_t remove(const std::vector<int64_t>& keys);

  // queries [q, D]; Hit::id is a key. At most size() hits per query, best first.
  std::vector<std::vector<Hit>> search(const Matrix<float>& queries, int64_t top_k) const;

  int64_t size() const;
  int64_t dimension() const;
  VectorMetric metric() const;

  void save(const std::string& path) const;  // complete or not at all
  static VectorIndex load(const std::string& path, int64_t dimension, VectorMetric metric);

 private:
  struct Storage;
  std::unique_ptr<Storage> storage_;
};

}  // namespace simile
