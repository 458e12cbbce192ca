// SPDX-License-Identifier: Apache-2.0
// A folder of documents and their vectors that can be searched:
//
//   manifest.json      format, model fingerprint and name, precision, dimension, metric, checksum
//   vectors-<g>.bin    the vectors of generation g (vector_index.h)
//   documents.sqlite   ids and texts, and the generation that counts (document_store.h)
//
// A change writes the vectors of the next generation first and then commits the documents, so a
// crash at any point leaves the index as it was before or after. Several processes may change an
// index: each waits for its turn and goes on from what the one before left. The index takes vectors
// and knows its model only by name and fingerprint; opening it with another fingerprint is refused.
//
// The vectors' file has a checksum of all its bytes and holds that of the manifest and the hash of
// each document (docs/decisions/0015-checksums.md): manifest and vectors are verified by opening,
// documents when they are found, and all of them before a change and by check_index().
//
// Errors: kInput for folders that are damaged, incomplete or of another model; kIo when writing
// fails. search() may run in several threads, also beside one add() or remove().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/index/vector_index.h"

namespace simile {

// The model whose vectors an index holds.
struct IndexedModel {
  std::string fingerprint;
  std::string name;  // of a built-in one, else its folder as seen from the index's
  int64_t dimension = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  std::string precision = "fp32";  // of the products that made the vectors, as its user names it
  std::string folder = "";         // where it was when the index was made; empty for a built-in one
};

struct IndexInfo {
  IndexedModel model;
  int64_t count = 0;       // documents
  int64_t generation = 0;  // changes since the index was made
};

struct SearchHit {
  std::string id;
  std::string text;
  float score;  // see exact_search.h
};

// Makes an index in pieces; nothing is at `path` before commit(), which replaces an index there.
// Errors: kUsage when a folder that is not an index and not empty stands at `path`.
class IndexBuilder {
 public:
  IndexBuilder(const std::string& path, const IndexedModel& model);
  ~IndexBuilder();
  // Row i of `vectors` [documents, dimension] belongs to documents[i]. A later document with the
  // same id replaces the earlier one, but twice in one call is an error (kInput).
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  void commit();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether an index stands at `path`, whole or damaged.
bool is_index(const std::string& path);

// What the folder says of itself. Reads no vectors.
IndexInfo read_index_info(const std::string& path);

// Reads and verifies all that the folder holds. Errors: as opening it, and for any document that is
// damaged, missing or one too many.
IndexInfo check_index(const std::string& path);

class SearchIndex {
 public:
  enum class Access { kRead, kWrite };

  // `fingerprint` and `model_name` are those of the model at hand.
  static SearchIndex open(const std::string& path, const std::string& fingerprint,
                          const std::string& model_name, Access access = Access::kRead);
  SearchIndex(SearchIndex&&) noexcept;
  ~SearchIndex();

  // queries [q, dimension]; the best top_k documents of each, best first.
  std::vector<std::vector<SearchHit>> search(const Matrix<float>& queries, int64_t top_k) const;

  // Adds documents, replacing those whose id is there already. Returns how many were replaced.
  int64_t add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  // Errors (kInput): an id that is not there; then nothing is removed.
  void remove(const std::vector<std::string>& ids);

  IndexInfo info() const;

 private:
  struct Parts;
  explicit SearchIndex(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
