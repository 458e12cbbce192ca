// SPDX-License-Identifier: Apache-2.0
// What lies where in a zip archive whose entries are stored without compression, as torch.save
// writes them. Zip64 and data descriptors are understood; sizes come from the central directory.
//
// Nothing is read beyond the archive's bytes. Check sums are not compared: torch.load() does not do
// so either, torch may be told to write none, and it would mean reading gigabytes twice.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace simile::detail {

struct ZipEntry {
  size_t offset = 0;  // of its first byte, from the start of the archive
  size_t size = 0;    // bytes
};

// Entries by name. Errors (ErrorKind::kInput) name the file `path`, and the entry: no zip archive,
// truncated, several disks, an entry that is compressed, encrypted, there twice or beyond the end.
std::map<std::string, ZipEntry> read_zip_directory(const std::string& path, std::string_view bytes);

}  // namespace simile::detail
