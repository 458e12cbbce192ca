// SPDX-License-Identifier: Apache-2.0
// A folder of documents and their vectors that can be searched:
//
//   manifest.json            format, model fingerprint and name, precision, dimension, metric,
//   checksum documents.sqlite         ids, texts and metadata, and which segments count
//   (document_store.h) segments/segment-<n>.bin vectors and their keys, never changed
//   (segment_file.h)
//
// A change writes the vectors it adds into a segment of their own and then commits the documents
// with the list of segments, so a crash at any point leaves the index as it was before or after.
// It costs what it changes. Several processes may change an index: each waits for its turn and goes
// on from what the one before left. Who searches sees every change that was committed when the
// search began, and waits for a change only while it is committed. The index takes vectors and
// knows its model only by name and fingerprint; opening it with another fingerprint is refused.
//
// Everything has a checksum (docs/decisions/0015-checksums.md, 0016-index-segments.md): manifest,
// lists and keys are verified by opening, vectors before they are first searched, documents when
// they are found or replaced, and all of it by check_index().
//
// Errors: kInput for folders that are damaged, incomplete or of another model; kIo when writing
// fails. All of SearchIndex may be used by several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/metadata_filter.h"
#include "simile/index/search_query.h"
#include "simile/index/search_settings.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

class SearchIndex {
 public:
  enum class Access { kRead, kWrite };

  // `fingerprint` and `model_name` are those of the model at hand.
  static SearchIndex open(const std::string& path, const std::string& fingerprint,
                          const std::string& model_name, Access access = Access::kRead);
  // For what needs no model: removing, merging, asking for what is there.
  static SearchIndex open_without_model(const std::string& path, Access access);
  SearchIndex(SearchIndex&&) noexcept;
  ~SearchIndex();

  // queries [q, dimension]; the best top_k documents of each by their vectors, best first.
  std::vector<std::vector<SearchHit>> search(const Matrix<float>& queries, int64_t top_k) const;
  // The same by what `settings` say. Equal scores stand in the order of adding, and scores are the
  // bits of an evaluation of the same documents in this order. Errors: kUsage for queries that lack
  // what the mode needs.
  std::vector<std::vector<SearchHit>> search(const SearchQueries& queries, int64_t top_k,
                                             const SearchSettings& settings) const;

  // Whether any document matches the filter: whether a search by vectors would find one. Looks at
  // metadata alone, from the first segment on until one has such a document. Errors: as a search
  // with a filter.
  bool matches(const MetadataFilter& filter) const;

  // Reads what filters go by, so that the first one that names a column finds it there; searches go
  // on meanwhile. Returns early when `ends` became true. Errors: as a search with a filter.
  void prepare_filters(const std::atomic<bool>& ends) const;

  // The documents nearest to the one with this id, itself left out, without a model: its vector and
  // text are the query. Of a document with passages each asks for itself, and a score is the
  // highest that one of them gets. Errors (kInput): an id that is not there.
  std::vector<SearchHit> search_like(const std::string& id, int64_t top_k,
                                     const SearchSettings& settings,
                                     const MetadataFilter& filter = {}, bool exact = false) const;

  // Whether a document has this id.
  bool has(const std::string& id) const;

  // The document with this id as it was added, if there is one.
  std::optional<Document> find(const std::string& id) const;

  // Calls take(document, passage, vector [dimension]) for all vectors in the order of adding; the
  // passage is 0 where the document is not split. Errors (kIo): another process changed the index
  // meanwhile; then not all were given.
  using TakeDocument = std::function<void(const Document&, int64_t passage, const float* vector)>;
  void for_each(const TakeDocument& take) const;

  // The same for `most` vectors, or all where there are fewer, at even distances in the order of
  // adding: the same ones of a generation, which is returned. Searches and changes go on meanwhile.
  // Errors (kIo): a document was removed before it could be given; then not all were.
  int64_t for_sample(int64_t most, const TakeDocument& take) const;

  // Adds documents with their vectors (see IndexBuilder::add()), replacing those whose id is there
  // already. Returns how many were replaced.
  int64_t add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  // Returns how many were removed. Errors (kInput): an id that is not there; then nothing is.
  int64_t remove(const std::vector<std::string>& ids);
  // Writes all vectors anew in as few segments as possible, without those whose documents are gone,
  // and removes files of segments that a killed process left. Then makes the graph that the index's
  // settings ask for, where it has none of nearly all its vectors; meanwhile the index can be
  // searched and changed. A merge by another process at that time leaves the index without.
  // `renews_graph`: one that is there is made anew.
  void merge(const GraphProgress& progress = {}, bool renews_graph = false);

  IndexInfo info() const;

 private:
  struct Parts;
  static std::unique_ptr<Parts> open_parts(const std::string& path, IndexedModel model,
                                           Access access);
  explicit SearchIndex(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
