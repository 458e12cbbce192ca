// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"

namespace simile {

namespace {

[[noreturn]] void fail_damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput,
              fmt::format("the index '{}' is damaged: {}; build it again", path, what));
}

VectorIndex load_generation(const std::string& path, const IndexedModel& model,
                            int64_t generation) {
  return VectorIndex::load(detail::vectors_path(path, generation), model.dimension, model.metric,
                           detail::vectors_owner(model, generation));
}

// Of vectors and documents of one generation.
void verify(const std::string& path, const VectorIndex& vectors, const DocumentStore& documents) {
  documents.check();
  int64_t row = 0;  // keys rise in the order of adding
  documents.for_each([&](int64_t key, const Document& document) {
    const bool fits = row < vectors.size() && vectors.vector(row).key == key &&
                      vectors.vector(row).content == content_hash(key, document);
    if (!fits) {
      fail_damaged(path, fmt::format("document \"{}\" is not the one of its vector", document.id));
    }
    ++row;
  });
  if (row != vectors.size()) {
    fail_damaged(path, fmt::format("{} vectors but {} documents", vectors.size(), row));
  }
}

enum class Depth { kFound, kAll };  // which documents are verified: those that are found, or all

// Another process may change the index meanwhile, and remove the vectors' file of the generation
// before: what fits together counts.
VectorIndex load_vectors(const std::string& path, const DocumentStore& documents, Depth depth,
                         IndexInfo& info) {
  for (;;) {
    info.generation = documents.generation();
    info.count = documents.count();
    try {
      VectorIndex vectors = load_generation(path, info.model, info.generation);
      if (vectors.size() != info.count) {
        fail_damaged(path, fmt::format("{} vectors but {} documents", vectors.size(), info.count));
      }
      if (depth == Depth::kAll) verify(path, vectors, documents);
      return vectors;
    } catch (const Error&) {
      if (documents.generation() == info.generation) throw;
    }
  }
}

std::string list_ids(const std::vector<std::string>& ids) {
  constexpr size_t kShown = 5;
  const auto end = ids.begin() + static_cast<int64_t>(std::min(kShown, ids.size()));
  return fmt::format("\"{}\"{}", fmt::join(ids.begin(), end, "\", \""),
                     ids.size() > kShown ? ", ..." : "");
}

}  // namespace

struct SearchIndex::Parts {
  std::string path;
  IndexInfo info;
  VectorIndex vectors;
  DocumentStore documents;
  mutable std::shared_mutex mutex;

  // Applies a change to a copy of the file first: memory follows only when the disk has it.
  DocumentStore::Change change(const std::vector<std::string>& removed_ids,
                               const std::vector<Document>& added, const Matrix<float>& rows);
  void reload(int64_t generation);
  std::vector<SearchHit> find(const std::vector<VectorHit>& hits) const;
};

void SearchIndex::Parts::reload(int64_t generation) {
  vectors = load_generation(path, info.model, generation);
  info.generation = generation;
}

DocumentStore::Change SearchIndex::Parts::change(const std::vector<std::string>& removed_ids,
                                                 const std::vector<Document>& added,
                                                 const Matrix<float>& rows) {
  const std::unique_lock<std::shared_mutex> lock(mutex);
  bool touched = false;
  DocumentStore::Change result;
  try {
    result = documents.change(removed_ids, added, [&](const DocumentStore::Change& made) {
      SIMILE_CHECK(made.unknown.empty(), ErrorKind::kInput,
                   fmt::format("the index '{}' has no document {}; nothing was removed", path,
                               list_ids(made.unknown)));
      // Another process made the generations between.
      if (made.generation != info.generation + 1) reload(made.generation - 1);
      touched = true;
      if (!made.removed.empty()) vectors.remove(made.removed);
      vectors.add(rows, detail::vector_keys(made.added, added));
      vectors.save(detail::vectors_path(path, made.generation),
                   detail::vectors_owner(info.model, made.generation));
    });
  } catch (...) {
    if (touched) {
      std::remove(detail::vectors_path(path, info.generation + 1).c_str());
      reload(info.generation);
    }
    throw;
  }
  std::remove(detail::vectors_path(path, info.generation).c_str());
  info.generation = result.generation;
  info.count = vectors.size();
  return result;
}

std::vector<SearchHit> SearchIndex::Parts::find(const std::vector<VectorHit>& hits) const {
  std::vector<int64_t> keys;
  for (const VectorHit& hit : hits) keys.push_back(hit.vector.key);
  std::vector<Document> found = documents.find(keys);
  std::vector<SearchHit> results;
  for (size_t i = 0; i < hits.size(); ++i) {
    if (content_hash(keys[i], found[i]) != hits[i].vector.content) {
      fail_damaged(path, fmt::format("document {} is not the one of its vector", keys[i]));
    }
    results.push_back({std::move(found[i].id), std::move(found[i].text), hits[i].score});
  }
  return results;
}

bool is_index(const std::string& path) { return file_exists(join_path(path, detail::kManifest)); }

IndexInfo read_index_info(const std::string& path) {
  IndexInfo info;
  info.model = detail::read_manifest(path);
  const DocumentStore documents(detail::documents_path(path), DocumentStore::Access::kRead);
  info.count = documents.count();
  info.generation = documents.generation();
  return info;
}

IndexInfo check_index(const std::string& path) {
  IndexInfo info;
  info.model = detail::read_manifest(path);
  const DocumentStore documents(detail::documents_path(path), DocumentStore::Access::kRead);
  load_vectors(path, documents, Depth::kAll, info);
  return info;
}

SearchIndex SearchIndex::open(const std::string& path, const std::string& fingerprint,
                              const std::string& model_name, Access access) {
  IndexInfo info;
  info.model = detail::read_manifest(path);
  SIMILE_CHECK(
      info.model.fingerprint == fingerprint, ErrorKind::kInput,
      fmt::format("the index '{}' was built with the model '{}' (fingerprint {}), but the "
                  "model given is '{}' (fingerprint {}): their vectors cannot be compared; "
                  "use that model or build the index again",
                  path, info.model.name, info.model.fingerprint, model_name, fingerprint));
  const bool writes = access == Access::kWrite;
  DocumentStore documents(detail::documents_path(path),
                          writes ? DocumentStore::Access::kWrite : DocumentStore::Access::kRead);
  VectorIndex vectors = load_vectors(path, documents, writes ? Depth::kAll : Depth::kFound, info);
  return SearchIndex(
      std::unique_ptr<Parts>(new Parts{path, info, std::move(vectors), std::move(documents), {}}));
}

SearchIndex::SearchIndex(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SearchIndex::SearchIndex(SearchIndex&&) noexcept = default;
SearchIndex::~SearchIndex() = default;

std::vector<std::vector<SearchHit>> SearchIndex::search(const Matrix<float>& queries,
                                                        int64_t top_k) const {
  const std::shared_lock<std::shared_mutex> lock(parts_->mutex);
  std::vector<std::vector<SearchHit>> results;
  try {
    for (const std::vector<VectorHit>& hits : parts_->vectors.search(queries, top_k)) {
      results.push_back(parts_->find(hits));
    }
  } catch (const Error&) {
    SIMILE_CHECK(parts_->documents.generation() == parts_->info.generation, ErrorKind::kIo,
                 fmt::format("{}: another process changed the index; open it again", parts_->path));
    throw;
  }
  return results;
}

int64_t SearchIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  detail::check_documents(documents, vectors, parts_->info.model.dimension);
  if (documents.empty()) return 0;
  return static_cast<int64_t>(parts_->change({}, documents, vectors).removed.size());
}

void SearchIndex::remove(const std::vector<std::string>& ids) {
  parts_->change(ids, {}, Matrix<float>(0, parts_->info.model.dimension));
}

IndexInfo SearchIndex::info() const {
  const std::shared_lock<std::shared_mutex> lock(parts_->mutex);
  return parts_->info;
}

}  // namespace simile
