// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/graph_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "simile/core/detail/file_header.h"
#include "simile/core/error.h"

namespace simile::detail {
namespace {

constexpr uint32_t kMostLevels = 64;

struct GraphHeader {
  char magic[16] = "simile graph\0\0\0";
  uint32_t version = 1;
  uint32_t levels = 0;
  int64_t rows = 0;
  int64_t entry = 0;
  char owner[kChecksumDigits] = {};
  char contents[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
  char zeros[56] = {};
};
static_assert(sizeof(GraphHeader) == 192, "the header has no gaps");

}  // namespace

GraphWriter::GraphWriter(const std::string& path, const std::string& owner, int64_t rows,
                         int64_t entry, const std::vector<int64_t>& level_sizes)
    : owner_(owner),
      rows_(rows),
      entry_(entry),
      levels_(static_cast<uint32_t>(level_sizes.size())),
      file_(path) {
  file_.write(std::string(sizeof(GraphHeader), '\0'));
  const std::string_view bytes = bytes_of(level_sizes.data(), level_sizes.size());
  file_.write(bytes);
  hash_.add(bytes);
}

void GraphWriter::add(const uint32_t* values, int64_t count) {
  const std::string_view bytes = bytes_of(values, static_cast<size_t>(count));
  file_.write(bytes);
  hash_.add(bytes);
}

std::string GraphWriter::commit() {
  GraphHeader header;
  header.levels = levels_;
  header.rows = rows_;
  header.entry = entry_;
  set_field(header.owner, owner_);
  set_field(header.contents, hash_.digits());
  set_field(header.checksum, header_checksum(header));
  file_.rewrite_start(bytes_of(&header, 1));
  file_.commit();
  return std::string(field_text(header.checksum));
}

GraphFile::GraphFile(const std::string& path, const std::string& owner, int64_t rows,
                     const std::string& checksum)
    : path_(path), file_(path), rows_(rows) {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<GraphHeader>(bytes, path);
  check_file(header.version == GraphHeader().version && field_text(header.checksum) == checksum &&
                 field_text(header.owner) == owner && header.rows == rows && header.entry >= 0 &&
                 header.entry < rows && header.levels <= kMostLevels,
             path, "it is not the one that documents.sqlite names");
  entry_ = static_cast<uint32_t>(header.entry);
}

void GraphFile::read() {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<GraphHeader>(bytes, path_);
  check_file(field_text(header.contents) == hash_bytes(bytes.substr(sizeof header)), path_,
             "checksum mismatch in its links");
  std::vector<int64_t> sizes(header.levels);
  size_t size = sizeof header + sizes.size() * sizeof(int64_t);
  check_file(bytes.size() >= size, path_, "it is too short");
  if (!sizes.empty()) {
    std::memcpy(sizes.data(), bytes.data() + sizeof header, sizes.size() * sizeof(int64_t));
  }
  base_ = reinterpret_cast<const uint32_t*>(bytes.data() + size);
  size += static_cast<size_t>(rows_ * kBaseLinks) * sizeof(uint32_t);
  levels_.clear();
  for (const int64_t count : sizes) {
    check_file(count >= 1 && count <= rows_, path_, "a level has more vectors than there are");
    const auto* const nodes = reinterpret_cast<const uint32_t*>(bytes.data() + size);
    levels_.push_back({count, nodes, nodes + count});
    size += static_cast<size_t>(count * (1 + kUpperLinks)) * sizeof(uint32_t);
  }
  check_file(bytes.size() == size, path_, "it has the wrong size");
  check_links(base_, rows_ * kBaseLinks, nullptr);
  for (const Level& level : levels_) {
    check_file(std::is_sorted(level.nodes, level.nodes + level.size), path_,
               "a level is not in order");
    check_links(level.nodes, level.size, nullptr);
    check_links(level.links, level.size * kUpperLinks, &level);
    check_file(std::binary_search(level.nodes, level.nodes + level.size, entry_), path_,
               "its start is not on all levels");
  }
  file_.expect_jumps(true);
}

void GraphFile::check_links(const uint32_t* links, int64_t count, const Level* level) const {
  for (int64_t i = 0; i < count; ++i) {
    if (links[i] == kNoNode) continue;
    check_file(links[i] < rows_, path_, "a link leads nowhere");
    check_file(
        level == nullptr || std::binary_search(level->nodes, level->nodes + level->size, links[i]),
        path_, "a link leads to another level");
  }
}

const uint32_t* GraphFile::links(uint32_t node, int64_t level) const {
  const Level& of = levels_[static_cast<size_t>(level - 1)];
  const uint32_t* const place = std::lower_bound(of.nodes, of.nodes + of.size, node);
  return of.links + (place - of.nodes) * kUpperLinks;
}

}  // namespace simile::detail
