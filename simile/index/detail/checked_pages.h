// SPDX-License-Identifier: Apache-2.0
// Checksums of the pages of an SQLite database: SQLite itself believes what it reads, so that a
// changed byte in a table of ids hides a document, or lets it be added twice.
//
// A VFS (sqlite.org/vfs.html) around the system's, to be named when a database is opened. Of a
// database whose pages have kReservedBytes reserved bytes at their end, as SQLite's file format
// provides for, each page that is written ends with
//
//   hash64(its other bytes) + 0x9E3779B97F4A7C15 x its number, little-endian
//
// and each that is read is held against it, be it read in part: a page that is not what was written
// here fails with SQLITE_IOERR_DATA. Only the first 100 bytes may be read alone, unverified: SQLite
// does so before it holds a lock, and believes nothing of them. A page of zeros was never written.
// Databases without reserved bytes are read and written as they are. So that the byte of the header
// that says so is not believed either, `PRAGMA user_version` is kCheckedVersion where they have
// some: one of both is enough.
//
// There are neither write-ahead logs nor mapped files with this VFS, and the size of a database's
// pages is not to be changed. Other programs read such a database as ever; pages that one of them
// writes are damaged here. Threads: as the system's.
#pragma once

#include <cstdint>

struct sqlite3;

namespace simile::detail {

constexpr int kReservedBytes = 8;   // of a page
constexpr int kCheckedVersion = 1;  // user_version of a database that has them

// The name of the VFS, which the first call registers.
const char* checked_pages();

// The number of the last page that was found damaged by this connection; 0: none was.
int64_t damaged_page(sqlite3* connection);

// A page that is damaged or missing, or that could not be read.
struct PageFault {
  int64_t number = 0;    // from 1; 0: there is none
  int code = 0;          // of SQLite, where it could not be read; 0: it is damaged or missing
  int system_error = 0;  // errno of that, where the system told one
};

// Reads and verifies every page, also those that hold nothing by now, up to the first that is not
// whole. To be called within a transaction.
PageFault find_page_fault(sqlite3* connection, int64_t pages, int64_t page_size);

}  // namespace simile::detail
