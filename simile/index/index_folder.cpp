// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/index_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/search_settings.h"

namespace simile {

namespace {

// Holds documents against the vectors of one generation. The index may change meanwhile: a key's
// document never changes, later documents have later keys, and removed ones are known.
class DocumentCheck {
 public:
  DocumentCheck(const std::string& path, const StoreState& state, std::vector<VectorKey> vectors)
      : path_(detail::documents_path(path)),
        next_key_(state.next_key),
        vectors_(std::move(vectors)) {}

  void take(int64_t key, const Document& document) {
    while (row_ < vectors_.size() && vectors_[row_].key < key) {
      missing_.push_back(vectors_[row_++].key);
    }
    for (const VectorKey& vector : vector_keys(key, document)) take(vector, document.id);
  }

  // `now`: the vectors that count when all documents were taken.
  void finish(const std::vector<VectorKey>& now) {
    for (; row_ < vectors_.size(); ++row_) missing_.push_back(vectors_[row_].key);
    for (const int64_t key : missing_) {
      const auto found = std::lower_bound(
          now.begin(), now.end(), key,
          [](const VectorKey& vector, int64_t wanted) { return vector.key < wanted; });
      if (found == now.end() || found->key != key) continue;
      detail::fail_damaged(path_, fmt::format("document {} is missing", key));
    }
  }

 private:
  void take(const VectorKey& vector, const std::string& id) {
    const bool fits = row_ < vectors_.size() && vectors_[row_].key == vector.key &&
                      vectors_[row_].content == vector.content;
    if (!fits && vector.key < next_key_) {
      detail::fail_damaged(path_, fmt::format("document \"{}\" is not the one of its vector", id));
    }
    if (fits) ++row_;
  }

  std::string path_;
  int64_t next_key_;
  std::vector<VectorKey> vectors_;  // by their keys
  size_t row_ = 0;
  std::vector<int64_t> missing_;
};

}  // namespace

namespace detail {

void fail_damaged(const std::string& path, const std::string& what) {
  throw_error(ErrorKind::kInput, "'{}' is damaged: {}; build the index again", path, what);
}

DocumentStore open_documents(const std::string& folder, const IndexedModel& model,
                             DocumentStore::Access access) {
  return {documents_path(folder), access, model.passages.splits()};
}

IndexInfo make_info(const IndexedModel& model, const StoreState& state) {
  IndexInfo info{model,
                 state.documents,
                 state.vectors(),
                 state.generation,
                 static_cast<int64_t>(state.segments.size()),
                 state.removed_rows};
  if (state.graph) {
    const GraphRow& graph = *state.graph;
    info.graph = GraphInfo{graph.rows, graph.breadth, static_cast<double>(graph.found) / 1e4,
                           static_cast<double>(graph.agreed) / 1e4};
  }
  return info;
}

}  // namespace detail

bool is_index(const std::string& path) { return file_exists(join_path(path, detail::kManifest)); }

IndexInfo read_index_info(const std::string& path) {
  const IndexedModel model = detail::read_manifest(path);
  const DocumentStore documents = detail::open_documents(path, model);
  return detail::make_info(model, documents.state());
}

void check_fingerprint(const std::string& path, const IndexedModel& model,
                       const std::string& fingerprint, const std::string& given) {
  SIMILE_CHECK(
      model.fingerprint == fingerprint, ErrorKind::kInput,
      "the index '{}' was built with the model '{}' (fingerprint {}), but the model given is '{}' "
      "(fingerprint {}): their vectors cannot be compared; use that model or build the index again",
      path, model.name, model.fingerprint, given, fingerprint);
}

IndexCheck check_index(const std::string& path) {
  const IndexedModel model = detail::read_manifest(path);
  read_search_settings(path);
  const DocumentStore documents = detail::open_documents(path, model);
  detail::SegmentCache cache(path, model);
  const auto open_current = [&] {
    return detail::read_current(documents, [&](const StoreSnapshot& now) {
      const detail::Segments open = cache.open(now.state.segments);
      detail::SegmentSet segments(model, open, now, nullptr, cache.open_graph(now.state, open));
      for (const detail::LiveSegment& live : segments.segments()) live.segment().words();
      return std::make_pair(now.state, std::move(segments));
    });
  };
  const auto [state, vectors] = open_current();
  vectors.verify_all();
  documents.check();
  DocumentCheck check(path, state, vectors.vectors());
  // Segment by segment, so that writers wait for no more than one.
  int64_t first = std::numeric_limits<int64_t>::min();  // no document may have such a key
  const auto take_until = [&](int64_t last) {
    documents.for_each(first, last,
                       [&](int64_t key, const Document& document) { check.take(key, document); });
    first = last + 1;
  };
  for (const SegmentRow& segment : state.segments) take_until(segment.last_key);
  take_until(std::numeric_limits<int64_t>::max() - 1);
  check.finish(open_current().second.vectors());
  return {detail::make_info(model, state), detail::unused_files(path, state)};
}

IndexInfo copy_index(const std::string& path, const std::string& copy) {
  SIMILE_CHECK(!std::filesystem::exists(copy), ErrorKind::kUsage,
               "'{}' is there already; give the name of a new folder", copy);
  const IndexedModel model = detail::read_manifest(path);
  const DocumentStore documents = detail::open_documents(path, model);
  for (;;) {
    AtomicFolder folder(copy, detail::kManifest);
    make_folders(detail::segments_path(folder.path()));
    documents.copy_to(detail::documents_path(folder.path()));
    const StoreState state = detail::open_documents(folder.path(), model).state();
    try {
      for (const std::string& name : detail::used_files(state)) {
        const std::string from = join_path(path, name), to = join_path(folder.path(), name);
        std::error_code error;
        if (!file_exists(from) || file_exists(to)) continue;
        std::filesystem::copy_file(from, to, error);
        SIMILE_CHECK(!error, ErrorKind::kIo, "cannot copy '{}' to '{}': {}", from, to,
                     error.message());
      }
      check_index(folder.path());
    } catch (const Error&) {  // a merge may have removed segments meanwhile
      if (documents.generation() == state.generation) throw;
      continue;
    }
    folder.commit();
    return detail::make_info(model, state);
  }
}

}  // namespace simile
