// SPDX-License-Identifier: Apache-2.0
#include "simile/index/document_store.h"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/index/detail/sqlite.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using detail::Database;
using detail::Statement;
using detail::Transaction;

// Errors (kInput): an id twice.
std::set<std::string> ids_of(const std::vector<Document>& documents) {
  std::set<std::string> ids;
  for (const Document& document : documents) {
    SIMILE_CHECK(ids.insert(document.id).second, ErrorKind::kInput,
                 "documents: the id \"{}\" is given twice", document.id);
  }
  return ids;
}

void append(const std::vector<VectorKey>& more, std::vector<VectorKey>& keys) {
  keys.insert(keys.end(), more.begin(), more.end());
}

constexpr const char* kTable =
    "CREATE TABLE documents (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, "
    "metadata TEXT NOT NULL, title TEXT NOT NULL, passages TEXT NOT NULL, id_hash INTEGER NOT "
    "NULL, changed TEXT NOT NULL);CREATE INDEX ids ON documents (id_hash)";
constexpr const char* kSelectKey = "SELECT key FROM documents WHERE id = ?";

int64_t hash_of_id(const std::string& id) { return static_cast<int64_t>(hash64(id)); }

uint64_t hash_when_added(const Document& document) {
  return document.added_metadata.value_or(hash64(document.metadata));
}

// Seals metadata that were changed.
uint64_t hash_of_changed(int64_t key, uint64_t when_added, const std::string& metadata) {
  return hash64(fmt::format("{} {} {}", key, when_added, metadata));
}

// Covers all there was of a document when it was added, its key included.
uint64_t content_hash(int64_t key, const Document& document) {
  std::string all = fmt::format("{} {} {} {}{}", key, document.id.size(), hash_when_added(document),
                                document.id, document.text);
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

// The hash of a document, from which those of its vectors are made.
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
  // Text in another form was not written by Simile; this value makes its hash differ.
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
      : database(path, static_cast<Database::Access>(access)),  // which has the same values
        keys_of_document(with_passages ? kMostPassages : 1) {
    if (access != Access::kCreate) return;
    Transaction transaction(database, Transaction::Kind::kWrite);
    database.execute(kTable);
    detail::create_state(database, keys_of_document);
    transaction.commit();
  }

  Statement select_where(const std::string& condition) const {
    return {database,
            "SELECT key, id, text, metadata, title, passages, changed FROM documents WHERE " +
                condition};
  }
  Document row_of(const Statement& select) const {
    Document document = {select.text(1), select.text(2), select.text(3),
                         read_passages(select.text(5)), select.text(4)};
    const std::string changed = select.text(6);
    if (changed.empty()) return document;
    uint64_t when_added = 0, hash = 0;
    std::istringstream(changed) >> when_added >> hash;
    SIMILE_CHECK(hash == hash_of_changed(select.number(0), when_added, document.metadata),
                 ErrorKind::kInput,
                 "{}: the metadata of document \"{}\" are damaged; build the index again",
                 database.path(), document.id);
    document.added_metadata = when_added;
    return document;
  }
  Document read_document(Statement& select, int64_t key) const {
    SIMILE_CHECK(select.bind(1, key).step(), ErrorKind::kInput,
                 "{}: document {} is missing: the index is damaged, build it again",
                 database.path(), key);
    Document document = row_of(select);
    select.reset();
    return document;
  }

  // SQLite believes its index on `id`. If damage makes it lead to another document, that document's
  // id reveals it; if damage hides the id, the index on its hash does.
  std::optional<Stored> find_id(Statement& find, Statement& select, const std::string& id) const {
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

  bool has_hash_of(const std::string& id) const {
    Statement find(database, "SELECT key FROM documents WHERE id_hash = ? AND +id = ?");
    return find.bind(1, hash_of_id(id)).bind(2, id).step();
  }

  void remove_ids(const std::set<std::string>& ids, Change& change, StoreState& state,
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
      if (found->document.added_metadata) state.changed_sum -= changed_hash(*found);
      append(vector_keys(found->key, found->document), change.removed);
      ++change.removed_documents;
    }
  }

  void add_documents(const std::vector<Document>& documents, Change& change,
                     StoreState& state) const {
    Statement insert(database, "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, '')");
    for (const Document& given : documents) {
      Document bare;  // an empty object says nothing, and is kept as no metadata
      if (given.metadata == "{}") (bare = given).metadata.clear();
      const Document& document = given.metadata == "{}" ? bare : given;
      const int64_t key = state.next_key;
      state.next_key += keys_of_document;
      const std::string places = write_passages(document.passages);
      insert.bind(1, key).bind(2, document.id).bind(3, document.text).bind(4, document.metadata);
      insert.bind(5, document.title).bind(6, places).bind(7, hash_of_id(document.id)).run();
      append(vector_keys(key, document), change.added);
    }
    state.documents += static_cast<int64_t>(documents.size());
  }

  static uint64_t changed_hash(const Stored& stored) {
    return hash_of_changed(stored.key, *stored.document.added_metadata, stored.document.metadata);
  }
};

DocumentStore::DocumentStore(const std::string& path, Access access, bool with_passages)
    : connection_(std::make_unique<Connection>(path, access, with_passages)) {}

DocumentStore::DocumentStore(DocumentStore&&) noexcept = default;
DocumentStore::~DocumentStore() = default;

void DocumentStore::wait_at_most(std::chrono::milliseconds wait) {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  connection_->database.wait_at_most(wait);
}

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

void DocumentStore::copy_to(const std::string& path) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  connection_->database.copy_to(path);
}

void DocumentStore::check() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Transaction transaction(connection_->database, Transaction::Kind::kRead);
  Statement statement(connection_->database, "PRAGMA integrity_check(1)");
  const std::string found = statement.step() ? statement.text(0) : "nothing";
  SIMILE_CHECK(found == "ok", ErrorKind::kInput, "{}: {}; the index is damaged, build it again",
               connection_->database.path(), found);
  uint64_t sum = 0;
  Statement select = connection_->select_where("changed != ''");
  while (select.step()) {
    sum += Connection::changed_hash({select.number(0), connection_->row_of(select)});
  }
  SIMILE_CHECK(sum == detail::read_state(connection_->database).changed_sum, ErrorKind::kInput,
               "{}: changed metadata are missing; the index is damaged, build it again",
               connection_->database.path());
}

int64_t DocumentStore::change_metadata(const std::vector<std::string>& ids,
                                       const MakeMetadata& make) {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  const Database& database = connection_->database;
  Transaction transaction(database, Transaction::Kind::kWrite);
  database.check_in_place();
  StoreState state = detail::read_state(database);
  Statement find(database, kSelectKey);
  Statement select = connection_->select_where("key = ?");
  Statement update(database, "UPDATE documents SET metadata = ?, changed = ? WHERE key = ?");
  std::set<std::string> changed;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::optional<Stored> found = connection_->find_id(find, select, ids[i]);
    SIMILE_CHECK(found, ErrorKind::kInput,
                 "there is no document \"{}\"; nothing was changed; leave it out, or add it first",
                 ids[i]);
    Document& document = found->document;
    std::string metadata = make(i, document.metadata);
    if (metadata == document.metadata) continue;
    if (document.added_metadata) state.changed_sum -= Connection::changed_hash(*found);
    document.added_metadata = hash_when_added(document);
    document.metadata = std::move(metadata);
    const uint64_t hash = Connection::changed_hash(*found);
    state.changed_sum += hash;
    const std::string written = fmt::format("{} {}", *document.added_metadata, hash);
    update.bind(1, document.metadata).bind(2, written).bind(3, found->key).run();
    changed.insert(ids[i]);
  }
  if (changed.empty()) return 0;
  state.metadata_generation = ++state.generation;
  detail::write_state(database, state);
  transaction.commit();
  return static_cast<int64_t>(changed.size());
}

DocumentStore::Change DocumentStore::change(const std::vector<std::string>& removed_ids,
                                            const std::vector<Document>& documents,
                                            const BeforeCommit& before_commit) {
  const std::set<std::string> replaced = ids_of(documents);
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  const Database& database = connection_->database;
  Transaction transaction(database, Transaction::Kind::kWrite);
  database.check_in_place();
  Change change;
  StoreState state = change.before = detail::read_state(database);
  connection_->remove_ids({removed_ids.begin(), removed_ids.end()}, change, state, &change.unknown);
  connection_->remove_ids(replaced, change, state, nullptr);
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
