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
#include "simile/index/metadata_filter.h"
#include "simile/index/search_settings.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

// The model whose vectors an index holds.
struct IndexedModel {
  std::string fingerprint;
  std::string name;  // of a built-in one, else its folder as seen from the index's
  int64_t dimension = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  std::string precision = "fp32";  // of the products that made the vectors, as its user names it
  std::string folder = "";         // where it was when the index was made; empty for a built-in one
  // The name of the documents' prompt; empty: the one that the model has for documents. Indexes of
  // earlier versions do not say.
  std::optional<std::string> prompt_name = std::nullopt;
  PassageOptions passages = {};                // that long documents are split into
  StoredNumber vectors = StoredNumber::kFp32;  // that the index keeps
  // Of the ten nearest vectors by floats, the share that is found by what the index keeps of them,
  // as measured with vectors of its own when it was made. None of floats, and of no vectors.
  std::optional<double> vectors_recall = std::nullopt;
  // Columns of the corpus that are kept with each document, and that documents added later have too
  // unless their user says otherwise; "*": all. A build that is not told takes those that its
  // documents have, where they are at most 32. Indexes with more, and of earlier versions, do not
  // say.
  std::optional<std::vector<std::string>> metadata = std::nullopt;
};

// The graph by which an index is searched approximately (docs/search.md).
struct GraphInfo {
  int64_t rows = 0;     // vectors in it
  int64_t breadth = 0;  // of a search for ten documents
  double recall = 0;    // the share of them that it found when it was made
};

// Told while a graph is made how many of its vectors are in it, all while its recall is measured;
// may throw: then none is made, and after ErrorKind::kInterrupted no index either.
using GraphProgress = std::function<void(int64_t done, int64_t all)>;

struct IndexInfo {
  IndexedModel model;
  int64_t count = 0;       // documents
  int64_t vectors = 0;     // of them: one for each, or for each of its passages
  int64_t generation = 0;  // changes since the index was begun
  int64_t segments = 0;
  int64_t removed = 0;  // vectors in them whose documents are gone
  std::optional<GraphInfo> graph = {};
};

struct SearchHit {
  std::string id;
  std::string text;
  double score = 0;                 // higher is better
  std::optional<double> by_vector;  // see exact_search.h; none where vectors were not asked
  std::optional<double> by_words;   // see bm25.h; none where words were not asked
  std::string metadata = {};        // as in Document
  std::optional<double> by_search = std::nullopt;  // where `score` is another, see reranker.h
  // Where `text` stands in a document that was split: its best passage, from 0, of so many.
  struct Place {
    Passage characters;  // [begin, end) of the whole text, in code points
    int64_t number = 0;
    int64_t of = 0;
  };
  std::optional<Place> passage = std::nullopt;
  std::string title = {};  // as in Document
};

// What a search goes by: one text for each row of `vectors` [q, dimension]. Either may be empty
// where the mode does not ask for it. Hits are the documents that match the filter; their scores
// and order are those of a search without it, as if the others had been taken out of its full
// ranking. Where the index has a graph, a search by vectors alone may miss some of the best.
//
// Of an index with passages, each passage is scored as if it were a document of its own, by its
// vector, by its words among those of all passages, and by both; then a document stands where its
// best passage does.
struct SearchQueries {
  std::vector<std::string> texts;
  Matrix<float> vectors;
  MetadataFilter filter = {};
  bool exact = false;  // without the graph
};

// What becomes of the vectors of a build that ends without commit(), be it killed: they are
// forgotten, or kept in the file PATH.building, so that a build that resumes goes on with them.
enum class UnfinishedBuild { kForget, kKeep, kResume };

// Makes an index in pieces; no more than an empty folder is at `path` before commit(), which
// replaces an index there. Of several processes that build at one path the first goes on. Errors:
// kUsage when a folder that is not an index and not empty stands at `path`, when an index does and
// `replaces` is false, and while another process builds there.
//
// A build that resumes gets the same documents in the same calls as the one that was interrupted,
// and makes the same index. kKeep with `replaces` false does not forget what another has kept
// (kUsage); kResume where nothing is kept begins anew. Errors (kInput): another model.
class IndexBuilder {
 public:
  IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces = true,
               const SearchSettings& settings = {},
               UnfinishedBuild unfinished = UnfinishedBuild::kForget);
  ~IndexBuilder();
  // The vectors that were kept of these documents, which are to be added next; nothing where the
  // build that was interrupted had not come to them. Errors (kInput): it had other documents here.
  std::optional<Matrix<float>> kept_vectors(const std::vector<Document>& documents);
  // `vectors` [vectors, dimension] are those of the documents, one after the other, and of each
  // those of its passages. A later document with the same id replaces the earlier one, but twice in
  // one call is an error (kInput).
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  // Measures the recall of vectors that are not kept in floats, where the model has none, and
  // builds the graph that the settings ask for. Returns why there is none, where making it failed:
  // the index is as good without. Errors (kInput): fewer documents than the build that was
  // interrupted had.
  std::optional<std::string> commit(const GraphProgress& progress = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Fills in the documents of the next call of add(), in their order; false: there are no more.
using NextDocuments = std::function<bool(std::vector<Document>&)>;

// Whether the build that is to be resumed, of these documents and this model, had been killed after
// its commit(): then nothing is left to do, and what it left beside the index is removed. Where one
// of others had been, the index that it made stands. Errors (kUsage): another process builds there.
bool finish_killed_build(const std::string& path, const IndexedModel& model,
                         const NextDocuments& next);

// Whether an index stands at `path`, whole or damaged.
bool is_index(const std::string& path);

// What the folder says of itself. Reads no vectors.
IndexInfo read_index_info(const std::string& path);

struct IndexCheck {
  IndexInfo info;
  std::vector<std::string> unused_files;  // in the folder, but no part of the index
};

// Reads and verifies all that the folder holds. Errors: as opening it, and for any document that is
// damaged, missing or one too many.
IndexCheck check_index(const std::string& path);

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
