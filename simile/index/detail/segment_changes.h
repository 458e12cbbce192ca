// SPDX-License-Identifier: Apache-2.0
// How segments of an index are written, joined and removed.
//
// Each change that adds documents writes a segment. If it and the last segments are eight or more
// and have at most 2,048 rows together, they become one: an addition rewrites a few rows, and n
// single additions leave at most n / 2,048 + 8 segments. A merge makes segments of 65,536 rows.
// Both leave out the rows of removed documents.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/detail/word_file.h"
#include "simile/index/document_store.h"

namespace simile::detail {

// Writes vectors and words of documents into segments of 65,536 rows, one after another.
class SegmentSink {
 public:
  // Makes the folder of the segments unless it is there.
  SegmentSink(const std::string& folder, const IndexedModel& model, int64_t next_number);

  // The vectors of documents, one after another, with these keys, which rise from call to call.
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors,
           const std::vector<VectorKey>& keys);
  // The rows of a segment except those of `removed`, which rises. The segment keeps vectors as
  // these do, or in fp32.
  void add(const Segment& segment, const std::vector<int64_t>& removed);

  // The segments that were written, complete and flushed.
  std::vector<SegmentRow> finish();

 private:
  // Adds the words of the i-th of the rows that are being added.
  using AddWords = std::function<void(int64_t i, WordFileWriter& words)>;

  // The first `count` rows in the form of these segments; `out` holds them if they had another.
  StoredRows as_stored(const StoredRows& rows, int64_t count, std::vector<char>& out) const;
  void add_rows(const StoredRows& vectors, const std::vector<VectorKey>& keys,
                const AddWords& add_words);
  void end_segment();

  std::string folder_;
  IndexedModel model_;
  int64_t next_number_;
  std::optional<SegmentWriter> writer_;
  std::optional<WordFileWriter> words_;
  std::vector<SegmentRow> written_;
};

// The first of the last segments that are rewritten together with `added` rows (segments.size():
// none). The segments of the graph are not, so that the graph stays.
size_t tail_begin(const StoreState& state, int64_t added);

// The first of the segments that a merge rewrites (segments.size(): none).
size_t merge_begin(const std::vector<SegmentRow>& segments,
                   const DocumentStore::RemovedWithin& removed_within);

// Rewrites the segments from `begin` on, without removed rows, followed by the rows of add(sink).
SegmentChange rewrite_segments(SegmentSink sink, const Segments& segments, size_t begin,
                               const DocumentStore::RemovedWithin& removed_within,
                               const std::function<void(SegmentSink&)>& add = nullptr);

// The files of an index, relative to its folder; one without words or settings has fewer.
std::set<std::string> used_files(const StoreState& state);

// Files in an index folder that are not part of the index, relative to it: left by a process that
// was killed, or not of an index.
std::vector<std::string> unused_files(const std::string& folder, const StoreState& state);

// Removes unused files of segments and graphs. The caller must be changing the store.
void remove_unused_segments(const std::string& folder, const StoreState& state);

// Removes the files of segments that were dropped, if the system allows it.
void remove_segments(const std::string& folder, const std::vector<SegmentRow>& dropped);

}  // namespace simile::detail
