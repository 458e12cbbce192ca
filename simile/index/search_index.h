// SPDX-License-Identifier: Apache-2.0
// A folder of documents and their vectors that can be searched:
//
//   manifest.json             format, model fingerprint and name, precision, dimension, metric,
//                             checksum
//   documents.sqlite          ids, texts, metadata and the list of segments (document_store.h)
//   segments/segment-<n>.bin  vectors and their keys, never changed (segment_file.h)
//
// A change writes the vectors it adds into a segment of their own and then commits the documents
// with the list of segments, so a crash at any point leaves the index as it was before or after.
// Its cost is in proportion to its size. Several processes may change an index: each waits for its
// turn and continues from the state that the one before left. A search sees every change that was
// committed when it began, and waits for a change only during its commit. The index takes vectors
// and knows its model only by name and fingerprint; opening it with another fingerprint is refused.
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
#include "simile/data/metadata_filter.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
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
  // For work that needs no model: removing, merging, reading documents.
  static SearchIndex open_without_model(const std::string& path, Access access);
  SearchIndex(SearchIndex&&) noexcept;
  ~SearchIndex();

  // queries [q, dimension]; the best top_k documents of each by their vectors, best first.
  std::vector<std::vector<SearchHit>> search(const Matrix<float>& queries, int64_t top_k) const;
  // The same by `settings`. Hits with equal scores are in the order of adding, and scores have the
  // bits of an evaluation of the same documents in this order. Errors: kUsage for queries that lack
  // the vectors or words that the mode needs.
  std::vector<std::vector<SearchHit>> search(const SearchQueries& queries, int64_t top_k,
                                             const SearchSettings& settings) const;

  // Counts, in total and by their metadata, the documents that each query finds without a limit on
  // top_k: all that pass the filter and are similar enough; by words alone, those that share a word
  // with the query. Without queries: all that pass the filter. At most `most_values` values per
  // facet. Errors (kUsage): a column that no document has.
  std::vector<MatchCounts> count(const SearchQueries& queries, const SearchSettings& settings,
                                 const std::vector<Facet>& facets, int64_t most_values) const;

  // Calls take(document) for documents that match, in the order of adding, behind the one with the
  // key `after` (0: from the first on), until it returns false or has `limit` of them. Returns the
  // key of the last one taken; 0: there are no more. Errors: as a search with a filter.
  int64_t list(const MetadataFilter& filter, int64_t after, int64_t limit,
               const std::function<bool(const Document&)>& take) const;

  // Reads the metadata columns, so that the first filter on a column need not wait; searches
  // continue meanwhile. Returns early when `ends` became true. Errors: as a search with a filter.
  void prepare_filters(const std::atomic<bool>& ends) const;

  // The documents nearest to the one with this id, except itself. Needs no model: its vector and
  // text are the query. If it has passages, each is a query, and a hit keeps its highest score.
  // `how` has everything but queries. Errors (kInput): an id that is not there.
  std::vector<SearchHit> search_like(const std::string& id, int64_t top_k,
                                     const SearchSettings& settings,
                                     const SearchQueries& how = {}) const;

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
  // Removes the documents that match, all of them at once, or with `dry_run` only counts them.
  // Returns how many. Errors: as a search with a filter.
  int64_t remove_matching(const MetadataFilter& filter, bool dry_run = false);
  // Changes metadata alone; vectors, texts and the order stay. The members of a patch, a JSON
  // object, replace members of the same names, and null removes one (RFC 7396). All or nothing;
  // returns how many documents have changed. Errors (kInput): an unknown id, a patch that is not an
  // object, metadata that are too large.
  struct MetadataPatch {
    std::string id, patch;
  };
  int64_t change_metadata(const std::vector<MetadataPatch>& patches);
  // How long a change waits for those of other processes, before an error (kIo); by default ten
  // minutes.
  void wait_at_most(std::chrono::milliseconds wait);
  // Rewrites all vectors into as few segments as possible, without those whose documents are gone,
  // and removes segment files that a killed process left. Then makes the graph that the index's
  // settings ask for, where it has none of nearly all its vectors; meanwhile the index can be
  // searched and changed. A merge by another process at that time leaves the index without.
  // `renews_graph`: rebuild an existing graph.
  void merge(const GraphProgress& progress = {}, bool renews_graph = false);

  IndexInfo info() const;
  int64_t generation() const;  // that of info(), alone
  // The model of info(), which reads the index's state besides.
  const IndexedModel& model() const;

 private:
  struct Parts;
  explicit SearchIndex(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
