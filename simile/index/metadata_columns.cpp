// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/metadata_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/data/detail/filter_node.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/segment_set.h"

namespace simile::detail {

std::string patch_metadata(const std::string& id, const std::string& metadata,
                           const std::string& patch) {
  using Ordered = nlohmann::ordered_json;
  Ordered object = metadata.empty() ? Ordered::object() : Ordered::parse(metadata);
  SIMILE_CHECK(parse_json(patch, "metadata").is_object(), ErrorKind::kInput,
               "metadata: expected a JSON object for document \"{}\"", id);
  const Ordered members = Ordered::parse(patch);
  for (const auto& [name, value] : members.items()) {
    if (value.is_null()) {
      object.erase(name);
    } else {
      object[name] = value;
    }
  }
  if (object.empty()) return "";
  std::string made = object.dump(-1, ' ', false, Ordered::error_handler_t::replace);
  read_metadata(made);
  SIMILE_CHECK(made.size() <= kMaximumMetadataBytes, ErrorKind::kInput,
               "the metadata of document \"{}\" would be {} bytes, expected at most {}; remove or "
               "shorten values",
               id, made.size(), kMaximumMetadataBytes);
  return made;
}

// Each distinct value is stored once.
class MetadataColumn {
 public:
  explicit MetadataColumn(int64_t rows) : values_of_rows_(static_cast<size_t>(rows), kNone) {}

  void set(int64_t row, const Json& value) {
    const auto [place, is_new] =
        places_.emplace(dump_json(value, -1), static_cast<int32_t>(values_.size()));
    if (is_new) {
      values_.push_back(comparable(value));
      text_bytes_ += static_cast<int64_t>(place->first.size());
    }
    values_of_rows_[static_cast<size_t>(row)] = place->second;
  }

  // 1 for each row that has a value for which the test holds. An empty list has none.
  std::vector<char> select(const FilterNode& test) const {
    std::vector<char> holds = {0};  // from none on
    for (const Json& value : values_) {
      holds.push_back(static_cast<char>(!value.empty() && test.holds(value)));
    }
    std::vector<char> selected;
    for (const int32_t value : values_of_rows_) {
      selected.push_back(holds[static_cast<size_t>(value + 1)]);
    }
    return selected;
  }

  // Whether one of the rows that are there has a value, or an empty list.
  bool has_any(const LiveSegment& live) const {
    for (int64_t i = 0; i < live.size(); ++i) {
      if (values_of_rows_[static_cast<size_t>(live.row(i))] != kNone) return true;
    }
    return false;
  }

  // Adds the chosen rows (one entry per row) to the counts of their values (as JSON, "" for none).
  void count(const std::vector<char>& chosen, std::map<std::string, int64_t>& counts) const {
    std::vector<int64_t> by_value(values_.size() + 1);  // from none on
    for (size_t row = 0; row < chosen.size(); ++row) {
      by_value[static_cast<size_t>(values_of_rows_[row] + 1)] += chosen[row];
    }
    for (size_t i = 0; i < by_value.size(); ++i) {
      if (by_value[i] > 0) counts[i == 0 ? "" : dump_json(values_[i - 1], -1)] += by_value[i];
    }
  }

  int64_t bytes() const {
    constexpr int64_t kOfValue = 128;  // in the list and in the table, beside the text in both
    return static_cast<int64_t>(values_of_rows_.size() * sizeof(int32_t)) +
           static_cast<int64_t>(values_.size()) * kOfValue + 2 * text_bytes_;
  }

 private:
  static constexpr int32_t kNone = -1;

  std::vector<int32_t> values_of_rows_;
  std::vector<Json> values_;
  std::unordered_map<std::string, int32_t> places_;  // of values, as JSON
  int64_t text_bytes_ = 0;
};

namespace {

// 1 for each of the rows that matches. `columns` has those of the filter.
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

constexpr int64_t kCacheBytes = int64_t{256} << 20;
constexpr size_t kMostColumns = 32;  // of a segment that are read before they are asked for

FacetCounts make_facet(const Facet& facet, const std::map<std::string, int64_t>& counts,
                       int64_t most_values) {
  FacetCounts made;
  made.column = facet.column;
  for (size_t i = 0; !facet.bounds.empty() && i <= facet.bounds.size(); ++i) {
    FacetCounts::Value& range = made.values.emplace_back();
    if (i > 0) range.from = facet.bounds[i - 1];
    if (i < facet.bounds.size()) range.to = facet.bounds[i];
  }
  std::map<std::string, int64_t> by_value;
  for (const auto& [written, count] : counts) {
    Json values = written.empty() ? Json::array() : Json::parse(written);
    if (!values.is_array()) values = Json::array({std::move(values)});
    std::set<std::string> distinct;
    std::set<size_t> ranges;
    for (const Json& value : values) {
      if (facet.bounds.empty()) {
        distinct.insert(dump_json(value, -1));
      } else if (value.is_number()) {
        const auto above =
            std::upper_bound(facet.bounds.begin(), facet.bounds.end(), value.get<double>());
        ranges.insert(static_cast<size_t>(above - facet.bounds.begin()));
      }
    }
    for (const size_t range : ranges) made.values[range].count += count;
    for (const std::string& value : distinct) by_value[value] += count;
    if (ranges.empty() && distinct.empty()) made.without += count;
  }
  if (!facet.bounds.empty()) return made;
  for (const auto& [value, count] : by_value) {
    made.values.push_back({parse_json_config(value, "metadata"), {}, {}, count});
  }
  std::stable_sort(made.values.begin(), made.values.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  const size_t kept = std::min(made.values.size(), static_cast<size_t>(most_values));
  if (kept < made.values.size()) {
    made.more_values = static_cast<int64_t>(made.values.size() - kept);
    made.values.resize(kept);
  }
  return made;
}

}  // namespace

MetadataCache::MetadataCache(DocumentStore documents, std::string path,
                             std::vector<std::string> declared)
    : documents_(std::move(documents)), path_(std::move(path)), declared_(std::move(declared)) {}

std::vector<char> MetadataCache::select(const SegmentSet& segments, const MetadataFilter& filter) {
  std::vector<char> selected;
  const std::vector<MetadataColumns> columns = columns_of(segments, filter.columns());
  for (size_t s = 0; s < columns.size(); ++s) {
    const LiveSegment& live = segments.segments()[s];
    const std::vector<char> rows = select_rows(*filter.root(), columns[s], live.segment().size());
    for (int64_t i = 0; i < live.size(); ++i) {
      selected.push_back(rows[static_cast<size_t>(live.row(i))]);
    }
  }
  return selected;
}

MatchCounts MetadataCache::count(const SegmentSet& segments, const std::vector<char>& found,
                                 const std::vector<Facet>& facets, int64_t most_values) {
  std::vector<std::string> names;
  for (const Facet& facet : facets) names.push_back(facet.column);
  const std::vector<MetadataColumns> columns = columns_of(segments, names);
  std::vector<std::map<std::string, int64_t>> counts(facets.size());
  MatchCounts matches;
  int64_t last = -1;  // document that was counted
  auto next = found.begin();
  for (size_t s = 0; s < columns.size(); ++s) {
    const LiveSegment& live = segments.segments()[s];
    std::vector<char> chosen(static_cast<size_t>(live.segment().size()));
    for (int64_t i = 0; i < live.size(); ++i) {
      if (*next++ == 0) continue;
      const int64_t document = documents_.document_key(live.vector(i).key);
      if (document == last) continue;
      chosen[static_cast<size_t>(live.row(i))] = 1;
      last = document;
      ++matches.documents;
    }
    for (size_t f = 0; f < facets.size(); ++f) {
      columns[s].at(facets[f].column)->count(chosen, counts[f]);
    }
  }
  for (size_t f = 0; f < facets.size(); ++f) {
    matches.facets.push_back(make_facet(facets[f], counts[f], most_values));
  }
  return matches;
}

std::vector<MetadataColumns> MetadataCache::columns_of(const SegmentSet& segments,
                                                       const std::vector<std::string>& names) {
  std::vector<MetadataColumns> columns;
  std::set<std::string> unknown(names.begin(), names.end());
  for (const std::string& name : declared_) unknown.erase(name);
  for (const LiveSegment& live : segments.segments()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    forget_all_but(segments);
    const MetadataColumns& all = columns_of(live, names);
    MetadataColumns& named = columns.emplace_back();
    for (const std::string& name : names) {
      named[name] = all.at(name);
      if (unknown.count(name) > 0 && named[name]->has_any(live)) unknown.erase(name);
    }
  }
  if (!unknown.empty() && segments.size() > 0) fail_unknown(segments, *unknown.begin());
  return columns;
}

void MetadataCache::fail_unknown(const SegmentSet& segments, const std::string& name) const {
  std::set<std::string> known(declared_.begin(), declared_.end());
  for (const LiveSegment& live : segments.segments()) {
    for_each_metadata(live, [&](int64_t, const Json& metadata) {
      for (const auto& member : metadata.items()) known.insert(member.key());
      return known.size() < kMostColumns;
    });
  }
  known.erase("*");
  // Facet::parse() cannot know that the whole was a name.
  const bool is_cut = std::any_of(known.begin(), known.end(), [&](const std::string& one) {
    return one.compare(0, name.size() + 1, name + ":") == 0;
  });
  throw_error(ErrorKind::kUsage, "no document has '{}' in its metadata; known: {}{}", name,
              known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", ")),
              is_cut ? "; numbers behind a facet's last colon are limits of ranges, so a "
                       "column whose name ends like that cannot be counted; rename it"
                     : did_you_mean(name, known));
}

void MetadataCache::forget_all_but(const SegmentSet& segments) {
  std::set<int64_t> numbers;
  for (const LiveSegment& live : segments.segments()) numbers.insert(live.segment().row().number);
  if (metadata_generation_ != segments.metadata_generation()) segments_.clear();
  metadata_generation_ = segments.metadata_generation();
  for (auto at = segments_.begin(); at != segments_.end();) {
    at = numbers.count(at->first) > 0 ? std::next(at) : segments_.erase(at);
  }
}

int64_t MetadataCache::bytes() const {
  int64_t bytes = 0;
  for (const auto& [number, known] : segments_) {
    for (const auto& [name, column] : known.columns) bytes += column->bytes();
  }
  return bytes;
}

const MetadataColumns& MetadataCache::columns_of(const LiveSegment& live,
                                                 const std::vector<std::string>& names) {
  const Known& known = segments_[live.segment().row().number];
  // Columns that were read later lack the documents removed in between.
  const bool is_usable = known.live >= live.size();
  MetadataColumns more;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (is_usable && known.columns.count(name) > 0) continue;
    missing.push_back(name);
    if (is_usable && known.is_whole) {
      more[name] = std::make_shared<MetadataColumn>(live.segment().size());
    }
  }
  if (more.size() < missing.size()) more = *read(live, &missing, false);
  if (!missing.empty()) keep(live, more, is_usable && known.is_whole);
  return segments_[live.segment().row().number].columns;
}

void MetadataCache::keep(const LiveSegment& live, const MetadataColumns& columns, bool is_whole) {
  int64_t more = 0;
  for (const auto& [name, column] : columns) more += column->bytes();
  const int64_t number = live.segment().row().number;
  Known known = std::move(segments_[number]);
  segments_.erase(number);
  if (bytes() + more > kCacheBytes) segments_.clear();
  if (known.live < live.size()) known = {live.size(), is_whole, {}};
  known.live = live.size();
  known.is_whole = is_whole;
  for (const auto& [name, column] : columns) known.columns[name] = column;
  segments_[number] = std::move(known);
}

void MetadataCache::read_all(const SegmentSet& segments, const std::atomic<bool>& ends) {
  for (const LiveSegment& live : segments.segments()) {
    if (ends) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    forget_all_but(segments);
    if (segments_[live.segment().row().number].is_whole) continue;
    std::optional<MetadataColumns> columns = read(live, nullptr, ends);
    int64_t all = bytes();
    for (const auto& [name, column] : columns.value_or(MetadataColumns())) all += column->bytes();
    if (columns && all <= kCacheBytes / 2) keep(live, *columns, true);
  }
}

std::optional<MetadataColumns> MetadataCache::read(const LiveSegment& live,
                                                   const std::vector<std::string>* names,
                                                   const std::atomic<bool>& ends) const {
  std::map<std::string, std::shared_ptr<MetadataColumn>> columns;
  const auto add = [&](const std::string& name) {
    auto& column = columns[name];
    if (column == nullptr) column = std::make_shared<MetadataColumn>(live.segment().size());
  };
  if (names != nullptr) std::for_each(names->begin(), names->end(), add);
  const bool is_read = for_each_metadata(live, [&](int64_t row, const Json& metadata) {
    for (const auto& [name, value] : metadata.items()) {
      if (names == nullptr) add(name);
      if (const auto found = columns.find(name); found != columns.end()) {
        found->second->set(row, value);
      }
    }
    return names != nullptr || (!ends && columns.size() <= kMostColumns);
  });
  if (!is_read) return std::nullopt;
  return MetadataColumns(columns.begin(), columns.end());
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
  if (unlike) fail_damaged(path_, fmt::format("document {} is not the one of its vector", *unlike));
  return goes_on;
}

}  // namespace simile::detail
