// SPDX-License-Identifier: Apache-2.0
// Metadata of documents, column by column, and which rows a filter (metadata_filter.h) selects.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/document_store.h"
#include "simile/index/metadata_filter.h"

namespace simile::detail {

// A filter, parsed.
struct FilterValue {
  std::string text;
  Json spelt;  // the number or truth value that a word spells; null for others and in quotes
};

struct FilterNode {
  enum class Kind { kEvery, kAny, kNot, kTest };
  enum class Operator { kEqual, kDiffers, kLess, kAtMost, kMore, kAtLeast, kIn, kNotIn };

  Kind kind = Kind::kTest;
  std::vector<FilterNode> parts;  // of all kinds but kTest; one of kNot
  std::string column;             // these of kTest
  Operator comparison = Operator::kEqual;
  std::vector<FilterValue> values;  // one but for kIn and kNotIn

  // Whether a value passes this test.
  bool holds(const Json& value) const;
};

// A scalar of metadata, so that numbers compare by their amounts.
Json comparable(Json value);

// The object of a Document's metadata; an empty one for an empty text. Errors (kInput): no object
// of texts, numbers and truth values.
Json read_metadata(const std::string& metadata);

// Each distinct value stands once.
class MetadataColumn {
 public:
  explicit MetadataColumn(int64_t rows) : values_of_rows_(static_cast<size_t>(rows), kNone) {}

  // The member `name` of `metadata`, if it has one.
  void set_from(int64_t row, const std::string& name, const Json& metadata);
  // Of each row, whether it has a value and the test holds.
  std::vector<char> select(const FilterNode& test) const;
  int64_t bytes() const;

 private:
  static constexpr int32_t kNone = -1;

  std::vector<int32_t> values_of_rows_;
  std::vector<Json> values_;
  std::unordered_map<std::string, int32_t> places_;  // of values, as JSON
  int64_t text_bytes_ = 0;
};

using MetadataColumns = std::map<std::string, std::shared_ptr<const MetadataColumn>>;

// 1 for each row that matches. `columns` has those of the filter, each of `rows` rows.
std::vector<char> select_rows(const FilterNode& filter, const MetadataColumns& columns,
                              int64_t rows);

// The columns of metadata that filters name, by segment. A column is read when a filter first names
// it, with all documents of the segment, which are verified; a change costs what it changes. Holds
// at most 256 MiB besides the segment in use. Several threads may use it.
class MetadataCache {
 public:
  // `documents`: a store of its own, so that searches do not wait while it is read. `path`: of its
  // file.
  MetadataCache(DocumentStore documents, std::string path);

  // 1 for each document that matches, in the order of adding. `filter` is not one that all match.
  // Errors (kInput): a document is damaged, or was removed since the generation of `segments`.
  std::vector<char> select(const SegmentSet& segments, const MetadataFilter& filter);

  // Whether any document matches, also by a filter that all match. Errors: those of select(), for
  // the segments up to the first that has such a document.
  bool selects_any(const SegmentSet& segments, const MetadataFilter& filter);

  // Reads all columns, so that no filter waits for them; none of a segment that has more than 32,
  // or whose columns would fill half of the cache. Returns early when `ends` becomes true. Errors:
  // those of select().
  void read_all(const SegmentSet& segments, const std::atomic<bool>& ends);

 private:
  struct Known {
    int64_t live = 0;  // rows whose documents were there when they were read
    std::shared_ptr<const MetadataColumn> column;
  };
  using KnownColumns = std::map<std::string, Known>;  // by their names

  MetadataColumns columns_of(const LiveSegment& live, const std::vector<std::string>& names);
  void read(const LiveSegment& live, const std::vector<std::string>& names,
            KnownColumns& known) const;
  bool read_all_of(const LiveSegment& live, const std::atomic<bool>& ends,
                   KnownColumns& known) const;
  // Calls take(row, metadata) for each document until it returns false. Returns whether it never
  // did.
  using TakeMetadata = std::function<bool(int64_t, const Json&)>;
  bool for_each_metadata(const LiveSegment& live, const TakeMetadata& take) const;
  void keep(int64_t number, const KnownColumns& more);
  void forget_all_but(const SegmentSet& segments);

  const DocumentStore documents_;
  std::string path_;
  std::mutex mutex_;
  std::map<int64_t, KnownColumns> segments_;  // by their numbers, which are never used again
  std::map<int64_t, int64_t> whole_;  // live rows of the segments whose columns were all read
  int64_t bytes_ = 0;
};

}  // namespace simile::detail
