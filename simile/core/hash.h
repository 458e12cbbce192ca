// SPDX-License-Identifier: Apache-2.0
// Hashes of bytes and files, and the checksums of a folder's files.
//
// The hash tells contents apart and finds damage: XXH3 (xxHash, Collet), with 128 bits unless the
// name says otherwise, the same on every machine. It does not protect against somebody who makes two
// contents alike on purpose.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Of all bytes added so far, however they were cut.
class Hash128 {
 public:
  Hash128();
  ~Hash128();
  void add(std::string_view bytes);
  std::string digits() const;  // 32 hexadecimal ones

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digits of `bytes` alone.
std::string hash_bytes(std::string_view bytes);

// The same as a number, for keys of tables: of a hundred million different contents no two share it
// but by a chance of 1 in 10^22.
struct HashKey {
  uint64_t low = 0, high = 0;

  bool operator==(const HashKey& other) const { return low == other.low && high == other.high; }
};
HashKey hash_key(std::string_view bytes);

// Of 64 bits, where a hit by chance does no harm.
uint64_t hash64(std::string_view bytes);

// Those of a file, which is read in pieces. Errors: see MappedFile.
std::string hash_file(const std::string& path);

// checksums.json: what the files of a folder were when Simile wrote them, so that a damaged one is
// refused instead of read (docs/decisions/0015-checksums.md). Other programs ignore it.
//
//   {"format": 1, "hash": "xxh3-128",
//    "files": {"config.json": {"bytes": 494, "hash": "32 digits as hash_file() gives them"}, ...}}
//
// Names are relative to the folder, with '/'. Not named are what people write or edit (README.md
// and other .md, LICENSE, NOTICE) and hidden files; of a folder below that has a checksums.json of
// its own, that file alone is. Files that are not named are not verified, and a folder without
// checksums.json, as other programs write them, is as it is.
//
// Errors (ErrorKind::kInput) name the file and what to do: a file that is missing or another, or a
// checksums.json that cannot be read.

inline constexpr const char* kChecksumFile = "checksums.json";

// Writes those of all files in the folder. Errors: kIo when it cannot be written.
void write_checksums(const std::string& folder);

// Verifies the files named there, but for those of which `skip` is true. Returns how many are
// named; 0 without checksums.json.
int64_t verify_checksums(const std::string& folder,
                         const std::function<bool(const std::string& name)>& skip = nullptr);

// The same with those of the folders below that have a checksums.json of their own.
int64_t verify_all_checksums(const std::string& folder);

// The folders below that have a checksums.json of their own, each before the one that it lies in.
std::vector<std::string> folders_with_checksums(const std::string& folder);

// Verifies one file by the checksums.json of its folder or of up to three above it, whichever names
// it; does nothing where none does.
void verify_checksum(const std::string& path);

}  // namespace simile
