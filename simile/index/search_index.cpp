// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <limits>
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
#include "simile/index/detail/segment_search.h"
#include "simile/index/detail/segment_set.h"

namespace simile {

using namespace detail;

namespace {

std::string list_ids(const std::vector<std::string>& ids) {
  constexpr size_t kShown = 5;
  const auto end = ids.begin() + static_cast<int64_t>(std::min(kShown, ids.size()));
  return fmt::format("\"{}\"{}", fmt::join(ids.begin(), end, "\", \""),
                     ids.size() > kShown ? ", ..." : "");
}

}  // namespace

struct SearchIndex::Parts {
  using Results = std::vector<std::vector<SearchHit>>;

  const std::string path;
  const IndexedModel model;
  DocumentStore documents;  // for reading only, so that searches do not wait for a change
  std::optional<DocumentStore> writer;
  SegmentCache cache;
  MetadataCache metadata;
  std::mutex mutex;  // of `vectors`
  std::shared_ptr<const SegmentSet> vectors;

  Parts(const std::string& folder, IndexedModel indexed, Access access)
      : path(folder),
        model(std::move(indexed)),
        documents(open_documents(folder, model)),
        cache(folder, model),
        metadata(open_documents(folder, model), documents_path(folder),
                 model.metadata.value_or(std::vector<std::string>())) {
    current();
    if (access == Access::kRead) return;
    writer.emplace(open_documents(folder, model, DocumentStore::Access::kWrite));
  }

  // The vectors of the generation that counts now.
  std::shared_ptr<const SegmentSet> current() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (vectors != nullptr && documents.generation() == vectors->generation()) return vectors;
    vectors = read_current(documents, [this](const StoreSnapshot& now) {
      const Segments segments = cache.open(now.state.segments);
      return std::make_shared<const SegmentSet>(model, segments, now, vectors.get(),
                                                cache.open_graph(now.state, segments));
    });
    return vectors;
  }

  // Returns look(segments), with a generation that stays current while it looks at documents.
  template <typename Look>
  auto look_at_current(const Look& look) {
    for (;;) {
      const std::shared_ptr<const SegmentSet> segments = current();
      try {
        return look(*segments);
      } catch (const Error&) {
        // A document that was found may have been removed meanwhile.
        if (documents.generation() == segments->generation()) throw;
      }
    }
  }

  // 1 for each document that matches, in the order of adding; none: all do.
  std::optional<std::vector<char>> select(const SegmentSet& segments,
                                          const MetadataFilter& filter) {
    if (filter.matches_all()) return std::nullopt;
    return metadata.select(segments, filter);
  }

  std::vector<IndexHits> rank(const SegmentSet& segments, const SearchQueries& queries,
                              int64_t top_k, const SearchSettings& settings) {
    const auto allowed = select(segments, queries.filter);
    auto results =
        search_segments(segments, queries, top_k, settings, allowed ? &*allowed : nullptr);
    if (queries.explain) explain_hits(segments, queries, settings, results);
    return results;
  }

  // The queries that ask for documents like a stored one.
  SearchQueries queries_of(const SegmentSet& segments, const DocumentStore::Stored& stored,
                           SearchQueries queries = {}) const {
    queries.vectors = Matrix<float>(stored.document.vectors(), model.dimension);
    int64_t next = 0;
    for (const VectorKey& wanted : vector_keys(stored.key, stored.document)) {
      const FoundVector found = segments.find(wanted.key);
      check_found(found, wanted);
      found.segment->vectors().read(found.row, queries.vectors.row(next));
      queries.texts.emplace_back(stored.document.text_of(next++));
    }
    return queries;
  }

  // Each document's best hit of all lists, but for the one with the key `left_out`.
  IndexHits best_of(const std::vector<IndexHits>& lists, int64_t left_out, int64_t top_k) const {
    std::map<int64_t, IndexHit> best;  // by the documents' keys
    for (const IndexHits& list : lists) {
      for (const IndexHit& hit : list) {
        const auto [place, is_new] = best.emplace(documents.document_key(hit.vector.key), hit);
        if (!is_new && hit.score > place->second.score) place->second = hit;
      }
    }
    best.erase(left_out);
    IndexHits hits;
    for (const auto& entry : best) hits.push_back(entry.second);
    std::stable_sort(hits.begin(), hits.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    hits.resize(std::min(hits.size(), static_cast<size_t>(std::max<int64_t>(top_k, 0))));
    return hits;
  }

  SearchHit make_hit(const IndexHit& hit, Document& document) const {
    const int64_t key = documents.document_key(hit.vector.key);
    const int64_t number = hit.vector.key - key;
    check_known(number < document.vectors() &&
                    vector_key(key, document, number).content == hit.vector.content,
                hit.vector);
    SearchHit found{std::move(document.id), "", hit.score, hit.by_vector, hit.by_words};
    found.metadata = std::move(document.metadata);
    found.title = std::move(document.title);
    if (hit.explanation != nullptr) found.explanation = *hit.explanation;
    found.text = document.text_of(number);
    if (!document.passages.empty()) {
      const Passage place = document.characters_of(number);
      found.passage = {number, document.vectors(), place.begin, place.end};
    }
    return found;
  }

  // The documents of hits.
  Results find(const std::vector<IndexHits>& hits) const {
    std::vector<int64_t> keys;
    for (const IndexHits& of_query : hits) {
      for (const IndexHit& hit : of_query) keys.push_back(hit.vector.key);
    }
    std::vector<Document> found = documents.find(keys);
    auto next = found.begin();
    Results results;
    for (const IndexHits& of_query : hits) {
      std::vector<SearchHit>& result = results.emplace_back();
      for (const IndexHit& hit : of_query) result.push_back(make_hit(hit, *next++));
    }
    return results;
  }

  DocumentStore& open_writer() {
    SIMILE_CHECK(writer.has_value(), ErrorKind::kIo, "the index '{}' was opened for reading", path);
    return *writer;
  }

  DocumentStore::Change change(const std::vector<std::string>& removed_ids,
                               const std::vector<Document>& added,
                               const DocumentStore::BeforeCommit& before_commit) {
    SegmentChange segments;
    DocumentStore::Change made =
        open_writer().change(removed_ids, added, [&](const auto& change, const auto& within) {
          SIMILE_CHECK(change.unknown.empty(), ErrorKind::kInput,
                       "the index '{}' has no document {}; nothing was removed", path,
                       list_ids(change.unknown));
          return segments = before_commit(change, within);
        });
    remove_segments(path, segments.dropped);
    if (made.before.graph && segments.may_lose_graph()) {
      const int64_t old = made.before.graph->number;
      const std::optional<GraphRow> now = writer->state().graph;
      if (!now || now->number != old) std::remove(graph_path(path, old).c_str());
    }
    return made;
  }

  void check_known(bool good, const VectorKey& vector) const {
    if (good) return;
    fail_damaged(documents_path(path),
                 fmt::format("document {} is not the one of its vector", vector.key));
  }
  // That the vector of a key was found and is of the document's content.
  void check_found(const FoundVector& found, const VectorKey& wanted) const {
    check_known(found.row >= 0 && found.segment->vector(found.row).content == wanted.content,
                wanted);
  }
  void check_removed(const Segments& segments, const DocumentStore::Change& change) const {
    for (const VectorKey& removed : change.removed) {
      check_found(find_vector(segments, removed.key), removed);
    }
  }

  // `generation`: the one that it must follow, if any.
  int64_t remove(const std::vector<std::string>& ids, std::optional<int64_t> generation) {
    const auto check_vectors = [&](const DocumentStore::Change& change, const auto&) {
      SIMILE_CHECK(change.before.generation == generation.value_or(change.before.generation),
                   ErrorKind::kIo, "the index '{}' was changed meanwhile", path);
      check_removed(cache.open(change.before.segments), change);
      return SegmentChange{};
    };
    return change(ids, {}, check_vectors).removed_documents;
  }

  void add_graph(const GraphRow& graph, const std::vector<SegmentRow>& of) {
    bool fits = false;
    change({}, {}, [&](const DocumentStore::Change& change, const auto&) {
      const std::vector<SegmentRow>& rows = change.before.segments;
      // A merge that came between may have removed the file, which no state named yet.
      fits = rows.size() >= of.size() && file_exists(graph_path(path, graph.number)) &&
             std::equal(of.begin(), of.end(), rows.begin(),
                        [](const auto& a, const auto& b) { return a.checksum == b.checksum; });
      SegmentChange segments;
      if (fits) segments.graph = graph;
      return segments;
    });
    if (!fits) std::remove(graph_path(path, graph.number).c_str());
  }

  // Says that documents are not those of the vectors. Errors: the index was changed (kIo), or is
  // damaged.
  [[noreturn]] void fail_unlike(const SegmentSet& set, const LiveSegment& live) const {
    SIMILE_CHECK(documents.generation() == set.generation(), ErrorKind::kIo,
                 "the index '{}' was changed while it was read; try again", path);
    fail_damaged(
        documents_path(path),
        fmt::format("its documents are not those of the vectors of '{}'", live.segment().path()));
  }
};

SearchIndex SearchIndex::open(const std::string& path, const std::string& fingerprint,
                              const std::string& model_name, Access access) {
  IndexedModel model = read_manifest(path);
  check_fingerprint(path, model, fingerprint, model_name);
  return SearchIndex(std::make_unique<Parts>(path, std::move(model), access));
}

SearchIndex SearchIndex::open_without_model(const std::string& path, Access access) {
  return SearchIndex(std::make_unique<Parts>(path, read_manifest(path), access));
}

SearchIndex::SearchIndex(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SearchIndex::SearchIndex(SearchIndex&&) noexcept = default;
SearchIndex::~SearchIndex() = default;

std::vector<std::vector<SearchHit>> SearchIndex::search(const Matrix<float>& queries,
                                                        int64_t top_k) const {
  SearchQueries by_vectors;
  by_vectors.vectors = queries;
  return search(by_vectors, top_k, {"vector", {}});
}

std::vector<std::vector<SearchHit>> SearchIndex::search(const SearchQueries& queries, int64_t top_k,
                                                        const SearchSettings& settings) const {
  return parts_->look_at_current([&](const SegmentSet& segments) {
    return parts_->find(parts_->rank(segments, queries, top_k, settings));
  });
}

std::vector<MatchCounts> SearchIndex::count(const SearchQueries& queries,
                                            const SearchSettings& settings,
                                            const std::vector<Facet>& facets,
                                            int64_t most_values) const {
  return parts_->look_at_current([&](const SegmentSet& segments) {
    const auto allowed = parts_->select(segments, queries.filter);
    const int64_t count =
        std::max(queries.vectors.rows, static_cast<int64_t>(queries.texts.size()));
    std::vector<MatchCounts> counts;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
      const std::vector<char> found = find_all(segments, queries.part(i, std::min(i + 1, count)),
                                               settings, allowed ? &*allowed : nullptr);
      counts.push_back(parts_->metadata.count(segments, found, facets, most_values));
    }
    return counts;
  });
}

int64_t SearchIndex::list(const MetadataFilter& filter, int64_t after, int64_t limit,
                          const std::function<bool(const Document&)>& take) const {
  Parts& parts = *parts_;
  int64_t last = after;
  return parts.look_at_current([&](const SegmentSet& segments) {
    const auto allowed = parts.select(segments, filter);
    int64_t begin = 0;  // of a segment
    for (const LiveSegment& live : segments.segments()) {
      const bool is_given = live.segment().row().last_key <= last;
      for (int64_t i = is_given ? live.size() : 0; i < live.size(); ++i) {
        const bool matches = !allowed || (*allowed)[static_cast<size_t>(begin + i)] != 0;
        const int64_t key = live.vector(i).key;
        if (!matches || key <= last || key != parts.documents.document_key(key)) continue;
        if (limit == 0) return last;
        DocumentStore::Stored stored{key, std::move(parts.documents.find({key}).front())};
        parts.queries_of(segments, stored);  // its vectors know it
        if (!take(stored.document)) return last;
        last = key;
        --limit;
      }
      begin += live.size();
    }
    return int64_t{0};
  });
}

void SearchIndex::prepare_filters(const std::atomic<bool>& ends) const {
  parts_->metadata.read_all(*parts_->current(), ends);
}

std::vector<SearchHit> SearchIndex::search_like(const std::string& id, int64_t top_k,
                                                const SearchSettings& settings,
                                                const SearchQueries& how) const {
  Parts& parts = *parts_;
  return parts.look_at_current([&](const SegmentSet& segments) {
    const std::optional<DocumentStore::Stored> like = parts.documents.find_id(id);
    SIMILE_CHECK(like, ErrorKind::kInput, "the index '{}' has no document {}", parts.path,
                 list_ids({id}));
    const SearchQueries queries = parts.queries_of(segments, *like, how);
    const auto found = parts.rank(segments, queries, top_k + 1, settings);
    return std::move(parts.find({parts.best_of(found, like->key, top_k)}).front());
  });
}

void SearchIndex::wait_at_most(std::chrono::milliseconds wait) {
  parts_->open_writer().wait_at_most(wait);
}

int64_t SearchIndex::generation() const { return parts_->documents.generation(); }

bool SearchIndex::has(const std::string& id) const {
  return parts_->documents.find_id(id).has_value();
}

std::optional<Document> SearchIndex::find(const std::string& id) const {
  return parts_->look_at_current([&](const SegmentSet& segments) {
    std::optional<DocumentStore::Stored> stored = parts_->documents.find_id(id);
    if (!stored) return std::optional<Document>();
    parts_->queries_of(segments, *stored);  // its vectors know it
    return std::make_optional(std::move(stored->document));
  });
}

void SearchIndex::for_each(const TakeDocument& take) const {
  const std::shared_ptr<const SegmentSet> set = parts_->current();
  const DocumentStore& store = parts_->documents;
  std::vector<float> vector(static_cast<size_t>(parts_->model.dimension));
  for (const LiveSegment& live : set->segments()) {
    const StoredRows vectors = live.segment().vectors();
    const auto unlike =
        for_each_live(store, live, [&](int64_t i, const Document& document, int64_t passage) {
          vectors.read(live.row(i), vector.data());
          take(document, passage, vector.data());
        });
    live.segment().release_vectors();
    if (unlike) parts_->fail_unlike(*set, live);
  }
}

int64_t SearchIndex::for_sample(int64_t most, const TakeDocument& take) const {
  const std::shared_ptr<const SegmentSet> set = parts_->current();
  int64_t total = 0, seen = 0;
  for (const LiveSegment& live : set->segments()) total += live.size();
  const int64_t count = std::min(most, total);
  std::vector<float> vector(static_cast<size_t>(parts_->model.dimension));
  for (const LiveSegment& live : set->segments()) {
    const StoredRows vectors = live.segment().vectors();
    for (int64_t i = 0; i < live.size(); ++i, ++seen) {
      if ((seen + 1) * count / total == seen * count / total) continue;
      const bool found = take_live(parts_->documents, live, i,
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
  check_documents(documents, vectors, parts_->model);
  if (documents.empty()) return 0;
  Parts& parts = *parts_;
  const auto write_vectors = [&](const auto& change, const auto& removed_within) {
    const Segments segments = parts.cache.open(change.before.segments);
    parts.check_removed(segments, change);
    return rewrite_segments({parts.path, parts.model, change.before.next_segment}, segments,
                            tail_begin(change.before, vectors.rows), removed_within,
                            [&](SegmentSink& sink) { sink.add(documents, vectors, change.added); });
  };
  return parts.change({}, documents, write_vectors).removed_documents;
}

int64_t SearchIndex::remove(const std::vector<std::string>& ids) {
  return parts_->remove(ids, std::nullopt);
}

int64_t SearchIndex::remove_matching(const MetadataFilter& filter, bool dry_run) {
  Parts& parts = *parts_;
  for (;;) {
    const int64_t generation = parts.current()->generation();
    std::vector<std::string> ids;
    list(filter, 0, std::numeric_limits<int64_t>::max(), [&](const Document& document) {
      ids.push_back(document.id);
      return true;
    });
    if (dry_run || ids.empty()) return static_cast<int64_t>(ids.size());
    try {
      return parts.remove(ids, generation);
    } catch (const Error&) {
      // Another process changed documents that were found.
      if (parts.documents.generation() == generation) throw;
    }
  }
}

int64_t SearchIndex::change_metadata(const std::vector<MetadataPatch>& patches) {
  std::vector<std::string> ids;
  for (const MetadataPatch& patch : patches) ids.push_back(patch.id);
  return parts_->open_writer().change_metadata(ids, [&](size_t i, const std::string& metadata) {
    return patch_metadata(patches[i].id, metadata, patches[i].patch);
  });
}

void SearchIndex::merge(const GraphProgress& progress, bool renews_graph) {
  Parts& parts = *parts_;
  const SearchSettings settings = read_search_settings(parts.path);
  int64_t number = 0;  // that a graph would have
  parts.change({}, {}, [&](const auto& change, const auto& removed_within) {
    const StoreState& before = change.before;
    remove_unused_segments(parts.path, before);
    SegmentChange segments = rewrite_segments(
        {parts.path, parts.model, before.next_segment}, parts.cache.open(before.segments),
        merge_begin(before.segments, removed_within), removed_within);
    segments.drops_graph = renews_graph || settings.approximate.approximate == "never";
    number = before.next_segment + static_cast<int64_t>(segments.written.size());
    segments.reserved = 1;
    return segments;
  });
  const StoreSnapshot now = parts.documents.snapshot();
  if (!needs_graph(now.state, settings)) return;
  const Segments segments = parts.cache.open(now.state.segments);
  std::optional<GraphRow> graph;
  try {
    graph = make_graph(parts.path, parts.model, now, segments, number, parts.documents, settings,
                       progress);
  } catch (const Error& error) {
    // Another merge, which makes its own, has removed the file of this one.
    const bool is_gone = !file_exists(graph_path(parts.path, number));
    const bool is_changed = parts.documents.generation() != now.state.generation;
    if (error.kind() == ErrorKind::kInterrupted || !is_gone || !is_changed) throw;
  }
  if (graph) parts.add_graph(*graph, now.state.segments);
}

const IndexedModel& SearchIndex::model() const { return parts_->model; }

IndexInfo SearchIndex::info() const { return make_info(parts_->model, parts_->documents.state()); }

}  // namespace simile
