// SPDX-License-Identifier: Apache-2.0
// Documents (id and text) in an SQLite file.
//
// Each document gets a key, a number that is never used again. Changes happen in one transaction,
// which also counts up the store's generation: a reader that finds generation g sees all of change
// g and nothing of g + 1, also after a crash. Errors: kInput for a file that is damaged or not a
// document store, kIo when it cannot be written. One store may be used by several threads; each
// call locks it. Changes by several processes come one after the other; one that waited ten minutes
// for its turn is given up (kIo).
//
// What is read from a damaged file may be wrong: whoever keeps content_hash() of what was added
// knows it again.
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

// Of all there is of a document, its key included.
uint64_t content_hash(int64_t key, const Document& document);

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

  // Calls take(key, document) for all of them, by their keys.
  void for_each(const std::function<void(int64_t key, const Document&)>& take) const;

  // Errors (kInput): the file's own structure is damaged. Reads all of it.
  void check() const;

  struct Change {
    std::vector<int64_t> added;        // keys of the documents added, in their order
    std::vector<int64_t> removed;      // keys of the documents removed
    std::vector<std::string> unknown;  // ids to be removed that were not there, each once
    int64_t generation = 0;            // the generation this change makes
  };

  // Removes the documents with these ids, then adds `documents`; one
  // whose id is in the store replaces it. `before_commit` runs when all is ready; if it throws,
  // nothing is changed. Errors (kInput): an id given twice in `documents`.
  Change change(const std::vector<std::string>& removed_ids, const std::vector<Document>& documents,
                const std::function<void(const Change&)>& before_commit);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace simile
