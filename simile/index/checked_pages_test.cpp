// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/checked_pages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/document_store.h"

namespace simile {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Reads that SQLite does at this place of a file fail as those of a broken disk do.
class FailingReads {
 public:
  explicit FailingReads(off_t at) {
    place_ = at;
    for (const auto& [name, call] : calls()) EXPECT_EQ(set(name, call), SQLITE_OK) << name;
  }
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;
  ~FailingReads() {
    for (const auto& [name, call] : calls()) set(name, nullptr);
  }

 private:
  static std::vector<std::pair<const char*, sqlite3_syscall_ptr>> calls() {
    return {{"read", reinterpret_cast<sqlite3_syscall_ptr>(&read_there)},
            {"pread", reinterpret_cast<sqlite3_syscall_ptr>(&pread_there)},
            {"pread64", reinterpret_cast<sqlite3_syscall_ptr>(&pread_there)}};
  }
  static int set(const char* name, sqlite3_syscall_ptr call) {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    return system->xSetSystemCall(system, name, call);
  }
  static ssize_t read_there(int file, void* out, size_t bytes) {
    return lseek(file, 0, SEEK_CUR) == place_ ? fail() : ::read(file, out, bytes);
  }
  static ssize_t pread_there(int file, void* out, size_t bytes, off_t at) {
    return at == place_ ? fail() : ::pread(file, out, bytes, at);
  }
  static ssize_t fail() {
    errno = EIO;
    return -1;
  }

  static off_t place_;
};

off_t FailingReads::place_ = 0;

class CheckedPagesTest : public testing::Test {
 protected:
  ~CheckedPagesTest() override {
    fs::remove(path_);
    fs::remove(path_ + "-journal");
  }

  // A connection of its own; `vfs` null: SQLite's, without checksums.
  class Connection {
   public:
    Connection(const std::string& path, const char* vfs, bool reserves = false) {
      constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      EXPECT_EQ(sqlite3_open_v2(path.c_str(), &handle, kFlags, vfs), SQLITE_OK);
      int bytes = detail::kReservedBytes;
      if (reserves) sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { sqlite3_close(handle); }

    int run(const std::string& sql) const {
      sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
      return sqlite3_extended_errcode(handle);
    }
    int64_t number(const char* sql) const {
      sqlite3_stmt* statement = nullptr;
      sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr);
      const bool found = sqlite3_step(statement) == SQLITE_ROW;
      const int64_t number = found ? sqlite3_column_int64(statement, 0) : -1;
      sqlite3_finalize(statement);
      return number;
    }
    std::string text(const char* sql) const {
      sqlite3_stmt* statement = nullptr;
      sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr);
      const bool found = sqlite3_step(statement) == SQLITE_ROW;
      const void* const text = found ? sqlite3_column_text(statement, 0) : nullptr;
      const std::string copy = text == nullptr ? "" : static_cast<const char*>(text);
      sqlite3_finalize(statement);
      return copy;
    }
    int64_t find_damage() const {
      run("BEGIN");
      const detail::PageFault found =
          detail::find_page_fault(handle, number("PRAGMA page_count"), number("PRAGMA page_size"));
      run("COMMIT");
      EXPECT_EQ(found.code, SQLITE_OK);
      return found.number > 0 ? found.number : detail::damaged_page(handle);
    }
    // What SQLite gets of the file, and its code.
    std::pair<int, std::string> read(int bytes, int64_t offset) const {
      sqlite3_file* file = nullptr;
      sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
      std::string read(static_cast<size_t>(bytes), '?');
      const int code = file->pMethods->xRead(file, read.data(), bytes, offset);
      return {code, read};
    }

    sqlite3* handle = nullptr;
  };

  static std::string filling(int rows) {
    return fmt::format(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "INSERT INTO t SELECT i, hex(randomblob(200)) FROM n",
        rows);
  }
  void make(const char* vfs, bool reserves) const {
    const Connection made(path_, vfs, reserves);
    const int version = reserves ? detail::kCheckedVersion : 0;
    EXPECT_EQ(made.run(fmt::format("PRAGMA user_version = {}; "
                                   "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
                                   version)),
              SQLITE_OK);
    EXPECT_EQ(made.run(filling(500)), SQLITE_OK);
  }
  void change_byte(size_t at) const {
    std::string bytes = read_file(path_);
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  const std::string path_ = fmt::format("{}simile_checked_pages_{}", testing::TempDir(), getpid());
};

TEST_F(CheckedPagesTest, EachByteOfEachPageIsHeldAgainstItsChecksum) {
  make(detail::checked_pages(), true);
  const std::string whole = read_file(path_);
  ASSERT_GT(whole.size(), 40 * 4096u);
  EXPECT_EQ(Connection(path_, detail::checked_pages()).find_damage(), 0);
  for (size_t at = 0; at < whole.size(); at += at < 8192 ? 1 : 131) {
    if (at < 16) continue;  // SQLite tells itself what is no database
    change_byte(at);
    const Connection found(path_, detail::checked_pages());
    const auto page = static_cast<int64_t>(at / 4096 + 1);
    if (page == 1) {
      EXPECT_EQ(found.run("SELECT * FROM t"), SQLITE_IOERR_DATA) << at;
      EXPECT_EQ(detail::damaged_page(found.handle), 1) << at;
    } else {
      EXPECT_EQ(found.find_damage(), page) << at;
    }
    std::ofstream(path_, std::ios::binary) << whole;
  }
}

// Parts as long as pages of other databases are parts all the same.
TEST_F(CheckedPagesTest, APartOfAPageIsHeldAgainstTheWholePage) {
  make(detail::checked_pages(), true);
  const std::string whole = read_file(path_);
  struct Part {
    int bytes;
    int64_t in_page;
  };
  const Part parts[] = {{512, 0},    {1024, 0},   {2048, 0},   {4088, 0},    {4096, 0},
                        {512, 512},  {1024, 512}, {16, 24},    {2048, 2048}, {100, 3996},
                        {4096, 100}, {8192, 0},   {1024, 3584}};
  for (const int64_t number : {1, 2, 9}) {
    const int64_t start = (number - 1) * 4096;
    {
      const Connection opened(path_, detail::checked_pages());
      for (const Part& part : parts) {
        const auto [code, read] = opened.read(part.bytes, start + part.in_page);
        EXPECT_EQ(code, SQLITE_OK) << number << " " << part.bytes << " " << part.in_page;
        EXPECT_EQ(read, whole.substr(static_cast<size_t>(start + part.in_page),
                                     static_cast<size_t>(part.bytes)));
      }
      EXPECT_EQ(detail::damaged_page(opened.handle), 0);
    }
    for (const int64_t changed : {30, 500, 2000, 4090}) {  // in what is read, or not
      change_byte(static_cast<size_t>(start + changed));
      const Connection opened(path_, detail::checked_pages());
      for (const Part& part : parts) {
        EXPECT_EQ(opened.read(part.bytes, start + part.in_page).first, SQLITE_IOERR_DATA)
            << number << " " << part.bytes << " " << part.in_page << " " << changed;
        EXPECT_EQ(detail::damaged_page(opened.handle), number);
      }
      std::ofstream(path_, std::ios::binary) << whole;
    }
  }
}

TEST_F(CheckedPagesTest, SQLiteIsToldToReadWholePages) {
  make(detail::checked_pages(), true);
  const Connection opened(path_, detail::checked_pages());
  sqlite3_file* file = nullptr;
  sqlite3_file_control(opened.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  constexpr int kSubpageRead = 0x8000;
  EXPECT_EQ(file->pMethods->xDeviceCharacteristics(file) & kSubpageRead, 0);
}

// A disk that does not give a page is no reason to build the index again.
TEST_F(CheckedPagesTest, APageThatCannotBeReadIsNotDamage) {
  {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    std::vector<Document> documents;
    for (int i = 0; i < 200; ++i) documents.push_back({fmt::format("d{}", i), "text"});
    store.change({}, documents, [](const auto&, const auto&) { return SegmentChange{}; });
  }
  const DocumentStore store(path_, DocumentStore::Access::kRead);
  EXPECT_NO_THROW(store.check());
  const FailingReads failing(3 * 4096);
  try {
    store.check();
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(std::string(error.what()),
              fmt::format("{}: page 4 cannot be read: {}", path_, std::strerror(EIO)));
  }
}

TEST_F(CheckedPagesTest, APageInAnothersPlaceIsDamage) {
  make(detail::checked_pages(), true);
  std::string bytes = read_file(path_);
  bytes.replace(4096 * 5, 4096, bytes, 4096 * 6, 4096);
  std::ofstream(path_, std::ios::binary) << bytes;
  EXPECT_EQ(Connection(path_, detail::checked_pages()).find_damage(), 6);
}

TEST_F(CheckedPagesTest, PagesThatCameAndWentAreWhole) {
  make(detail::checked_pages(), true);
  const Connection first(path_, detail::checked_pages());
  const Connection second(path_, detail::checked_pages());
  for (const char* sql :
       {"DELETE FROM t WHERE a % 3 = 0", "BEGIN; DELETE FROM t; ROLLBACK",
        "PRAGMA cache_size = 4; PRAGMA cache_spill = ON", "UPDATE t SET b = b || b",
        "BEGIN; UPDATE t SET b = hex(randomblob(3000)); DELETE FROM t WHERE a > 100; ROLLBACK",
        "CREATE INDEX i ON t (b)", "DROP INDEX i; DELETE FROM t WHERE a > 200", "VACUUM",
        "PRAGMA journal_mode = TRUNCATE; UPDATE t SET b = 'x'", "PRAGMA mmap_size = 1000000"}) {
    EXPECT_EQ(first.run(sql), SQLITE_OK) << sql;
    EXPECT_EQ(first.find_damage(), 0) << sql;
    EXPECT_EQ(second.number("SELECT count(*) FROM t"), first.number("SELECT count(*) FROM t"))
        << sql;
    EXPECT_EQ(Connection(path_, nullptr).text("PRAGMA integrity_check"), "ok") << sql;
  }
}

// As a process that was killed leaves it: the pages of both are on the disk.
TEST_F(CheckedPagesTest, AJournalThatWasLeftIsRolledBackIntoWholePages) {
  make(detail::checked_pages(), true);
  const std::string copy = path_ + "_copy";
  {
    const Connection killed(path_, detail::checked_pages());
    EXPECT_EQ(killed.run("PRAGMA cache_size = 4; BEGIN; DELETE FROM t WHERE a % 2 = 0"), SQLITE_OK);
    fs::copy_file(path_, copy);
    fs::copy_file(path_ + "-journal", copy + "-journal");
  }
  EXPECT_NE(read_file(copy), read_file(path_));
  const Connection again(copy, detail::checked_pages());
  EXPECT_EQ(again.number("SELECT count(*) FROM t"), 500);
  EXPECT_EQ(again.find_damage(), 0);
  EXPECT_FALSE(fs::exists(copy + "-journal"));
  fs::remove(copy);
}

TEST_F(CheckedPagesTest, DatabasesWithoutRoomForThemStayAsTheyAre) {
  make(nullptr, false);
  const Connection opened(path_, detail::checked_pages());
  EXPECT_EQ(opened.run("UPDATE t SET b = hex(randomblob(100))"), SQLITE_OK);
  EXPECT_EQ(opened.find_damage(), 0);
  EXPECT_EQ(read_file(path_)[20], 0);
  const std::string whole = read_file(path_);
  change_byte(whole.size() - 20);  // within the last row of a page
  EXPECT_EQ(Connection(path_, detail::checked_pages()).number("SELECT count(b) FROM t"), 500);
}

TEST_F(CheckedPagesTest, OthersReadThemAndWhatTheyWriteIsDamage) {
  make(detail::checked_pages(), true);
  {
    const Connection other(path_, nullptr);
    EXPECT_EQ(other.number("SELECT count(*) FROM t"), 500);
    EXPECT_EQ(other.run("UPDATE t SET b = 'x' WHERE a = 1"), SQLITE_OK);
  }
  EXPECT_GT(Connection(path_, detail::checked_pages()).find_damage(), 0);
}

TEST_F(CheckedPagesTest, ThereIsNoWriteAheadLog) {
  make(detail::checked_pages(), true);
  const Connection opened(path_, detail::checked_pages());
  opened.run("PRAGMA journal_mode = WAL");
  EXPECT_EQ(opened.number("SELECT count(*) FROM t"), 500);
  EXPECT_FALSE(fs::exists(path_ + "-wal"));
}

// The table of ids leads nowhere: neither is the document gone, nor may it come a second time.
TEST_F(CheckedPagesTest, AnIdThatIsNotFoundForDamageIsTold) {
  const std::string id = "an-id-of-its-own";
  {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    store.change({}, {{id, "text"}, {"b", "other"}},
                 [](const auto&, const auto&) { return SegmentChange{}; });
  }
  const std::string whole = read_file(path_);
  const size_t in_table = whole.find(id);
  const size_t in_ids = whole.find(id, in_table + 1);
  ASSERT_NE(in_ids, std::string::npos);
  for (const size_t at : {in_table, in_ids}) {
    change_byte(at);
    DocumentStore store(path_, DocumentStore::Access::kWrite);
    const auto expect_told = [&](const auto& call) {
      try {
        call();
        ADD_FAILURE() << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        EXPECT_THAT(error.what(),
                    HasSubstr(fmt::format("{} is damaged: the checksum of its page {} is another",
                                          path_, at / 4096 + 1)));
      }
    };
    expect_told([&] { store.find_id(id); });
    expect_told(
        [&] { store.change({id}, {}, [](const auto&, const auto&) { return SegmentChange{}; }); });
    expect_told([&] {
      store.change({}, {{id, "new"}}, [](const auto&, const auto&) { return SegmentChange{}; });
    });
    expect_told([&] { store.check(); });
    std::ofstream(path_, std::ios::binary) << whole;
  }
  EXPECT_NO_THROW(DocumentStore(path_, DocumentStore::Access::kRead).check());
}

}  // namespace
}  // namespace simile
