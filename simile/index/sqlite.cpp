// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <system_error>

#include "simile/core/error.h"
#include "simile/index/detail/checked_pages.h"

namespace simile::detail {
namespace {

// "SIML": marks the file as ours.
constexpr int64_t kApplication = 0x53494d4c;
constexpr int kWaitMinutes = 10;  // for other processes' changes

bool is_of_system(int code) {
  return code == SQLITE_FULL || code == SQLITE_READONLY || code == SQLITE_IOERR ||
         code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PERM;
}

std::string hint_for(int code) {
  if (code == SQLITE_BUSY) {
    return fmt::format("; another process has held it for {} minutes, try again when it is done",
                       kWaitMinutes);
  }
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_CONSTRAINT;
  return damaged ? "; the index is damaged, build it again" : "";
}

// What a lost machine may not undo is on disk before it counts: a merge deletes the files of the
// state before. Readers go on until a change is committed, so no page is written earlier.
constexpr const char* kForWriting = "PRAGMA synchronous = EXTRA; PRAGMA cache_spill = OFF";
constexpr const char* kForReading = "PRAGMA query_only = ON";
constexpr const char* kForBuilding = "PRAGMA cache_size = -65536";  // KiB

}  // namespace

Database::Database(const std::string& path, Access access) : path_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                    (access == Access::kCreate ? SQLITE_OPEN_CREATE : 0);
  try {
    const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, checked_pages());
    if (code != SQLITE_OK) fail(code);
    struct stat status {};
    SIMILE_CHECK(stat(path.c_str(), &status) == 0, ErrorKind::kInput,
                 fmt::format("{}: the file is gone", path));
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
    if (access == Access::kCreate) create();
    SIMILE_CHECK(read_number("PRAGMA application_id") == kApplication, ErrorKind::kInput,
                 fmt::format("{}: not a document store of this program", path));
  } catch (...) {
    close();
    throw;
  }
}

// The reserved bytes must be known before the first page is written.
void Database::create() const {
  int reserved = kReservedBytes;
  const int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  if (code != SQLITE_OK) fail(code);
  execute(fmt::format("BEGIN; PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                      kApplication, kCheckedVersion));
}

Database::~Database() { close(); }

void Database::close() { sqlite3_close_v2(handle_); }

void Database::fail(int code) const {
  if (handle_ != nullptr && sqlite3_extended_errcode(handle_) == SQLITE_IOERR_DATA) {
    fail_damaged_page(damaged_page(handle_));
  }
  const int basic = code & 0xff;
  throw Error(is_of_system(basic) ? ErrorKind::kIo : ErrorKind::kInput,
              fmt::format("{}: {}{}", path_,
                          handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code),
                          hint_for(basic)));
}

void Database::fail_damaged_page(int64_t number) const {
  throw Error(ErrorKind::kInput,
              fmt::format("{} is damaged: the checksum of its page {} is another; build the index "
                          "again",
                          path_, number));
}

void Database::check_pages() const {
  const int64_t pages = read_number("PRAGMA page_count");
  const PageFault fault = find_page_fault(handle_, pages, read_number("PRAGMA page_size"));
  if (fault.number == 0) return;
  if (fault.code == SQLITE_OK) fail_damaged_page(fault.number);
  throw Error(ErrorKind::kIo, fmt::format("{}: page {} cannot be read: {}", path_, fault.number,
                                          fault.system_error != 0
                                              ? std::generic_category().message(fault.system_error)
                                              : sqlite3_errstr(fault.code)));
}

void Database::execute(const std::string& sql) const {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

int64_t Database::read_number(const char* sql) const {
  Statement statement(*this, sql);
  SIMILE_CHECK(statement.step(), ErrorKind::kInput,
               fmt::format("{}: not a document store of this program", path_));
  return statement.number(0);
}

void Database::check_in_place() const {
  struct stat status {};
  SIMILE_CHECK(
      stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == file_,
      ErrorKind::kIo,
      fmt::format("{}: another index was built in its place; open it again", path_));
}

Statement::Statement(const Database& database, const char* sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.handle(), sql, -1, &statement_, nullptr);
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
