// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simile {

inline constexpr const char* kChecksumFile = "checksums.json";

// Of all files there are. Errors: kIo when it cannot be written.
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
