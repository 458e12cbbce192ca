// SPDX-License-Identifier: Apache-2.0
// Documents (id, text, metadata) in an SQLite file, and which segments hold their vectors.
//
//   documents (key, id, text, metadata, title), and in a store of passages (passages): where they
//             stand. Stores of earlier versions have no titles, and keep none
//   segments  (number, first_key, last_key, rows, checksum)   segment_file.h; their keys do not mix
//   removed   (key)   keys that have a vector in a segment but no document any more
//   graph     one row or none; see GraphRow. Stores of earlier versions do not have it
//   state     one row: counts, and a checksum over them, all segments and all removed keys
//
// Each document gets a key, a number that rises and is never used again. In a store of passages it
// is a multiple of 2^20, and the vector of passage i has the document's key + i. Changes happen in
// one transaction, which also counts up the store's generation: a reader that finds generation g
// sees all of change g and nothing of g + 1, also after a crash. A change costs what it changes.
// Errors: kInput for a file that is damaged or not a document store, kIo when it cannot be written.
// One store may be used by several threads; each call locks it, so who reads while another changes
// has a store of its own. Changes by several processes come one after the other; one that waited
// ten minutes for its turn is given up (kIo).
//
// Each page of the file has a checksum, and what is read is verified (detail/checked_pages.h). Of
// stores of earlier versions, which have none, the state's checksum finds damage to all but
// documents; what is read of those may be wrong: whoever keeps vector_keys() of what was added
// knows it again.
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
  // A JSON object whose members are texts, numbers, true and false; empty: none.
  std::string metadata = {};
  // In rising order; each has a vector. None: the text as a whole has one.
  std::vector<Passage> passages = {};
  // To be shown; what is searched for stands in `text`, which may begin with it.
  std::string title = {};

  int64_t vectors() const { return passages.empty() ? 1 : static_cast<int64_t>(passages.size()); }
  // The text of vector i, and where it stands in code points.
  std::string_view text_of(int64_t i) const;
  Passage characters_of(int64_t i) const;
};

constexpr size_t kMaximumMetadataBytes = 16384;  // of a document

// What the vectors of a document with this key are known by: hashes of all there is of the
// document, its key and the passage included.
std::vector<VectorKey> vector_keys(int64_t key, const Document& document);
VectorKey vector_key(int64_t key, const Document& document, int64_t i);

class DocumentStore {
 public:
  enum class Access { kCreate, kWrite, kRead };

  DocumentStore(const std::string& path, Access access, bool with_passages = false);
  DocumentStore(DocumentStore&&) noexcept;
  ~DocumentStore();

  int64_t count() const;  // reads all documents' keys
  int64_t generation() const;
  StoreState state() const;
  StoreSnapshot snapshot() const;  // all of one generation

  // The documents whose vectors have these keys, in this order. Errors (kInput): a key that is not
  // there.
  std::vector<Document> find(const std::vector<int64_t>& keys) const;

  struct Stored {
    int64_t key = 0;
    Document document;
  };
  // The document with this id, if there is one.
  std::optional<Stored> find_id(const std::string& id) const;

  // The key of the document whose vector has this one.
  int64_t document_key(int64_t key) const;

  // Calls take(key, document) for those with keys from `first` to `last`, by their keys; what is
  // under a key never changes. `take` must not call the store.
  using TakeDocument = std::function<void(int64_t key, const Document&)>;
  void for_each(int64_t first, int64_t last, const TakeDocument& take) const;

  // Errors (kInput): the file's own structure is damaged; (kIo) it cannot be read. Reads all of it.
  void check() const;

  struct Change {
    std::vector<VectorKey> added;    // of the documents added, in their order
    std::vector<VectorKey> removed;  // of the documents removed, as they were read
    int64_t removed_documents = 0;
    std::vector<std::string> unknown;  // ids to be removed that were not there, each once
    StoreState before;
  };
  // The removed keys within a segment, those of the change included.
  using RemovedWithin = std::function<std::vector<int64_t>(const SegmentRow&)>;
  using BeforeCommit = std::function<SegmentChange(const Change&, const RemovedWithin&)>;

  // Removes the documents with these ids, then adds `documents`; one whose id is in the store
  // replaces it. `before_commit` runs when all is ready, and says what becomes of the segments; if
  // it throws, nothing is changed. Errors (kInput): an id given twice in `documents`; (kIo) another
  // store was put at the path.
  Change change(const std::vector<std::string>& removed_ids, const std::vector<Document>& documents,
                const BeforeCommit& before_commit);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace simile
