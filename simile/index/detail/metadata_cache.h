// SPDX-License-Identifier: Apache-2.0
// The columns of metadata that filters name, by segment. A column is read when a filter first names
// it, with all documents of the segment, which are verified; a change costs what it changes. Holds
// at most 256 MiB besides the segment in use. Several threads may use it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/document_store.h"
#include "simile/index/metadata_filter.h"

namespace simile::detail {

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
