// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"

namespace simile {

struct SearchIndex::Parts {
  std::string path;
  IndexInfo info;
  VectorIndex vectors;
  DocumentStore documents;
  mutable std::shared_mutex mutex;

  // Applies a change to a copy of the file first: memory follows only when the disk has it.
  DocumentStore::Change change(const std::vector<std::string>& removed_ids,
                               const std::vector<Document>& added, const Matrix<float>& rows);
};

DocumentStore::Change SearchIndex::Parts::change(const std::vector<std::string>& removed_ids,
                                                 const std::vector<Document>& added,
                                                 const Matrix<float>& rows) {
  const std::unique_lock<std::shared_mutex> lock(mutex);
  const int64_t before = info.generation;
  bool touched = false;
  DocumentStore::Change result;
  try {
    result = documents.change(removed_ids, added, [&](const DocumentStore::Change& made) {
      SIMILE_CHECK(made.generation == before + 1, ErrorKind::kIo,
                   fmt::format("{}: another process changed the index; open it again", path));
      touched = true;
      if (!made.removed.empty()) vectors.remove(made.removed);
      vectors.add(rows, made.added);
      vectors.save(detail::vectors_path(path, made.generation));
    });
  } catch (...) {
    if (touched) {
      std::remove(detail::vectors_path(path, before + 1).c_str());
      vectors = VectorIndex::load(detail::vectors_path(path, before), info.model.dimension,
                                  info.model.metric);
    }
    throw;
  }
  info.generation = result.generation;
  info.count = vectors.size();
  std::remove(detail::vectors_path(path, before).c_str());
  detail::write_manifest(path, info);
  return result;
}

bool is_index(const std::string& path) { return file_exists(join_path(path, detail::kManifest)); }

IndexInfo read_index_info(const std::string& path) {
  IndexInfo info = detail::read_manifest(path);
  const DocumentStore documents(detail::documents_path(path), DocumentStore::Access::kRead);
  info.count = documents.count();
  info.generation = documents.generation();
  return info;
}

SearchIndex SearchIndex::open(const std::string& path, const std::string& fingerprint,
                              const std::string& model_name, Access access) {
  IndexInfo info = detail::read_manifest(path);
  SIMILE_CHECK(
      info.model.fingerprint == fingerprint, ErrorKind::kInput,
      fmt::format("the index '{}' was built with the model '{}' (fingerprint {}), but the "
                  "model given is '{}' (fingerprint {}): their vectors cannot be compared; "
                  "use that model or build the index again",
                  path, info.model.name, info.model.fingerprint, model_name, fingerprint));
  DocumentStore documents(detail::documents_path(path), access == Access::kRead
                                                            ? DocumentStore::Access::kRead
                                                            : DocumentStore::Access::kWrite);
  info.generation = documents.generation();
  info.count = documents.count();
  VectorIndex vectors = VectorIndex::load(detail::vectors_path(path, info.generation),
                                          info.model.dimension, info.model.metric);
  SIMILE_CHECK(vectors.size() == info.count, ErrorKind::kInput,
               fmt::format("the index '{}' is damaged: {} vectors but {} documents; build it again",
                           path, vectors.size(), info.count));
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
  for (const std::vector<Hit>& hits : parts_->vectors.search(queries, top_k)) {
    std::vector<int64_t> keys;
    for (const Hit& hit : hits) keys.push_back(hit.id);
    std::vector<Document> documents = parts_->documents.find(keys);
    std::vector<SearchHit> found;
    for (size_t i = 0; i < hits.size(); ++i) {
      found.push_back({std::move(documents[i].id), std::move(documents[i].text), hits[i].score});
    }
    results.push_back(std::move(found));
  }
  return results;
}

int64_t SearchIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  detail::check_documents(documents, vectors, parts_->info.model.dimension);
  if (documents.empty()) return 0;
  return static_cast<int64_t>(parts_->change({}, documents, vectors).removed.size());
}

int64_t SearchIndex::remove(const std::vector<std::string>& ids) {
  const Matrix<float> none(0, parts_->info.model.dimension);
  return static_cast<int64_t>(parts_->change(ids, {}, none).removed.size());
}

IndexInfo SearchIndex::info() const {
  const std::shared_lock<std::shared_mutex> lock(parts_->mutex);
  return parts_->info;
}

}  // namespace simile
