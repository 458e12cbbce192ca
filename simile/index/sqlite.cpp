// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

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

bool is_of_system(int code) {
  return code == SQLITE_FULL || code == SQLITE_READONLY || code == SQLITE_IOERR ||
         code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PERM ||
         code == SQLITE_NOMEM;
}

std::string hint_for(int code, std::chrono::milliseconds waited) {
  if (code == SQLITE_BUSY) {
    return fmt::format("; another process has held it for {:g} s, try again when it is done",
                       static_cast<double>(waited.count()) / 1e3);
  }
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_CONSTRAINT;
  return damaged ? "; the index is damaged, build it again" : "";
}

// SQLite finds a database's journal by its name. Under this file system a name leads through an open
// folder and stays as it is, so that it goes on to mean the same folder when that is renamed. Else a
// reader of an index that was put aside would take the journal of the one in its place for its own,
// play it back and delete it.
const char* folder_file_system() {
  static sqlite3_vfs files = [] {
    sqlite3_vfs made = *sqlite3_vfs_find(nullptr);
    made.zName = "simile-folder";
    made.pNext = nullptr;
    made.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* whole) {
      if (std::strlen(name) >= static_cast<size_t>(size)) return SQLITE_CANTOPEN;
      std::strcpy(whole, name);
      return SQLITE_OK;
    };
    return made;
  }();
  static const int registered = sqlite3_vfs_register(&files, 0);
  return registered == SQLITE_OK ? files.zName : nullptr;
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
    const std::filesystem::path file(path);
    const std::string parent = file.has_parent_path() ? file.parent_path().string() : ".";
    folder_ = open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    SIMILE_CHECK(folder_ >= 0, ErrorKind::kInput, "cannot open the folder '{}': {}", parent,
                 std::strerror(errno));
    const std::string within =
        fmt::format("/proc/self/fd/{}/{}", folder_, file.filename().string());
    const int code = sqlite3_open_v2(within.c_str(), &handle_, flags, folder_file_system());
    if (code != SQLITE_OK) fail(code);
    struct stat status {};
    SIMILE_CHECK(fstatat(folder_, file.filename().c_str(), &status, 0) == 0, ErrorKind::kInput,
                 "{}: the file is gone", path);
    device_ = status.st_dev;
    file_ = status.st_ino;
    wait_at_most(std::chrono::minutes(10));
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

void Database::close() {
  sqlite3_close_v2(handle_);
  if (folder_ >= 0) ::close(folder_);
}

void Database::fail(int code) const {
  const int basic = code & 0xff;
  const std::string message = fmt::format(
      "{}: {}{}", path_, handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code),
      hint_for(basic, wait_));
  if (basic == SQLITE_BUSY) throw DatabaseBusy(ErrorKind::kIo, message);
  throw Error(is_of_system(basic) ? ErrorKind::kIo : ErrorKind::kInput, message);
}

void Database::wait_at_most(std::chrono::milliseconds wait) {
  wait_ = std::max(wait, std::chrono::milliseconds(0));
  sqlite3_busy_timeout(handle_, static_cast<int>(wait_.count()));
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
