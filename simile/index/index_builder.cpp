// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/search_index.h"

namespace simile {

struct IndexBuilder::Parts {
  AtomicFolder folder;
  IndexedModel model;
  VectorIndex vectors;
  std::optional<DocumentStore> documents;
};

IndexBuilder::IndexBuilder(const std::string& path, const IndexedModel& model)
    : parts_(new Parts{AtomicFolder(path, detail::kManifest),
                       model,
                       VectorIndex(model.dimension, model.metric),
                       {}}) {
  parts_->documents.emplace(detail::documents_path(parts_->folder.path()),
                            DocumentStore::Access::kCreate);
}

IndexBuilder::~IndexBuilder() = default;

void IndexBuilder::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  detail::check_documents(documents, vectors, parts_->model.dimension);
  const DocumentStore::Change change =
      parts_->documents->change({}, documents, [](const DocumentStore::Change&) {});
  if (!change.removed.empty()) parts_->vectors.remove(change.removed);
  parts_->vectors.add(vectors, detail::vector_keys(change.added, documents));
}

void IndexBuilder::commit() {
  const std::string& folder = parts_->folder.path();
  const int64_t generation = parts_->documents->generation();
  parts_->documents.reset();  // closes the file before the folder is renamed
  parts_->vectors.save(detail::vectors_path(folder, generation),
                       detail::vectors_owner(parts_->model, generation));
  detail::write_manifest(folder, parts_->model);
  parts_->folder.commit();
}

}  // namespace simile
