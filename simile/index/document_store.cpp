// SPDX-License-Identifier: Apache-2.0
#include "simile/index/document_store.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <set>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/index/detail/sqlite.h"
#include "simile/index/store_state.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using detail::Database;
using detail::Statement;
using detail::Transaction;

void check_distinct(const std::vector<Document>& documents) {
  std::set<std::string> ids;
  for (const Document& document : documents) {
    SIMILE_CHECK(ids.insert(document.id).second, ErrorKind::kInput,
                 "documents: the id \"{}\" is given twice", document.id);
  }
}

std::vector<std::string> ids_of(const std::vector<Document>& documents) {
  std::vector<std::string> ids;
  for (const Document& document : documents) ids.push_back(document.id);
  return ids;
}

void append(const std::vector<VectorKey>& more, std::vector<VectorKey>& keys) {
  keys.insert(keys.end(), more.begin(), more.end());
}

Database::Access access_of(DocumentStore::Access access) {
  return access == DocumentStore::Access::kCreate  ? Database::Access::kCreate
         : access == DocumentStore::Access::kWrite ? Database::Access::kWrite
                                                   : Database::Access::kRead;
}

constexpr const char* kTable =
    "CREATE TABLE documents (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, "
    "metadata TEXT NOT NULL, title TEXT NOT NULL, passages TEXT NOT NULL, id_hash INTEGER NOT "
    "NULL);CREATE INDEX ids ON documents (id_hash)";
constexpr const char* kSelectKey = "SELECT key FROM documents WHERE id = ?";

int64_t hash_of_id(const std::string& id) { return static_cast<int64_t>(hash64(id)); }

// Of all there is of a document, its key included.
uint64_t content_hash(int64_t key, const Document& document) {
  std::string all =
      fmt::format("{} {} {} {}{}{}", key, document.id.size(), document.metadata.size(), document.id,
                  document.metadata, document.text);
  if (!document.title.empty()) {
    all += fmt::format("\ntitle {} {}", document.title, document.title.size());
  }
  return hash64(all);
}

std::string write_passages(const std::vector<Passage>& passages) {
  std::string written;
  for (const Passage& passage : passages) {
    written += fmt::format("{} {} ", passage.begin, passage.end);
  }
  return written;
}

// Of a document, from which those of its vectors are made.
class DocumentHash {
 public:
  DocumentHash(int64_t key, const Document& document)
      : key_(key), whole_(content_hash(key, document)), is_split_(!document.passages.empty()) {
    if (is_split_) places_ = hash64(write_passages(document.passages));
  }
  VectorKey of_vector(int64_t i) const {
    if (!is_split_) return {key_, whole_};
    return {key_ + i, hash64(fmt::format("{} {} {}", key_ + i, whole_, places_))};
  }

 private:
  int64_t key_;
  uint64_t whole_, places_ = 0;
  bool is_split_;
};

std::vector<Passage> read_passages(const std::string& written) {
  std::vector<Passage> passages;
  if (written.empty()) return passages;
  std::istringstream numbers(written);
  for (Passage passage; numbers >> passage.begin >> passage.end;) passages.push_back(passage);
  // What was not written so is no document's: its hash will be another.
  return write_passages(passages) == written ? passages : std::vector<Passage>{{-1, -1}};
}

}  // namespace

std::string_view Document::text_of(int64_t i) const {
  if (passages.empty()) return text;
  const Passage& passage = passages[static_cast<size_t>(i)];
  return std::string_view(text).substr(static_cast<size_t>(passage.begin),
                                       static_cast<size_t>(passage.end - passage.begin));
}

Passage Document::characters_of(int64_t i) const {
  const std::string_view piece = text_of(i);
  const std::string_view before(text.data(), static_cast<size_t>(piece.data() - text.data()));
  const auto begin = static_cast<int64_t>(count_characters(before));
  return {begin, begin + static_cast<int64_t>(count_characters(piece))};
}

VectorKey vector_key(int64_t key, const Document& document, int64_t i) {
  return DocumentHash(key, document).of_vector(i);
}

std::vector<VectorKey> vector_keys(int64_t key, const Document& document) {
  const DocumentHash hash(key, document);
  std::vector<VectorKey> keys;
  for (int64_t i = 0; i < document.vectors(); ++i) keys.push_back(hash.of_vector(i));
  return keys;
}

struct DocumentStore::Connection {
  Database database;
  mutable std::mutex mutex;
  const int64_t keys_of_document;

  Connection(const std::string& path, Access access, bool with_passages)
      : database(path, access_of(access)), keys_of_document(with_passages ? kMostPassages : 1) {
    if (access == Access::kCreate) create();
  }

  void create() const {
    Transaction transaction(database, Transaction::Kind::kWrite);
    database.execute(kTable);
    detail::create_state(database, keys_of_document);
    transaction.commit();
  }

  Statement select_where(const std::string& condition) const {
    return {database,
            ("SELECT key, id, text, metadata, title, passages FROM documents WHERE " + condition)
                .c_str()};
  }
  static Document row_of(const Statement& select) {
    return {select.text(1), select.text(2), select.text(3), read_passages(select.text(5)),
            select.text(4)};
  }
  Document read_document(Statement& select, int64_t key) const;
  std::optional<Stored> find_id(Statement& find, Statement& select, const std::string& id) const;
  bool has_hash_of(const std::string& id) const;

  void remove_ids(const std::set<std::string>& ids, Change& change,
                  std::vector<std::string>* unknown) const;
  void add_documents(const std::vector<Document>& documents, Change& change,
                     StoreState& state) const;
};

Document DocumentStore::Connection::read_document(Statement& select, int64_t key) const {
  SIMILE_CHECK(select.bind(1, key).step(), ErrorKind::kInput,
               "{}: document {} is missing: the index is damaged, build it again", database.path(),
               key);
  Document document = row_of(select);
  select.reset();
  return document;
}

// SQLite believes its index on `id`. If damage makes it lead to another document, the id of that
// document tells; if damage hides the id, the index on its hash does.
std::optional<DocumentStore::Stored> DocumentStore::Connection::find_id(
    Statement& find, Statement& select, const std::string& id) const {
  const bool found = find.bind(1, id).step();
  Stored stored;
  if (found) stored.key = find.number(0);
  find.reset();
  if (found) stored.document = read_document(select, stored.key);
  SIMILE_CHECK(found ? stored.document.id == id : !has_hash_of(id), ErrorKind::kInput,
               "{}: its index on ids does not lead from \"{}\" to its document: the index is "
               "damaged, build it again",
               database.path(), id);
  return found ? std::optional<Stored>(std::move(stored)) : std::nullopt;
}

bool DocumentStore::Connection::has_hash_of(const std::string& id) const {
  Statement find(database, "SELECT key FROM documents WHERE id_hash = ? AND +id = ?");
  return find.bind(1, hash_of_id(id)).bind(2, id).step();
}

void DocumentStore::Connection::remove_ids(const std::set<std::string>& ids, Change& change,
                                           std::vector<std::string>* unknown) const {
  Statement find(database, kSelectKey);
  Statement select = select_where("key = ?");
  Statement erase(database, "DELETE FROM documents WHERE key = ?");
  for (const std::string& id : ids) {
    const std::optional<Stored> found = find_id(find, select, id);
    if (!found) {
      if (unknown != nullptr) unknown->push_back(id);
      continue;
    }
    erase.bind(1, found->key).run();
    append(vector_keys(found->key, found->document), change.removed);
    ++change.removed_documents;
  }
}

void DocumentStore::Connection::add_documents(const std::vector<Document>& documents,
                                              Change& change, StoreState& state) const {
  Statement insert(database, "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const Document& document : documents) {
    const int64_t key = state.next_key;
    state.next_key += keys_of_document;
    const std::string places = write_passages(document.passages);
    insert.bind(1, key)
        .bind(2, document.id)
        .bind(3, document.text)
        .bind(4, document.metadata)
        .bind(5, document.title)
        .bind(6, places)
        .bind(7, hash_of_id(document.id))
        .run();
    append(vector_keys(key, document), change.added);
  }
  state.documents += static_cast<int64_t>(documents.size());
}

DocumentStore::DocumentStore(const std::string& path, Access access, bool with_passages)
    : connection_(std::make_unique<Connection>(path, access, with_passages)) {}

DocumentStore::DocumentStore(DocumentStore&&) noexcept = default;
DocumentStore::~DocumentStore() = default;

int64_t DocumentStore::count() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  return connection_->database.read_number("SELECT count(*) FROM documents");
}

int64_t DocumentStore::generation() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  return connection_->database.read_number("SELECT generation FROM state");
}

StoreState DocumentStore::state() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  return detail::read_state(connection_->database);
}

StoreSnapshot DocumentStore::snapshot() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  StoreSnapshot snapshot;
  snapshot.state = detail::read_state(connection_->database);
  snapshot.removed = detail::read_removed(connection_->database, snapshot.state);
  return snapshot;
}

std::vector<Document> DocumentStore::find(const std::vector<int64_t>& keys) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  Statement select = connection_->select_where("key = ?");
  std::vector<Document> documents;
  for (const int64_t key : keys) {
    documents.push_back(connection_->read_document(select, document_key(key)));
  }
  return documents;
}

std::optional<DocumentStore::Stored> DocumentStore::find_id(const std::string& id) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  Statement find(connection_->database, kSelectKey);
  Statement select = connection_->select_where("key = ?");
  return connection_->find_id(find, select, id);
}

int64_t DocumentStore::document_key(int64_t key) const {
  return key - key % connection_->keys_of_document;
}

int64_t DocumentStore::key_step() const { return connection_->keys_of_document; }

void DocumentStore::for_each(int64_t first, int64_t last, const TakeDocument& take) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Statement select = connection_->select_where("key BETWEEN ? AND ? ORDER BY key");
  select.bind(1, first).bind(2, last);
  while (select.step()) take(select.number(0), connection_->row_of(select));
}

void DocumentStore::check() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  Statement statement(connection_->database, "PRAGMA integrity_check(1)");
  const std::string found = statement.step() ? statement.text(0) : "nothing";
  SIMILE_CHECK(found == "ok", ErrorKind::kInput, "{}: {}; the index is damaged, build it again",
               connection_->database.path(), found);
}

DocumentStore::Change DocumentStore::change(const std::vector<std::string>& removed_ids,
                                            const std::vector<Document>& documents,
                                            const BeforeCommit& before_commit) {
  check_distinct(documents);
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  const Database& database = connection_->database;
  Transaction transaction(database, Transaction::Kind::kWrite);
  database.check_in_place();
  Change change;
  StoreState state = change.before = detail::read_state(database);
  connection_->remove_ids({removed_ids.begin(), removed_ids.end()}, change, &change.unknown);
  const std::vector<std::string> replaced = ids_of(documents);
  connection_->remove_ids({replaced.begin(), replaced.end()}, change, nullptr);
  connection_->add_documents(documents, change, state);
  detail::add_removed(database, change.removed, state);
  state.documents -= change.removed_documents;
  std::optional<std::vector<int64_t>> removed;  // read when asked for, as it is of the whole store
  const SegmentChange segments = before_commit(change, [&](const SegmentRow& segment) {
    if (!removed) removed = detail::read_removed(database, state);
    return keys_within(segment, *removed);
  });
  detail::change_segments(database, segments, state);
  ++state.generation;
  detail::write_state(database, state);
  transaction.commit();
  return change;
}

}  // namespace simile
