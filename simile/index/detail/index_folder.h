// SPDX-License-Identifier: Apache-2.0
// Shared by everything that reads or builds an index folder.
#pragma once

#include <string>

#include "simile/core/error.h"
#include "simile/index/document_store.h"
#include "simile/index/index_folder.h"

namespace simile::detail {

// `path`: of the file.
[[noreturn]] void fail_damaged(const std::string& path, const std::string& what);

DocumentStore open_documents(const std::string& folder, const IndexedModel& model,
                             DocumentStore::Access access = DocumentStore::Access::kRead);

IndexInfo make_info(const IndexedModel& model, const StoreState& state);

// Returns read(snapshot). If another process changes the index meanwhile and removes segments of
// the generation before, calls it again with the current state.
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

}  // namespace simile::detail
