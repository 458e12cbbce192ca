// SPDX-License-Identifier: Apache-2.0
// Documents (id, text, metadata, title) in an SQLite file, with the list of the segments that hold
// their vectors.
//
//   documents (key, id, text, metadata, title, passages, id_hash, changed)   see below
//   segments  (number, first_key, last_key, rows, checksum)   segment_file.h; their keys do not mix
//   removed   (key)   keys that have a vector in a segment but no document any more
//   graph     one row or none; see GraphRow
//   state     one row: counts, and a checksum of them, all segments, the graph and all removed keys
//
// Each document gets a key, a number that rises and is never used again. In a store of passages the
// key is a multiple of 2^20, and the vector of passage i has the document's key + i. A change
// happens in one transaction, which also increments the store's generation: a reader of generation
// g sees all of change g and nothing of g + 1, also after a crash. Its cost grows with its size.
//
// Metadata may change alone. Then `changed` has the hash of those that the document was added with,
// which its vectors know, and a hash of the new ones; the state has the sum of the latter.
//
// The checksum of the state covers every table but `documents`. A document is recognised by the
// hashes in vector_keys(), which the caller keeps with the vectors. Two indexes, on `id` and on its
// hash, must agree on whether a document is there. check() finds other damage to SQLite's
// structure.
//
// Errors: kInput for a file that is damaged or is not a document store, kIo if it cannot be
// written. Several threads may use one store; each call locks it, so give a reader that must not
// wait for changes a store of its own. Changes by several processes follow one another; a process
// that has waited ten minutes for its turn gives up (kIo).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/index/segment_file.h"
#include "simile/index/store_state.h"
#include "simile/text/passages.h"

namespace simile {

struct Document {
  std::string id;
  std::string text;
  // A JSON object whose members are strings, numbers and booleans (empty or {}: none).
  std::string metadata = {};
  // In rising order; each has a vector (none: the whole text has one).
  std::vector<Passage> passages = {};
  // For display. A search looks at `text` only, which may begin with the title.
  std::string title = {};
  // The hash of the metadata that it was added with, where they were changed since.
  std::optional<uint64_t> added_metadata = {};

  int64_t vectors() const { return passages.empty() ? 1 : static_cast<int64_t>(passages.size()); }
  // The text of vector i, and its place in the document in code points.
  std::string_view text_of(int64_t i) const;
  Passage characters_of(int64_t i) const;
};

constexpr size_t kMaximumMetadataBytes = 16384;  // of a document
constexpr int64_t kLongestId = 1000;             // bytes, of a document that a client names

// The keys of a document's vectors, with hashes of the whole document, its key and the passage.
std::vector<VectorKey> vector_keys(int64_t key, const Document& document);
VectorKey vector_key(int64_t key, const Document& document, int64_t i);

class DocumentStore {
 public:
  enum class Access { kCreate, kWrite, kRead };

  DocumentStore(const std::string& path, Access access, bool with_passages = false);
  DocumentStore(DocumentStore&&) noexcept;
  ~DocumentStore();

  // For other processes' changes, before an error (kIo); ten minutes by default.
  void wait_at_most(std::chrono::milliseconds wait);

  int64_t count() const;  // reads the keys of all documents
  int64_t generation() const;
  StoreState state() const;
  StoreSnapshot snapshot() const;  // of one generation

  // The documents whose vectors have these keys, in this order. Errors (kInput): an unknown key.
  std::vector<Document> find(const std::vector<int64_t>& keys) const;

  struct Stored {
    int64_t key = 0;
    Document document;
  };
  // The document with this id, if there is one.
  std::optional<Stored> find_id(const std::string& id) const;

  // The key of the document whose vector has this key.
  int64_t document_key(int64_t key) const;
  // Keys of documents are the multiples of this, from 1 on.
  int64_t key_step() const;

  // Calls take(key, document) for the documents with keys from `first` to `last`, by their keys.
  // The document of a key never changes, except for its metadata. `take` must not call the store.
  using TakeDocument = std::function<void(int64_t key, const Document&)>;
  void for_each(int64_t first, int64_t last, const TakeDocument& take) const;

  // Writes one generation of it to a new file.
  void copy_to(const std::string& path) const;

  // Reads the whole file. Errors: its structure or the changed metadata are damaged (kInput), or it
  // cannot be read (kIo).
  void check() const;

  struct Change {
    std::vector<VectorKey> added;    // of the documents added, in their order
    std::vector<VectorKey> removed;  // of the documents removed, as they were read
    int64_t removed_documents = 0;
    std::vector<std::string> unknown;  // ids to remove that the store does not have, each once
    StoreState before;
  };
  // The removed keys within a segment, including those of the change. Errors (kInput): the table of
  // removed keys is damaged.
  using RemovedWithin = std::function<std::vector<int64_t>(const SegmentRow&)>;
  using BeforeCommit = std::function<SegmentChange(const Change&, const RemovedWithin&)>;

  // Removes the documents with the ids `removed_ids`, then adds `documents`, each of which replaces
  // the document with its id. Calls `before_commit` last, which says what the change does to the
  // segments; if it throws, nothing changes. Errors: an id given twice in `documents` (kInput);
  // another store was put at the path (kIo).
  Change change(const std::vector<std::string>& removed_ids, const std::vector<Document>& documents,
                const BeforeCommit& before_commit);

  // Gives documents other metadata: make(i, metadata) of the one with id ids[i]. Returns how many
  // changed. Errors: kInput for an id that is not there, another store was put at the path (kIo),
  // and those of `make`; then nothing changes.
  using MakeMetadata = std::function<std::string(size_t i, const std::string& metadata)>;
  int64_t change_metadata(const std::vector<std::string>& ids, const MakeMetadata& make);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace simile
