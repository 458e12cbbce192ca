// SPDX-License-Identifier: Apache-2.0
// Metadata of documents, column by column.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/data/metadata_filter.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/document_store.h"

namespace simile::detail {

// The metadata of document `id` with the members of `patch` set; null removes a member. Errors
// (kInput): as read_metadata(), and for metadata that are too large.
std::string patch_metadata(const std::string& id, const std::string& metadata,
                           const std::string& patch);

class MetadataColumn;
using MetadataColumns = std::map<std::string, std::shared_ptr<const MetadataColumn>>;

// The columns of metadata that filters name, by segment. A column is read when a filter first names
// it, with all documents of the segment, which are verified; a change costs time in proportion to
// its size. Holds at most 256 MiB besides the segment in use. Several threads may use it.
class MetadataCache {
 public:
  // `documents`: a store of its own, so that searches do not wait while it is read. `path`: of its
  // file. `declared`: columns that the index keeps, whether or not a document has them.
  MetadataCache(DocumentStore documents, std::string path, std::vector<std::string> declared);

  // 1 for each document that matches, in the order of adding. `filter` is not one that all match.
  // Errors: kInput for a document that is damaged, or was removed since the generation of
  // `segments`; kUsage for a column that is not declared and that no document has.
  std::vector<char> select(const SegmentSet& segments, const MetadataFilter& filter);

  // Counts the documents of `found`, 1 for each in the order of adding. Errors: those of select().
  MatchCounts count(const SegmentSet& segments, const std::vector<char>& found,
                    const std::vector<Facet>& facets, int64_t most_values);

  // Reads all columns, so that no filter waits for them; none of a segment that has more than 32,
  // or whose columns would fill half of the cache. Returns early when `ends` becomes true. Errors:
  // those of select().
  void read_all(const SegmentSet& segments, const std::atomic<bool>& ends);

 private:
  struct Known {
    int64_t live = 0;       // rows whose documents were there when the columns were read
    bool is_whole = false;  // there are no other columns
    MetadataColumns columns;
  };

  // The columns of each segment. Errors: those of select().
  std::vector<MetadataColumns> columns_of(const SegmentSet& segments,
                                          const std::vector<std::string>& names);
  [[noreturn]] void fail_unknown(const SegmentSet& segments, const std::string& name) const;
  // These call with the lock.
  const MetadataColumns& columns_of(const LiveSegment& live, const std::vector<std::string>& names);
  void keep(const LiveSegment& live, const MetadataColumns& columns, bool is_whole);
  void forget_all_but(const SegmentSet& segments);
  int64_t bytes() const;
  // The columns with these names, or all (null): none if they are too many or `ends` became true.
  std::optional<MetadataColumns> read(const LiveSegment& live,
                                      const std::vector<std::string>* names,
                                      const std::atomic<bool>& ends) const;
  // Calls take(row, metadata) for each document until it returns false. Returns whether it never
  // did.
  using TakeMetadata = std::function<bool(int64_t, const Json&)>;
  bool for_each_metadata(const LiveSegment& live, const TakeMetadata& take) const;

  const DocumentStore documents_;
  std::string path_;
  std::vector<std::string> declared_;
  std::mutex mutex_;
  std::map<int64_t, Known> segments_;  // by their numbers, which are never used again
  int64_t metadata_generation_ = 0;    // of the columns: what they hold is of it or later
};

}  // namespace simile::detail
