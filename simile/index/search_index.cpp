// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/index/detail/segment_graph.h"
#include "simile/index/detail/segment_scores.h"
#include "simile/index/detail/segment_set.h"

namespace simile {

namespace {

std::string list_ids(const std::vector<std::string>& ids) {
  constexpr size_t kShown = 5;
  const auto end = ids.begin() + static_cast<int64_t>(std::min(kShown, ids.size()));
  return fmt::format("\"{}\"{}", fmt::join(ids.begin(), end, "\", \""),
                     ids.size() > kShown ? ", ..." : "");
}

}  // namespace

struct SearchIndex::Parts {
  const std::string path;
  const IndexedModel model;
  DocumentStore documents;  // for reading only, so that searches do not wait for a change
  std::optional<DocumentStore> writer;
  detail::SegmentCache cache;
  detail::MetadataCache metadata;
  std::mutex mutex;  // of `vectors`
  std::shared_ptr<const detail::SegmentSet> vectors;

  Parts(const std::string& folder, IndexedModel indexed)
      : path(folder),
        model(std::move(indexed)),
        documents(detail::open_documents(folder, model)),
        cache(folder, model),
        metadata(detail::open_documents(folder, model), detail::documents_path(folder)) {}

  // The vectors of the generation that counts now.
  std::shared_ptr<const detail::SegmentSet> current();
  // What look(segments) returns, of a generation that counts while it looks at documents.
  template <typename Look>
  auto look_at_current(const Look& look);
  // The documents of find_hits(segments).
  template <typename FindHits>
  std::vector<std::vector<SearchHit>> search(const FindHits& find_hits);
  std::vector<std::vector<detail::IndexHit>> rank(const detail::SegmentSet& segments,
                                                  const SearchQueries& queries, int64_t top_k,
                                                  const SearchSettings& settings);
  // What asks for documents like a stored one.
  SearchQueries queries_of(const detail::SegmentSet& segments, const DocumentStore::Stored& stored,
                           const MetadataFilter& filter) const;
  // Each document's best hit of all lists, but for the one with the key `left_out`.
  std::vector<detail::IndexHit> best_of(const std::vector<std::vector<detail::IndexHit>>& lists,
                                        int64_t left_out, int64_t top_k) const;
  SearchHit make_hit(const detail::IndexHit& hit, Document& document) const;
  std::vector<std::vector<SearchHit>> find(
      const std::vector<std::vector<detail::IndexHit>>& hits) const;

  DocumentStore::Change change(const std::vector<std::string>& removed_ids,
                               const std::vector<Document>& added,
                               const DocumentStore::BeforeCommit& before_commit);
  void add_graph(const GraphRow& graph, const std::vector<SegmentRow>& of);
  // That the vector of a key was found and is of the document's content.
  void check_found(const detail::FoundVector& found, const VectorKey& wanted) const;
  void check_removed(const detail::Segments& segments, const DocumentStore::Change& change) const;
  void merge(const GraphProgress& progress, bool renews_graph);
  bool is_changed_since(const StoreSnapshot& snapshot) {
    return documents.generation() != snapshot.state.generation;
  }
  // Of documents that are not those of the vectors. Errors: the index was changed (kIo), or is
  // damaged.
  [[noreturn]] void fail_unlike(const detail::SegmentSet& set,
                                const detail::LiveSegment& live) const;
};

std::shared_ptr<const detail::SegmentSet> SearchIndex::Parts::current() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (vectors != nullptr && documents.generation() == vectors->generation()) return vectors;
  vectors = detail::read_current(documents, [this](const StoreSnapshot& now) {
    const detail::Segments segments = cache.open(now.state.segments);
    return std::make_shared<const detail::SegmentSet>(segments, now, vectors.get(),
                                                      cache.open_graph(now.state, segments));
  });
  return vectors;
}

void SearchIndex::Parts::fail_unlike(const detail::SegmentSet& set,
                                     const detail::LiveSegment& live) const {
  SIMILE_CHECK(documents.generation() == set.generation(), ErrorKind::kIo,
               "the index '{}' was changed while it was read; try again", path);
  detail::fail_damaged(
      detail::documents_path(path),
      fmt::format("its documents are not those of the vectors of '{}'", live.segment().path()));
}

template <typename Look>
auto SearchIndex::Parts::look_at_current(const Look& look) {
  for (;;) {
    const std::shared_ptr<const detail::SegmentSet> segments = current();
    try {
      return look(*segments);
    } catch (const Error&) {
      // A document that was found may have been removed meanwhile.
      if (documents.generation() == segments->generation()) throw;
    }
  }
}

template <typename FindHits>
std::vector<std::vector<SearchHit>> SearchIndex::Parts::search(const FindHits& find_hits) {
  return look_at_current(
      [&](const detail::SegmentSet& segments) { return find(find_hits(segments)); });
}

SearchHit SearchIndex::Parts::make_hit(const detail::IndexHit& hit, Document& document) const {
  const int64_t key = documents.document_key(hit.vector.key);
  const int64_t number = hit.vector.key - key;
  if (number >= document.vectors() ||
      vector_key(key, document, number).content != hit.vector.content) {
    detail::fail_damaged(detail::documents_path(path),
                         fmt::format("document {} is not the one of its vector", hit.vector.key));
  }
  SearchHit found;
  found.id = std::move(document.id);
  found.score = hit.score;
  found.by_vector = hit.by_vector;
  found.by_words = hit.by_words;
  found.metadata = std::move(document.metadata);
  found.title = std::move(document.title);
  if (document.passages.empty()) {
    found.text = std::move(document.text);
  } else {
    found.text = document.text_of(number);
    found.passage = {document.characters_of(number), number, document.vectors()};
  }
  return found;
}

std::vector<std::vector<detail::IndexHit>> SearchIndex::Parts::rank(
    const detail::SegmentSet& segments, const SearchQueries& queries, int64_t top_k,
    const SearchSettings& settings) {
  const bool with_all = queries.filter.matches_all();
  const std::vector<char> allowed =
      with_all ? std::vector<char>() : metadata.select(segments, queries.filter);
  if (settings.by_words()) {
    return detail::search_segments(segments, model, queries, top_k, settings,
                                   with_all ? nullptr : &allowed);
  }
  return detail::search_vectors(with_all ? segments : segments.only(allowed), model,
                                queries.vectors, top_k, queries.exact);
}

SearchQueries SearchIndex::Parts::queries_of(const detail::SegmentSet& segments,
                                             const DocumentStore::Stored& stored,
                                             const MetadataFilter& filter) const {
  SearchQueries queries;
  queries.filter = filter;
  queries.vectors = Matrix<float>(stored.document.vectors(), model.dimension);
  int64_t next = 0;
  for (const VectorKey& wanted : vector_keys(stored.key, stored.document)) {
    const detail::FoundVector found = segments.find(wanted.key);
    check_found(found, wanted);
    found.segment->vectors().read(found.row, queries.vectors.row(next));
    queries.texts.emplace_back(stored.document.text_of(next++));
  }
  return queries;
}

std::vector<detail::IndexHit> SearchIndex::Parts::best_of(
    const std::vector<std::vector<detail::IndexHit>>& lists, int64_t left_out,
    int64_t top_k) const {
  std::map<int64_t, detail::IndexHit> best;  // by the documents' keys
  for (const auto& hits : lists) {
    for (const detail::IndexHit& hit : hits) {
      const auto [place, is_new] = best.emplace(documents.document_key(hit.vector.key), hit);
      if (!is_new && hit.score > place->second.score) place->second = hit;
    }
  }
  best.erase(left_out);
  std::vector<detail::IndexHit> hits;
  for (const auto& entry : best) hits.push_back(entry.second);
  std::stable_sort(hits.begin(), hits.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), static_cast<size_t>(std::max<int64_t>(top_k, 0))));
  return hits;
}

std::vector<std::vector<SearchHit>> SearchIndex::Parts::find(
    const std::vector<std::vector<detail::IndexHit>>& hits) const {
  std::vector<int64_t> keys;
  for (const auto& of_query : hits) {
    for (const detail::IndexHit& hit : of_query) keys.push_back(hit.vector.key);
  }
  std::vector<Document> found = documents.find(keys);
  auto next = found.begin();
  std::vector<std::vector<SearchHit>> results;
  for (const auto& of_query : hits) {
    std::vector<SearchHit> result;
    for (const detail::IndexHit& hit : of_query) {
      result.push_back(make_hit(hit, *next++));
    }
    results.push_back(std::move(result));
  }
  return results;
}

DocumentStore::Change SearchIndex::Parts::change(const std::vector<std::string>& removed_ids,
                                                 const std::vector<Document>& added,
                                                 const DocumentStore::BeforeCommit& before_commit) {
  SIMILE_CHECK(writer.has_value(), ErrorKind::kIo, "the index '{}' was opened for reading", path);
  SegmentChange segments;
  DocumentStore::Change made = writer->change(
      removed_ids, added,
      [&](const DocumentStore::Change& change, const DocumentStore::RemovedWithin& removed_within) {
        SIMILE_CHECK(change.unknown.empty(), ErrorKind::kInput,
                     "the index '{}' has no document {}; nothing was removed", path,
                     list_ids(change.unknown));
        return segments = before_commit(change, removed_within);
      });
  detail::remove_segments(path, segments.dropped);
  if (made.before.graph && segments.may_lose_graph()) {
    const int64_t old = made.before.graph->number;
    const std::optional<GraphRow> now = writer->state().graph;
    if (!now || now->number != old) std::remove(detail::graph_path(path, old).c_str());
  }
  return made;
}

void SearchIndex::Parts::check_found(const detail::FoundVector& found,
                                     const VectorKey& wanted) const {
  if (found.row >= 0 && found.segment->vector(found.row).content == wanted.content) return;
  detail::fail_damaged(detail::documents_path(path),
                       fmt::format("document {} is not the one of its vector", wanted.key));
}

void SearchIndex::Parts::check_removed(const detail::Segments& segments,
                                       const DocumentStore::Change& change) const {
  for (const VectorKey& removed : change.removed) {
    check_found(detail::find_vector(segments, removed.key), removed);
  }
}

void SearchIndex::Parts::merge(const GraphProgress& progress, bool renews_graph) {
  const ApproximateOptions options = read_search_settings(path).approximate;
  int64_t number = 0;  // that a graph would have
  change(
      {}, {},
      [&](const DocumentStore::Change& change, const DocumentStore::RemovedWithin& removed_within) {
        const std::vector<SegmentRow>& rows = change.before.segments;
        detail::remove_unused_segments(path, change.before);
        detail::SegmentSink sink(path, model, change.before.next_segment);
        SegmentChange segments;
        segments.dropped = detail::rewrite_segments(
            cache.open(rows), detail::merge_begin(rows, removed_within), removed_within, sink);
        segments.written = sink.finish();
        segments.drops_graph = renews_graph || options.approximate == "never";
        number = change.before.next_segment + static_cast<int64_t>(segments.written.size());
        segments.reserved = 1;
        return segments;
      });
  const StoreSnapshot now = documents.snapshot();
  if (!detail::needs_graph(now.state, options)) return;
  const detail::Segments segments = cache.open(now.state.segments);
  std::optional<GraphRow> graph;
  try {
    graph = detail::make_graph(path, model, now, segments, number, options, progress);
  } catch (const Error& error) {
    // Another merge, which makes its own, has removed the file of this one.
    const bool is_gone = !file_exists(detail::graph_path(path, number));
    if (error.kind() == ErrorKind::kInterrupted || !is_gone || !is_changed_since(now)) throw;
  }
  if (graph) add_graph(*graph, now.state.segments);
}

void SearchIndex::Parts::add_graph(const GraphRow& graph, const std::vector<SegmentRow>& of) {
  bool fits = false;
  change({}, {}, [&](const DocumentStore::Change& change, const DocumentStore::RemovedWithin&) {
    const std::vector<SegmentRow>& rows = change.before.segments;
    // A merge that came between may have removed the file, which no state named yet.
    fits = rows.size() >= of.size() && file_exists(detail::graph_path(path, graph.number)) &&
           std::equal(
               of.begin(), of.end(), rows.begin(),
               [](const SegmentRow& a, const SegmentRow& b) { return a.checksum == b.checksum; });
    SegmentChange segments;
    if (fits) segments.graph = graph;
    return segments;
  });
  if (!fits) std::remove(detail::graph_path(path, graph.number).c_str());
}

std::unique_ptr<SearchIndex::Parts> SearchIndex::open_parts(const std::string& path,
                                                            IndexedModel model, Access access) {
  auto parts = std::make_unique<Parts>(path, std::move(model));
  parts->current();
  if (access == Access::kWrite) {
    parts->writer.emplace(
        detail::open_documents(path, parts->model, DocumentStore::Access::kWrite));
  }
  return parts;
}

SearchIndex SearchIndex::open(const std::string& path, const std::string& fingerprint,
                              const std::string& model_name, Access access) {
  IndexedModel model = detail::read_manifest(path);
  check_fingerprint(path, model, fingerprint, model_name);
  return SearchIndex(open_parts(path, std::move(model), access));
}

SearchIndex SearchIndex::open_without_model(const std::string& path, Access access) {
  return SearchIndex(open_parts(path, detail::read_manifest(path), access));
}

SearchIndex::SearchIndex(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SearchIndex::SearchIndex(SearchIndex&&) noexcept = default;
SearchIndex::~SearchIndex() = default;

std::vector<std::vector<SearchHit>> SearchIndex::search(const Matrix<float>& queries,
                                                        int64_t top_k) const {
  return parts_->search([&](const detail::SegmentSet& segments) {
    return detail::search_vectors(segments, parts_->model, queries, top_k, false);
  });
}

std::vector<std::vector<SearchHit>> SearchIndex::search(const SearchQueries& queries, int64_t top_k,
                                                        const SearchSettings& settings) const {
  return parts_->search([&](const detail::SegmentSet& segments) {
    return parts_->rank(segments, queries, top_k, settings);
  });
}

bool SearchIndex::matches(const MetadataFilter& filter) const {
  return parts_->look_at_current([&](const detail::SegmentSet& segments) {
    return parts_->metadata.selects_any(segments, filter);
  });
}

void SearchIndex::prepare_filters(const std::atomic<bool>& ends) const {
  parts_->metadata.read_all(*parts_->current(), ends);
}

std::vector<SearchHit> SearchIndex::search_like(const std::string& id, int64_t top_k,
                                                const SearchSettings& settings,
                                                const MetadataFilter& filter, bool exact) const {
  Parts& parts = *parts_;
  auto results = parts.search([&](const detail::SegmentSet& segments) {
    const std::optional<DocumentStore::Stored> like = parts.documents.find_id(id);
    SIMILE_CHECK(like, ErrorKind::kInput, "the index '{}' has no document {}", parts.path,
                 list_ids({id}));
    SearchQueries queries = parts.queries_of(segments, *like, filter);
    queries.exact = exact;
    const auto found = parts.rank(segments, queries, top_k + 1, settings);
    return std::vector<std::vector<detail::IndexHit>>{parts.best_of(found, like->key, top_k)};
  });
  return std::move(results[0]);
}

bool SearchIndex::has(const std::string& id) const {
  return parts_->documents.find_id(id).has_value();
}

std::optional<Document> SearchIndex::find(const std::string& id) const {
  Parts& parts = *parts_;
  std::optional<Document> found;
  parts.search([&](const detail::SegmentSet& segments) {
    found.reset();
    if (std::optional<DocumentStore::Stored> stored = parts.documents.find_id(id)) {
      parts.queries_of(segments, *stored, {});  // its vectors know it
      found = std::move(stored->document);
    }
    return std::vector<std::vector<detail::IndexHit>>();
  });
  return found;
}

void SearchIndex::for_each(const TakeDocument& take) const {
  const std::shared_ptr<const detail::SegmentSet> set = parts_->current();
  const DocumentStore& store = parts_->documents;
  std::vector<float> vector(static_cast<size_t>(parts_->model.dimension));
  for (const detail::LiveSegment& live : set->segments()) {
    const StoredRows vectors = live.segment().vectors();
    const auto unlike = detail::for_each_live(
        store, live, [&](int64_t i, const Document& document, int64_t passage) {
          vectors.read(live.row(i), vector.data());
          take(document, passage, vector.data());
        });
    live.segment().release_vectors();
    if (unlike) parts_->fail_unlike(*set, live);
  }
}

int64_t SearchIndex::for_sample(int64_t most, const TakeDocument& take) const {
  const std::shared_ptr<const detail::SegmentSet> set = parts_->current();
  int64_t total = 0, seen = 0;
  for (const detail::LiveSegment& live : set->segments()) total += live.size();
  const int64_t count = std::min(most, total);
  std::vector<float> vector(static_cast<size_t>(parts_->model.dimension));
  for (const detail::LiveSegment& live : set->segments()) {
    const StoredRows vectors = live.segment().vectors();
    for (int64_t i = 0; i < live.size(); ++i, ++seen) {
      if ((seen + 1) * count / total == seen * count / total) continue;
      const bool found = detail::take_live(parts_->documents, live, i,
                                           [&](int64_t, const Document& document, int64_t passage) {
                                             vectors.read(live.row(i), vector.data());
                                             take(document, passage, vector.data());
                                           });
      if (!found) parts_->fail_unlike(*set, live);
    }
  }
  return set->generation();
}

int64_t SearchIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  detail::check_documents(documents, vectors, parts_->model);
  if (documents.empty()) return 0;
  Parts& parts = *parts_;
  const auto write_vectors = [&](const DocumentStore::Change& change,
                                 const DocumentStore::RemovedWithin& removed_within) {
    const std::vector<SegmentRow>& rows = change.before.segments;
    const detail::Segments segments = parts.cache.open(rows);
    parts.check_removed(segments, change);
    detail::SegmentSink sink(parts.path, parts.model, change.before.next_segment);
    SegmentChange changed;
    changed.dropped = detail::rewrite_segments(
        segments, detail::tail_begin(change.before, vectors.rows), removed_within, sink);
    sink.add(documents, vectors, change.added);
    changed.written = sink.finish();
    return changed;
  };
  return parts.change({}, documents, write_vectors).removed_documents;
}

int64_t SearchIndex::remove(const std::vector<std::string>& ids) {
  Parts& parts = *parts_;
  const auto check_vectors = [&](const DocumentStore::Change& change,
                                 const DocumentStore::RemovedWithin&) {
    parts.check_removed(parts.cache.open(change.before.segments), change);
    return SegmentChange{};
  };
  return parts.change(ids, {}, check_vectors).removed_documents;
}

void SearchIndex::merge(const GraphProgress& progress, bool renews_graph) {
  parts_->merge(progress, renews_graph);
}

IndexInfo SearchIndex::info() const {
  return detail::make_info(parts_->model, parts_->documents.state());
}

}  // namespace simile
