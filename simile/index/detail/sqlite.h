// SPDX-License-Identifier: Apache-2.0
// The parts of SQLite that the document store uses. Errors: kInput for a file that is damaged or is
// not a document store, kIo for one that cannot be written or that another process has locked for
// too long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "simile/core/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace simile::detail {

// Another process has held the file for too long (kIo); nothing was changed.
class DatabaseBusy : public Error {
 public:
  using Error::Error;
};

class Database {
 public:
  enum class Access { kCreate, kWrite, kRead };

  // Opens the file for writing if possible, also for a reader, which may have to roll back the
  // change of a killed process. A reader's statements cannot write. The folder may be renamed, and
  // another put in its place, while the database is open.
  Database(const std::string& path, Access access);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }
  void execute(const std::string& sql) const;
  int64_t read_number(const char* sql) const;  // of the first row, which must be there

  // Writes what the database is now to a new file; others may read meanwhile, and changes wait.
  void copy_to(const std::string& path) const;

  // For other processes' changes; ten minutes by default.
  void wait_at_most(std::chrono::milliseconds wait);

  // Errors (kIo): the path names another file by now, or none.
  void check_in_place() const;

  [[noreturn]] void fail(int code) const;

 private:
  void check_header() const;
  void close();

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::chrono::milliseconds wait_{0};
  int folder_ = -1;  // open, so that the file's journal is looked for in it
  dev_t device_ = 0;
  ino_t file_ = 0;
};

// A prepared statement. Reset it after each use; text that is bound must live until then.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& bind(int index, int64_t value);
  Statement& bind(int index, const std::string& value);
  bool step();  // whether there is a row
  void reset();
  void run();  // to its end, and resets
  int64_t number(int column) const;
  std::string text(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Rolled back unless it is committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };

  Transaction(const Database& database, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  const Database& database_;
  bool open_ = true;
};

}  // namespace simile::detail
