// SPDX-License-Identifier: Apache-2.0
// A folder of documents and their vectors that can be searched:
//
//   manifest.json      format, model fingerprint and name, precision, dimension, metric, count
//   vectors-<g>.bin    the vectors of generation g (vector_index.h)
//   documents.sqlite   ids and texts, and the generation that counts (document_store.h)
//
// A change writes the vectors of the next generation first and then commits the documents, so a
// crash at any point leaves the index as it was before or after. The index takes vectors and knows
// its model only by name and fingerprint; opening it with another fingerprint is refused. Errors:
// kInput for folders that are damaged, incomplete or of another model; kIo when writing fails.
// search() may run in several threads, also beside one add() or remove().
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
  std::string name;  // for messages: the folder it was loaded from
  int64_t dimension = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  std::string precision = "fp32";  // of the products that made the vectors, as its user names it
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
  // Returns how many of these ids there were.
  int64_t remove(const std::vector<std::string>& ids);

  IndexInfo info() const;

 private:
  struct Parts;
  explicit SearchIndex(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
