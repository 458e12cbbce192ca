// SPDX-License-Identifier: Apache-2.0
// Documents (id and text) in an SQLite file.
//
// Each document gets a key, a number that is never used again. Changes happen in one transaction,
// which also counts up the store's generation: a reader that finds generation g sees all of change
// g and nothing of g + 1, also after a crash. Errors: kInput for a file that is damaged or not a
// document store, kIo when it cannot be written. One store may be used by several threads; each
// call locks it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace simile {

struct Document {
  std::string id;
  std::string text;
};

class DocumentStore {
 public:
  enum class Access { kCreate, kWrite, kRead };

  DocumentStore(const std::string& path, Access access);
  DocumentStore(DocumentStore&&) noexcept;
  ~DocumentStore();

  int64_t count() const;
  int64_t generation() const;

  // The documents with these keys, in this order. Errors (kInput): a key that is not there.
  std::vector<Document> find(const std::vector<int64_t>& keys) const;

  struct Change {
    std::vector<int64_t> added;    // keys of the documents added, in their order
    std::vector<int64_t> removed;  // keys of the documents removed
    int64_t generation = 0;        // the generation this change makes
  };

  // Removes the documents with these ids (unknown ids are ignored), then adds `documents`; one
  // whose id is in the store replaces it. `before_commit` runs when all is ready; if it throws,
  // nothing is changed. Errors (kInput): an id given twice in `documents`.
  Change change(const std::vector<std::string>& removed_ids, const std::vector<Document>& documents,
                const std::function<void(const Change&)>& before_commit);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace simile
