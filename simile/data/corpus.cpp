// SPDX-License-Identifier: Apache-2.0
#include "simile/data/corpus.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace simile {
namespace {

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

std::vector<Column> columns_to_read(bool with_titles) {
  std::vector<Column> columns = {{"id", {"id", "_id"}}, {"text", {"text"}}};
  if (with_titles) columns.push_back({"title", {"title"}, false});
  return columns;
}

}  // namespace

CorpusReader::CorpusReader(const std::string& path, Titles titles)
    : reader_(path, columns_to_read(titles == Titles::kPrepend)),
      with_titles_(titles == Titles::kPrepend) {}

bool CorpusReader::next(CorpusText& text) {
  Row row;
  if (!reader_.next(row)) return false;
  if (row.fields[0].empty()) reader_.fail(row, 0, "expected an id, found nothing");
  const Place place{static_cast<int64_t>(places_.size()), row.line};
  const auto added = places_.emplace(row.fields[0], place);
  if (!added.second) {
    reader_.fail(row, 0,
                 fmt::format("the id '{}' already stands in line {}", row.fields[0],
                             added.first->second.line));
  }
  text.id = std::move(row.fields[0]);
  const bool titled = with_titles_ && !row.fields[2].empty();
  text.text = titled ? trim(row.fields[2] + " " + row.fields[1]) : std::move(row.fields[1]);
  return true;
}

int64_t CorpusReader::find(const std::string& id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? -1 : found->second.position;
}

}  // namespace simile
