// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/metadata_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "simile/core/check.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/segment_set.h"

namespace simile::detail {

Json read_metadata(const std::string& metadata) {
  if (metadata.empty()) return Json::object();
  Json object = parse_json(metadata, "metadata");
  SIMILE_CHECK(object.is_object(), ErrorKind::kInput, "metadata: expected a JSON object, found {}",
               describe_json(object));
  for (const auto& [name, value] : object.items()) {
    SIMILE_CHECK(value.is_string() || value.is_number() || value.is_boolean(), ErrorKind::kInput,
                 "metadata: expected a text, a number, true or false for '{}', found {}", name,
                 describe_json(value));
  }
  return object;
}

void MetadataColumn::set_from(int64_t row, const std::string& name, const Json& metadata) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) return;
  const auto [place, is_new] =
      places_.emplace(dump_json(*found, -1), static_cast<int32_t>(values_.size()));
  if (is_new) {
    values_.push_back(comparable(*found));
    text_bytes_ += static_cast<int64_t>(place->first.size());
  }
  values_of_rows_[static_cast<size_t>(row)] = place->second;
}

std::vector<char> MetadataColumn::select(const FilterNode& test) const {
  std::vector<char> holds(values_.size());
  std::transform(values_.begin(), values_.end(), holds.begin(),
                 [&](const Json& value) { return static_cast<char>(test.holds(value)); });
  std::vector<char> selected(values_of_rows_.size());
  std::transform(
      values_of_rows_.begin(), values_of_rows_.end(), selected.begin(),
      [&](int32_t value) { return value == kNone ? char{0} : holds[static_cast<size_t>(value)]; });
  return selected;
}

int64_t MetadataColumn::bytes() const {
  constexpr int64_t kOfValue = 128;  // in the list and in the table, beside the text in both
  return static_cast<int64_t>(values_of_rows_.size() * sizeof(int32_t)) +
         static_cast<int64_t>(values_.size()) * kOfValue + 2 * text_bytes_;
}

std::vector<char> select_rows(const FilterNode& filter, const MetadataColumns& columns,
                              int64_t rows) {
  if (filter.kind == FilterNode::Kind::kTest) return columns.at(filter.column)->select(filter);
  const bool is_every = filter.kind == FilterNode::Kind::kEvery;
  std::vector<char> selected(static_cast<size_t>(rows), is_every ? char{1} : char{0});
  for (const FilterNode& part : filter.parts) {
    const std::vector<char> of_part = select_rows(part, columns, rows);
    for (size_t row = 0; row < selected.size(); ++row) {
      selected[row] =
          static_cast<char>(is_every ? selected[row] & of_part[row] : selected[row] | of_part[row]);
    }
  }
  if (filter.kind == FilterNode::Kind::kNot) {
    for (char& one : selected) one = static_cast<char>(one ^ 1);
  }
  return selected;
}

namespace {

constexpr int64_t kCacheBytes = int64_t{256} << 20;
constexpr size_t kMostColumns = 32;  // of a segment that are read before they are asked for

}  // namespace

MetadataCache::MetadataCache(DocumentStore documents, std::string path)
    : documents_(std::move(documents)), path_(std::move(path)) {}

std::vector<char> MetadataCache::select(const SegmentSet& segments, const MetadataFilter& filter) {
  const std::vector<std::string> names = filter.columns();
  forget_all_but(segments);
  std::vector<char> selected;
  for (const LiveSegment& live : segments.segments()) {
    const std::vector<char> rows =
        select_rows(*filter.root(), columns_of(live, names), live.segment().size());
    for (int64_t i = 0; i < live.size(); ++i) {
      selected.push_back(rows[static_cast<size_t>(live.row(i))]);
    }
  }
  return selected;
}

bool MetadataCache::selects_any(const SegmentSet& segments, const MetadataFilter& filter) {
  const std::vector<std::string> names = filter.columns();
  forget_all_but(segments);
  for (const LiveSegment& live : segments.segments()) {
    if (filter.matches_all()) {
      if (live.size() > 0) return true;
      continue;
    }
    const std::vector<char> rows =
        select_rows(*filter.root(), columns_of(live, names), live.segment().size());
    for (int64_t i = 0; i < live.size(); ++i) {
      if (rows[static_cast<size_t>(live.row(i))] != 0) return true;
    }
  }
  return false;
}

void MetadataCache::forget_all_but(const SegmentSet& segments) {
  std::set<int64_t> numbers;
  for (const LiveSegment& live : segments.segments()) numbers.insert(live.segment().row().number);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = segments_.begin(); at != segments_.end();) {
    if (numbers.count(at->first) > 0) {
      ++at;
      continue;
    }
    for (const auto& [name, known] : at->second) bytes_ -= known.column->bytes();
    whole_.erase(at->first);
    at = segments_.erase(at);
  }
}

MetadataColumns MetadataCache::columns_of(const LiveSegment& live,
                                          const std::vector<std::string>& names) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t number = live.segment().row().number;
  const KnownColumns& known = segments_[number];
  MetadataColumns columns;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto found = known.find(name);
    // One read later lacks what was removed in between.
    const bool is_usable = found != known.end() && found->second.live >= live.size();
    if (is_usable) {
      columns[name] = found->second.column;
    } else {
      missing.push_back(name);
    }
  }
  if (missing.empty()) return columns;
  KnownColumns more;
  const auto whole = whole_.find(number);
  if (whole != whole_.end() && whole->second >= live.size()) {  // it has no such columns
    for (const std::string& name : missing) {
      more[name] = {live.size(), std::make_shared<MetadataColumn>(live.segment().row().rows)};
    }
  } else {
    read(live, missing, more);
  }
  for (const auto& [name, each] : more) columns[name] = each.column;
  keep(number, more);
  return columns;
}

void MetadataCache::keep(int64_t number, const KnownColumns& more) {
  int64_t bytes = 0;
  for (const auto& [name, each] : more) bytes += each.column->bytes();
  if (bytes_ + bytes > kCacheBytes) {
    segments_.clear();
    whole_.clear();
    bytes_ = 0;
  }
  for (const auto& [name, each] : more) {
    Known& place = segments_[number][name];
    if (place.column != nullptr) bytes_ -= place.column->bytes();
    place = each;
  }
  bytes_ += bytes;
}

void MetadataCache::read_all(const SegmentSet& segments, const std::atomic<bool>& ends) {
  forget_all_but(segments);
  for (const LiveSegment& live : segments.segments()) {
    if (ends) return;
    const int64_t number = live.segment().row().number;
    const std::lock_guard<std::mutex> lock(mutex_);
    KnownColumns columns;
    if (whole_.count(number) > 0 || !read_all_of(live, ends, columns)) continue;
    segments_[number];  // what forget_all_but() finds, also without any column
    keep(number, columns);
    whole_[number] = live.size();
  }
}

bool MetadataCache::read_all_of(const LiveSegment& live, const std::atomic<bool>& ends,
                                KnownColumns& known) const {
  const int64_t rows = live.segment().row().rows;
  std::map<std::string, std::shared_ptr<MetadataColumn>> columns;
  const bool finished = for_each_metadata(live, [&](int64_t row, const Json& metadata) {
    for (const auto& [name, value] : metadata.items()) {
      std::shared_ptr<MetadataColumn>& column = columns[name];
      if (column == nullptr) column = std::make_shared<MetadataColumn>(rows);
      column->set_from(row, name, metadata);
    }
    return !ends && columns.size() <= kMostColumns;
  });
  if (!finished) return false;
  int64_t bytes = bytes_;
  for (const auto& [name, column] : columns) {
    known[name] = {live.size(), column};
    bytes += column->bytes();
  }
  return bytes <= kCacheBytes / 2;
}

void MetadataCache::read(const LiveSegment& live, const std::vector<std::string>& names,
                         KnownColumns& known) const {
  std::vector<std::shared_ptr<MetadataColumn>> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back(std::make_shared<MetadataColumn>(live.segment().row().rows));
  }
  for_each_metadata(live, [&](int64_t row, const Json& metadata) {
    for (size_t i = 0; i < names.size(); ++i) columns[i]->set_from(row, names[i], metadata);
    return true;
  });
  for (size_t i = 0; i < names.size(); ++i) known[names[i]] = {live.size(), columns[i]};
}

bool MetadataCache::for_each_metadata(const LiveSegment& live, const TakeMetadata& take) const {
  bool goes_on = true;
  Json metadata;
  const std::optional<int64_t> unlike =
      for_each_live(documents_, live, [&](int64_t i, const Document& document, int64_t passage) {
        if (!goes_on) return;
        if (passage == 0 || i == 0) metadata = read_metadata(document.metadata);
        goes_on = take(live.row(i), metadata);
      });
  if (unlike) {
    fail_damaged(path_, fmt::format("document {} is not the one of its vector", *unlike));
  }
  return goes_on;
}

}  // namespace simile::detail
