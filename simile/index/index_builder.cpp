// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/search_index.h"

namespace simile {

struct IndexBuilder::Parts {
  AtomicFolder folder;
  IndexInfo info;
  VectorIndex vectors;
  std::optional<DocumentStore> documents;
};

IndexBuilder::IndexBuilder(const std::string& path, const IndexedModel& model)
    : parts_(new Parts{AtomicFolder(path, detail::kManifest),
                       {},
                       VectorIndex(model.dimension, model.metric),
                       {}}) {
  parts_->info.model = model;
  parts_->documents.emplace(detail::documents_path(parts_->folder.path()),
                            DocumentStore::Access::kCreate);
}

IndexBuilder::~IndexBuilder() = default;

void IndexBuilder::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  detail::check_documents(documents, vectors, parts_->info.model.dimension);
  const DocumentStore::Change change =
      parts_->documents->change({}, documents, [](const DocumentStore::Change&) {});
  if (!change.removed.empty()) parts_->vectors.remove(change.removed);
  parts_->vectors.add(vectors, change.added);
}

void IndexBuilder::commit() {
  const std::string& folder = parts_->folder.path();
  parts_->info.generation = parts_->documents->generation();
  parts_->info.count = parts_->documents->count();
  parts_->documents.reset();  // closes the file before the folder is renamed
  parts_->vectors.save(detail::vectors_path(folder, parts_->info.generation));
  detail::write_manifest(folder, parts_->info);
  parts_->folder.commit();
}

}  // namespace simile
