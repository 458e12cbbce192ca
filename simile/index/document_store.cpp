// SPDX-License-Identifier: Apache-2.0
#include "simile/index/document_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <mutex>
#include <set>

#include "simile/core/error.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

// "SIML": marks the file as ours.
constexpr int64_t kApplication = 0x53494d4c;
constexpr int kWaitMinutes = 10;  // for other processes' changes

[[noreturn]] void fail(sqlite3* database, const std::string& path, int code) {
  const int basic = code & 0xff;
  const bool write = basic == SQLITE_FULL || basic == SQLITE_READONLY || basic == SQLITE_IOERR ||
                     basic == SQLITE_BUSY || basic == SQLITE_LOCKED || basic == SQLITE_PERM;
  const std::string hint = basic == SQLITE_BUSY
                               ? fmt::format(
                                     "; another process has held it for {} minutes, try again "
                                     "when it is done",
                                     kWaitMinutes)
                           : basic == SQLITE_CORRUPT ? "; the index is damaged, build it again"
                                                     : "";
  throw Error(
      write ? ErrorKind::kIo : ErrorKind::kInput,
      fmt::format("{}: {}{}", path,
                  database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code), hint));
}

// A prepared statement, reset after each use.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const char* sql)
      : database_(database), path_(path) {
    const int code = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
    if (code != SQLITE_OK) fail(database_, path_, code);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& bind(int index, int64_t value) {
    check(sqlite3_bind_int64(statement_, index, value));
    return *this;
  }
  Statement& bind(int index, const std::string& value) {
    check(sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
    return *this;
  }
  // Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) {
      sqlite3_reset(statement_);
      fail(database_, path_, code);
    }
    return false;
  }
  void reset() { sqlite3_reset(statement_); }
  void run() {
    while (step()) {
    }
    reset();
  }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) fail(database_, path_, code);
  }
  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

void check_distinct(const std::vector<Document>& documents) {
  std::set<std::string> ids;
  for (const Document& document : documents) {
    SIMILE_CHECK(ids.insert(document.id).second, ErrorKind::kInput,
                 fmt::format("documents: the id \"{}\" is given twice", document.id));
  }
}

std::vector<std::string> ids_of(const std::vector<Document>& documents) {
  std::vector<std::string> ids;
  for (const Document& document : documents) ids.push_back(document.id);
  return ids;
}

}  // namespace

uint64_t content_hash(int64_t key, const Document& document) {
  return hash64(fmt::format("{} {} {}{}", key, document.id.size(), document.id, document.text));
}

struct DocumentStore::Connection {
  std::string path;
  sqlite3* database = nullptr;
  mutable std::mutex mutex;

  ~Connection() { sqlite3_close_v2(database); }

  void execute(const char* sql) {
    const int code = sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(database, path, code);
  }

  int64_t read_number(const char* sql) const {
    Statement statement(database, path, sql);
    SIMILE_CHECK(statement.step(), ErrorKind::kInput,
                 fmt::format("{}: not a document store of this program", path));
    return statement.number(0);
  }

  void open(Access access) {
    const int flags = access == Access::kRead     ? SQLITE_OPEN_READONLY
                      : access == Access::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                  : SQLITE_OPEN_READWRITE;
    const int code = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) fail(database, path, code);
    sqlite3_busy_timeout(database, kWaitMinutes * 60 * 1000);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    if (access == Access::kCreate) {
      execute(fmt::format("PRAGMA application_id = {}; BEGIN;"
                          "CREATE TABLE documents (key INTEGER PRIMARY KEY AUTOINCREMENT,"
                          " id TEXT NOT NULL UNIQUE, text TEXT NOT NULL);"
                          "CREATE TABLE state (generation INTEGER NOT NULL);"
                          "INSERT INTO state VALUES (0); COMMIT;",
                          kApplication)
                  .c_str());
    }
    SIMILE_CHECK(read_number("PRAGMA application_id") == kApplication, ErrorKind::kInput,
                 fmt::format("{}: not a document store of this program", path));
  }

  // Returns those that are not there.
  std::vector<std::string> remove_ids(const std::set<std::string>& ids, Change& change) {
    std::vector<std::string> unknown;
    Statement find(database, path, "SELECT key FROM documents WHERE id = ?");
    Statement erase(database, path, "DELETE FROM documents WHERE key = ?");
    for (const std::string& id : ids) {
      find.bind(1, id);
      const bool found = find.step();
      const int64_t key = found ? find.number(0) : 0;
      find.reset();
      if (!found) {
        unknown.push_back(id);
        continue;
      }
      erase.bind(1, key).run();
      change.removed.push_back(key);
    }
    return unknown;
  }

  void add_documents(const std::vector<Document>& documents, Change& change) {
    Statement insert(database, path, "INSERT INTO documents (id, text) VALUES (?, ?)");
    for (const Document& document : documents) {
      insert.bind(1, document.id).bind(2, document.text).run();
      change.added.push_back(sqlite3_last_insert_rowid(database));
    }
  }

  Change change(const std::vector<std::string>& removed_ids,
                const std::vector<Document>& documents) {
    Change result;
    result.unknown = remove_ids({removed_ids.begin(), removed_ids.end()}, result);
    const std::vector<std::string> replaced = ids_of(documents);
    remove_ids({replaced.begin(), replaced.end()}, result);
    add_documents(documents, result);
    execute("UPDATE state SET generation = generation + 1");
    result.generation = read_number("SELECT generation FROM state");
    return result;
  }
};

DocumentStore::DocumentStore(const std::string& path, Access access)
    : connection_(std::make_unique<Connection>()) {
  connection_->path = path;
  connection_->open(access);
}

DocumentStore::DocumentStore(DocumentStore&&) noexcept = default;
DocumentStore::~DocumentStore() = default;

int64_t DocumentStore::count() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  return connection_->read_number("SELECT count(*) FROM documents");
}

int64_t DocumentStore::generation() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  return connection_->read_number("SELECT generation FROM state");
}

std::vector<Document> DocumentStore::find(const std::vector<int64_t>& keys) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Statement select(connection_->database, connection_->path,
                   "SELECT id, text FROM documents WHERE key = ?");
  std::vector<Document> documents;
  for (const int64_t key : keys) {
    SIMILE_CHECK(select.bind(1, key).step(), ErrorKind::kInput,
                 fmt::format("{}: document {} is missing: the index is damaged, build it again",
                             connection_->path, key));
    documents.push_back({select.text(0), select.text(1)});
    select.reset();
  }
  return documents;
}

void DocumentStore::for_each(const std::function<void(int64_t key, const Document&)>& take) const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Statement select(connection_->database, connection_->path,
                   "SELECT key, id, text FROM documents ORDER BY key");
  while (select.step()) take(select.number(0), {select.text(1), select.text(2)});
}

void DocumentStore::check() const {
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  Statement statement(connection_->database, connection_->path, "PRAGMA integrity_check(1)");
  const std::string found = statement.step() ? statement.text(0) : "nothing";
  SIMILE_CHECK(
      found == "ok", ErrorKind::kInput,
      fmt::format("{}: {}; the index is damaged, build it again", connection_->path, found));
}

DocumentStore::Change DocumentStore::change(
    const std::vector<std::string>& removed_ids, const std::vector<Document>& documents,
    const std::function<void(const Change&)>& before_commit) {
  check_distinct(documents);
  const std::lock_guard<std::mutex> lock(connection_->mutex);
  connection_->execute("BEGIN IMMEDIATE");
  try {
    Change result = connection_->change(removed_ids, documents);
    before_commit(result);
    connection_->execute("COMMIT");
    return result;
  } catch (...) {
    sqlite3_exec(connection_->database, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace simile
