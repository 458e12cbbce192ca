// SPDX-License-Identifier: Apache-2.0
// Hashes of bytes and files, and the checksums of a folder's files.
//
// The hash tells contents apart and finds damage: XXH3 (xxHash, Collet), with 128 bits unless the
// name says otherwise, the same on every machine. It is no protection against forgery.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Hash of all bytes added so far; the sizes of the pieces do not matter.
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

// The digits for `bytes` alone.
std::string hash_bytes(std::string_view bytes);

// The same hash as a number, for keys of tables. The chance that any two of a hundred million
// different contents share it is about 1 in 10^22.
struct HashKey {
  uint64_t low = 0, high = 0;

  bool operator==(const HashKey& other) const { return low == other.low && high == other.high; }
};
HashKey hash_key(std::string_view bytes);

// A hash of 64 bits, for uses where an accidental collision does no harm.
uint64_t hash64(std::string_view bytes);

// The digits for a file, which is read in pieces. Errors: see MappedFile.
std::string hash_file(const std::string& path);

// checksums.json: sizes and hashes of a folder's files when Simile wrote them, so that a damaged
// file is rejected instead of read (docs/decisions/0015-checksums.md). Other programs ignore it.
//
//   {"format": 1, "hash": "xxh3-128",
//    "files": {"config.json": {"bytes": 494, "hash": "32 digits as hash_file() gives them"}, ...}}
//
// Names are relative to the folder, with '/'. Files that people edit (README.md and other .md,
// LICENSE, NOTICE) and hidden files are not listed. From a subfolder with a checksums.json of its
// own, only that file is listed. Files that are not listed are not verified, nor is a folder
// without checksums.json, as other programs write it.
//
// Errors (ErrorKind::kInput) name the file and what to do: a file that is missing or another, or a
// checksums.json that cannot be read.

inline constexpr const char* kChecksumFile = "checksums.json";

// Writes the checksums of all files in the folder. Errors: kIo when it cannot be written.
void write_checksums(const std::string& folder);

// Verifies the listed files, except those for which `skip` returns true. Returns how many are
// named; 0 without checksums.json.
int64_t verify_checksums(const std::string& folder,
                         const std::function<bool(const std::string& name)>& skip = nullptr);

// The same, including the subfolders that have a checksums.json of their own.
int64_t verify_all_checksums(const std::string& folder);

// The folders below that have a checksums.json of their own, each before the one that it lies in.
std::vector<std::string> folders_with_checksums(const std::string& folder);

// Verifies one file by the checksums.json of its folder or of up to three above it, whichever names
// it; does nothing where none does.
void verify_checksum(const std::string& path);

}  // namespace simile
