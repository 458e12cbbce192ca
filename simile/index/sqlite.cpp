// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstring>

#include "simile/core/check.h"

namespace simile::detail {
namespace {

// "SIML": marks the file as ours.
constexpr int64_t kApplication = 0x53494d4c;

// The fields of the file's header that never change (sqlite.org/fileformat.html): 4096 bytes a
// page, a rollback journal; schema format 4, UTF-8, the application.
constexpr size_t kPageFieldsAt = 16, kPageFieldBytes = 8;
constexpr char kPageFields[kPageFieldBytes + 1] = "\x10\0\1\1\0\x40\x20\x20";
constexpr size_t kSchemaFieldsAt = 44, kSchemaFieldBytes = 48;
constexpr char kSchemaFields[kSchemaFieldBytes] =
    "\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0SIML";

constexpr int kWaitMinutes = 10;  // for other processes' changes

bool is_of_system(int code) {
  return code == SQLITE_FULL || code == SQLITE_READONLY || code == SQLITE_IOERR ||
         code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PERM ||
         code == SQLITE_NOMEM;
}

std::string hint_for(int code) {
  if (code == SQLITE_BUSY) {
    return fmt::format("; another process has held it for {} minutes, try again when it is done",
                       kWaitMinutes);
  }
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_CONSTRAINT;
  return damaged ? "; the index is damaged, build it again" : "";
}

// A commit is on the disk before a merge deletes the files of the state before it. No page is
// written before the commit, so readers are not blocked until then.
constexpr const char* kForWriting = "PRAGMA synchronous = EXTRA; PRAGMA cache_spill = OFF";
constexpr const char* kForReading = "PRAGMA query_only = ON";
constexpr const char* kForBuilding = "PRAGMA cache_size = -65536";  // KiB

}  // namespace

Database::Database(const std::string& path, Access access) : path_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                    (access == Access::kCreate ? SQLITE_OPEN_CREATE : 0);
  try {
    const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) fail(code);
    struct stat status {};
    SIMILE_CHECK(stat(path.c_str(), &status) == 0, ErrorKind::kInput, "{}: the file is gone", path);
    device_ = status.st_dev;
    file_ = status.st_ino;
    sqlite3_busy_timeout(handle_, kWaitMinutes * 60 * 1000);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    execute(access == Access::kRead    ? kForReading
            : access == Access::kWrite ? kForWriting
                                       : kForBuilding);
    if (access == Access::kCreate) {
      execute(fmt::format("PRAGMA page_size = 4096; PRAGMA application_id = {}", kApplication));
    } else {
      check_header();
    }
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() { close(); }

// Reads through SQLite: closing the file elsewhere would release the locks of this process.
void Database::check_header() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  char header[kSchemaFieldsAt + kSchemaFieldBytes];
  const bool is_read = file->pMethods->xRead(file, header, sizeof header, 0) == SQLITE_OK;
  SIMILE_CHECK(is_read && std::memcmp(header + kPageFieldsAt, kPageFields, kPageFieldBytes) == 0 &&
                   std::memcmp(header + kSchemaFieldsAt, kSchemaFields, kSchemaFieldBytes) == 0,
               ErrorKind::kInput,
               "{}: not a document store of this program, or damaged; build the index again",
               path_);
}

void Database::close() { sqlite3_close_v2(handle_); }

void Database::fail(int code) const {
  const int basic = code & 0xff;
  throw_error(is_of_system(basic) ? ErrorKind::kIo : ErrorKind::kInput, "{}: {}{}", path_,
              handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code), hint_for(basic));
}

void Database::execute(const std::string& sql) const {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::copy_to(const std::string& path) const {
  const Database copy(path, Access::kCreate);
  sqlite3_backup* const backup = sqlite3_backup_init(copy.handle_, "main", handle_, "main");
  if (backup == nullptr) copy.fail(sqlite3_errcode(copy.handle_));
  sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) copy.fail(code);
}

int64_t Database::read_number(const char* sql) const {
  Statement statement(*this, sql);
  SIMILE_CHECK(statement.step(), ErrorKind::kInput, "{}: not a document store of this program",
               path_);
  return statement.number(0);
}

void Database::check_in_place() const {
  struct stat status {};
  SIMILE_CHECK(
      stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == file_,
      ErrorKind::kIo, "{}: another index was built in its place; open it again", path_);
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int index, int64_t value) {
  const int code = sqlite3_bind_int64(statement_, index, value);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

Statement& Statement::bind(int index, const std::string& value) {
  const int code = sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC,
                                       SQLITE_UTF8);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    sqlite3_reset(statement_);
    database_.fail(code);
  }
  return false;
}

void Statement::reset() { sqlite3_reset(statement_); }

void Statement::run() {
  while (step()) {
  }
  reset();
}

int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
}

Transaction::Transaction(const Database& database, Kind kind) : database_(database) {
  database.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace simile::detail
