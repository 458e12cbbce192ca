// SPDX-License-Identifier: Apache-2.0
// What all who read or build an index folder share.
#pragma once

#include <optional>
#include <string>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/document_store.h"
#include "simile/index/index_folder.h"

namespace simile::detail {

// `path`: of the file.
[[noreturn]] void fail_damaged(const std::string& path, const std::string& what);

DocumentStore open_documents(const std::string& folder, const IndexedModel& model,
                             DocumentStore::Access access = DocumentStore::Access::kRead);

IndexInfo make_info(const IndexedModel& model, const StoreState& state);

// Calls read(snapshot) and returns what it does. Another process may change the index meanwhile and
// remove segments of the generation before: then again, with what counts now.
template <typename Read>
auto read_current(const DocumentStore& documents, const Read& read) {
  for (;;) {
    const StoreSnapshot now = documents.snapshot();
    try {
      return read(now);
    } catch (const Error&) {
      if (documents.generation() == now.state.generation) throw;
    }
  }
}

// A lock on a folder, which one of several processes that want to build an index holds. Makes the
// folder at `path` with its parents, unless it is there, and locks it. When destroyed it
// unlocks the folder, and removes it if it made it and it is empty and still at `path`. Errors:
// ErrorKind::kUsage while another process holds the lock for the index at `index`; ErrorKind::kIo if
// the folder cannot be made.
class FolderClaim {
 public:
  FolderClaim(const std::string& path, const std::string& index);
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  ~FolderClaim();

 private:
  bool try_lock(const std::string& index);
  void release();

  std::string path_;
  std::optional<FileLock> lock_;
  bool is_made_ = false;
};

}  // namespace simile::detail
