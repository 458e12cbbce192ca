// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/checked_pages.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "simile/core/hash.h"

namespace simile::detail {
namespace {

constexpr const char* kName = "simile-checked";
constexpr int kTellDamagedPage =
    0x53494d4c;  // an operation of xFileControl; SQLite's are below 100
constexpr int kLeastPage = 512, kLargestPage = 65536;
constexpr int kHeaderBytes = 100;
constexpr int kSubpageRead = 0x8000;  // SQLITE_IOCAP_SUBPAGE_READ, which older headers lack

// What stands where in the header of a database (sqlite.org/fileformat.html).
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr int kPageSizeAt = 16, kReservedAt = 20, kUserVersionAt = 60;

// What SQLite has of an open database; the system's file stands right behind it.
struct CheckedFile {
  sqlite3_file base;
  char* page;  // room for one
  int page_size;
  bool is_checked;
  int64_t damaged;
};

static_assert(sizeof(CheckedFile) % 8 == 0, "what stands behind it is aligned as SQLite aligns");

CheckedFile& checked(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(&checked(file) + 1);
}
sqlite3_file* real(CheckedFile& file) { return real(&file.base); }

bool is_page_size(int64_t bytes) {
  return bytes >= kLeastPage && bytes <= kLargestPage && (bytes & (bytes - 1)) == 0;
}

unsigned byte_at(const char* header, int at) { return static_cast<unsigned char>(header[at]); }

// Learns of a header what pages there are. That they are checked is never taken back.
void learn(CheckedFile& file, const char* header) {
  if (std::string_view(header, kMagic.size()) != kMagic) return;
  const unsigned size = byte_at(header, kPageSizeAt) << 8 | byte_at(header, kPageSizeAt + 1);
  const int bytes = size == 1 ? kLargestPage : static_cast<int>(size);
  if (is_page_size(bytes)) file.page_size = bytes;
  unsigned version = 0;
  for (int i = 0; i < 4; ++i) version = version << 8 | byte_at(header, kUserVersionAt + i);
  file.is_checked |= byte_at(header, kReservedAt) == kReservedBytes || version == kCheckedVersion;
}

void checksum(const char* page, int bytes, int64_t number, char* out) {
  const uint64_t sum = hash64({page, static_cast<size_t>(bytes - kReservedBytes)}) +
                       0x9E3779B97F4A7C15u * static_cast<uint64_t>(number);
  for (int i = 0; i < kReservedBytes; ++i) out[i] = static_cast<char>(sum >> 8 * i & 0xFF);
}

bool is_whole(const char* page, int bytes, int64_t number) {
  char expected[kReservedBytes];
  checksum(page, bytes, number, expected);
  if (std::memcmp(page + bytes - kReservedBytes, expected, kReservedBytes) == 0) return true;
  return std::all_of(page, page + bytes, [](char c) { return c == 0; });
}

int verify(CheckedFile& file, const char* page, int bytes, int64_t offset) {
  const int64_t number = offset / bytes + 1;
  if (is_whole(page, bytes, number)) return SQLITE_OK;
  file.damaged = number;
  return SQLITE_IOERR_DATA;
}

// Whether all of one page is read.
bool is_whole_page(const CheckedFile& file, int bytes, int64_t offset) {
  const bool is_size = file.page_size > 0 ? bytes == file.page_size : is_page_size(bytes);
  return is_size && offset % bytes == 0;
}

// The pages that the bytes stand in.
int read_pages_of(CheckedFile& file, char* out, int bytes, int64_t offset) {
  const int size = file.page_size;
  int result = SQLITE_OK;
  for (const int64_t end = offset + bytes; offset < end;) {
    const int64_t start = offset - offset % size;
    const int code = real(file)->pMethods->xRead(real(file), file.page, size, start);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    if (verify(file, file.page, size, start) != SQLITE_OK) return SQLITE_IOERR_DATA;
    if (code != SQLITE_OK) result = code;
    const auto piece = static_cast<int>(std::min(end, start + size) - offset);
    std::memcpy(out, file.page + (offset - start), static_cast<size_t>(piece));
    out += piece;
    offset += piece;
  }
  return result;
}

int read(sqlite3_file* opened, void* out, int bytes, sqlite3_int64 offset) {
  CheckedFile& file = checked(opened);
  auto* const buffer = static_cast<char*>(out);
  const bool is_page = is_whole_page(file, bytes, offset);
  const bool is_header = offset == 0 && bytes <= kHeaderBytes;
  if (!is_page && !is_header && file.is_checked && file.page_size > 0) {
    return read_pages_of(file, buffer, bytes, offset);
  }
  const int code = real(opened)->pMethods->xRead(real(opened), out, bytes, offset);
  if (!is_page || (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)) return code;
  if (offset == 0) learn(file, buffer);
  if (!file.is_checked) return code;
  const int verified = verify(file, buffer, bytes, offset);
  return verified == SQLITE_OK ? code : verified;
}

int write(sqlite3_file* opened, const void* bytes, int count, sqlite3_int64 offset) {
  CheckedFile& file = checked(opened);
  const auto* const page = static_cast<const char*>(bytes);
  const bool is_page = is_page_size(count) && offset % count == 0;
  if (is_page && offset == 0) learn(file, page);
  const auto& methods = *real(opened)->pMethods;
  if (!file.is_checked) return methods.xWrite(real(opened), bytes, count, offset);
  if (!is_page) return SQLITE_IOERR_WRITE;  // SQLite writes whole pages
  std::memcpy(file.page, page, static_cast<size_t>(count));
  checksum(page, count, offset / count + 1, file.page + count - kReservedBytes);
  return methods.xWrite(real(opened), file.page, count, offset);
}

int close(sqlite3_file* file) {
  sqlite3_free(checked(file).page);
  return real(file)->pMethods->xClose(real(file));
}

int control(sqlite3_file* file, int operation, void* argument) {
  if (operation != kTellDamagedPage) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
  }
  *static_cast<int64_t*>(argument) = checked(file).damaged;
  return SQLITE_OK;
}

// Of version 1: without the methods of shared memory and of mapping.
const sqlite3_io_methods kMethods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xClose = close;
  methods.xRead = read;
  methods.xWrite = write;
  methods.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
    return real(file)->pMethods->xTruncate(real(file), size);
  };
  methods.xSync = [](sqlite3_file* file, int flags) {
    return real(file)->pMethods->xSync(real(file), flags);
  };
  methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
  };
  methods.xLock = [](sqlite3_file* file, int lock) {
    return real(file)->pMethods->xLock(real(file), lock);
  };
  methods.xUnlock = [](sqlite3_file* file, int lock) {
    return real(file)->pMethods->xUnlock(real(file), lock);
  };
  methods.xCheckReservedLock = [](sqlite3_file* file, int* is_held) {
    return real(file)->pMethods->xCheckReservedLock(real(file), is_held);
  };
  methods.xFileControl = control;
  methods.xSectorSize = [](sqlite3_file* file) {
    return real(file)->pMethods->xSectorSize(real(file));
  };
  methods.xDeviceCharacteristics = [](sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file)) & ~kSubpageRead;
  };
  return methods;
}();

sqlite3_vfs& system_vfs() {
  static sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  return *vfs;
}

// What the header says before anybody holds a lock: of a whole database it never changes.
void learn_at_opening(CheckedFile& file) {
  char header[kHeaderBytes];
  const int code = real(file)->pMethods->xRead(real(file), header, kHeaderBytes, 0);
  if (code == SQLITE_OK) learn(file, header);
}

int open(sqlite3_vfs*, const char* name, sqlite3_file* opened, int flags, int* out_flags) {
  sqlite3_vfs& system = system_vfs();
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return system.xOpen(&system, name, opened, flags, out_flags);
  }
  CheckedFile& file = checked(opened);
  file = CheckedFile{};
  std::memset(real(file), 0, static_cast<size_t>(system.szOsFile));
  file.page = static_cast<char*>(sqlite3_malloc(kLargestPage));
  if (file.page == nullptr) return SQLITE_NOMEM;
  const int code = system.xOpen(&system, name, real(file), flags, out_flags);
  if (code == SQLITE_OK) {
    file.base.pMethods = &kMethods;
    learn_at_opening(file);
    return SQLITE_OK;
  }
  if (real(file)->pMethods != nullptr) real(file)->pMethods->xClose(real(file));
  sqlite3_free(file.page);
  return code;
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs{};
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + system_vfs().szOsFile;
  vfs.mxPathname = system_vfs().mxPathname;
  vfs.zName = kName;
  vfs.xOpen = open;
  vfs.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
    return system_vfs().xDelete(&system_vfs(), name, sync);
  };
  vfs.xAccess = [](sqlite3_vfs*, const char* name, int flags, int* out) {
    return system_vfs().xAccess(&system_vfs(), name, flags, out);
  };
  vfs.xFullPathname = [](sqlite3_vfs*, const char* name, int bytes, char* out) {
    return system_vfs().xFullPathname(&system_vfs(), name, bytes, out);
  };
  vfs.xRandomness = [](sqlite3_vfs*, int bytes, char* out) {
    return system_vfs().xRandomness(&system_vfs(), bytes, out);
  };
  vfs.xSleep = [](sqlite3_vfs*, int microseconds) {
    return system_vfs().xSleep(&system_vfs(), microseconds);
  };
  vfs.xCurrentTime = [](sqlite3_vfs*, double* time) {
    return system_vfs().xCurrentTime(&system_vfs(), time);
  };
  vfs.xGetLastError = [](sqlite3_vfs*, int bytes, char* out) {
    return system_vfs().xGetLastError(&system_vfs(), bytes, out);
  };
  return vfs;  // without methods for extensions, which are never loaded
}

}  // namespace

const char* checked_pages() {
  static sqlite3_vfs vfs = make_vfs();
  static const int code = sqlite3_vfs_register(&vfs, 0);
  return code == SQLITE_OK ? kName : nullptr;
}

int64_t damaged_page(sqlite3* connection) {
  int64_t number = 0;
  const int code = sqlite3_file_control(connection, "main", kTellDamagedPage, &number);
  return code == SQLITE_OK ? number : 0;
}

PageFault find_page_fault(sqlite3* connection, int64_t pages, int64_t page_size) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods != &kMethods || !checked(file).is_checked) return {};
  for (int64_t i = 0; i < pages; ++i) {
    const int code = read(file, checked(file).page, static_cast<int>(page_size), i * page_size);
    if (code == SQLITE_OK) continue;
    if (code == SQLITE_IOERR_DATA || code == SQLITE_IOERR_SHORT_READ) return {i + 1};
    PageFault fault{i + 1, code};
    real(file)->pMethods->xFileControl(real(file), SQLITE_FCNTL_LAST_ERRNO, &fault.system_error);
    return fault;
  }
  return {};
}

}  // namespace simile::detail
