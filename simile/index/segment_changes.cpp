// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_changes.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/manifest.h"

namespace simile::detail {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSegmentRows = kFullSegment;
constexpr int64_t kTailRows = 2048;
constexpr size_t kTailSegments = 8;  // the one that is added included

constexpr int64_t kCountedRows = 2048;  // whose words are held at a time

std::vector<std::string_view> texts_of(const std::vector<Document>& documents) {
  std::vector<std::string_view> texts;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) texts.push_back(document.text_of(i));
  }
  return texts;
}

}  // namespace

SegmentSink::SegmentSink(const std::string& folder, const IndexedModel& model, int64_t next_number)
    : folder_(folder), model_(model), next_number_(next_number) {
  make_folders(segments_path(folder));
}

void SegmentSink::add(const std::vector<Document>& documents, const Matrix<float>& vectors,
                      const std::vector<VectorKey>& keys) {
  const std::vector<std::string_view> texts = texts_of(documents);
  const auto count = static_cast<int64_t>(texts.size());
  std::vector<std::vector<std::pair<std::string, uint32_t>>> counted;
  std::vector<WordCount> row;
  std::vector<char> converted;
  const StoredRows rows(vectors.values.data(), count, model_.dimension);
  add_rows(as_stored(rows, count, converted), keys, [&](int64_t i, WordFileWriter& words) {
    if (i % kCountedRows == 0) {
      counted.resize(static_cast<size_t>(std::min(kCountedRows, count - i)));
      run_parallel(static_cast<int64_t>(counted.size()), 1, [&](int64_t j) {
        counted[static_cast<size_t>(j)] =
            count_words(texts[static_cast<size_t>(i + j)], model_.language);
      });
    }
    row.clear();
    for (const auto& [word, n] : counted[static_cast<size_t>(i % kCountedRows)]) {
      row.push_back({words.number_of(word), n});
    }
    words.add_row(row);
  });
}

void SegmentSink::add(const Segment& segment, const std::vector<int64_t>& removed) {
  const WordFile& source = segment.words();
  std::vector<std::vector<WordCount>> words_of = source.by_row();
  std::vector<int32_t> numbers;  // of the source's words in the file that is written; -1: unknown
  std::vector<VectorKey> run;    // of rows that follow one another
  int64_t first = 0;
  const AddWords add_words = [&](int64_t i, WordFileWriter& words) {
    if (numbers.empty() || words.rows() == 0) {  // another file
      numbers.assign(static_cast<size_t>(source.words()), -1);
    }
    std::vector<WordCount>& row = words_of[static_cast<size_t>(first + i)];
    for (WordCount& entry : row) {
      int32_t& number = numbers[static_cast<size_t>(entry.word)];
      if (number < 0) number = words.number_of(source.word(entry.word));
      entry.word = number;
    }
    words.add_row(row);
  };
  std::vector<char> converted;
  const auto flush = [&] {
    const auto count = static_cast<int64_t>(run.size());
    add_rows(as_stored(segment.vectors().from(first), count, converted), run, add_words);
    run.clear();
  };
  auto next = removed.begin();
  for (int64_t row = 0; row < segment.size(); ++row) {
    if (next != removed.end() && *next == segment.key(row)) {
      ++next;
      flush();
      continue;
    }
    if (run.empty()) first = row;
    run.push_back(segment.vector(row));
  }
  flush();
}

StoredRows SegmentSink::as_stored(const StoredRows& rows, int64_t count,
                                  std::vector<char>& out) const {
  if (rows.number == model_.vectors) return rows;
  assert(rows.number == StoredNumber::kFp32);
  out.resize(static_cast<size_t>(count * stored_bytes(model_.vectors, rows.D)));
  store_rows(reinterpret_cast<const float*>(rows.bytes), count, rows.D, model_.vectors, out.data());
  return {out.data(), count, rows.D, model_.vectors};
}

void SegmentSink::add_rows(const StoredRows& vectors, const std::vector<VectorKey>& keys,
                           const AddWords& add_words) {
  const auto count = static_cast<int64_t>(keys.size());
  for (int64_t done = 0; done < count;) {
    if (!writer_) {
      writer_.emplace(segment_path(folder_, next_number_), segment_kind(model_, next_number_),
                      next_number_);
      words_.emplace();
    }
    const int64_t taken = std::min(count - done, kSegmentRows - writer_->rows());
    writer_->add(vectors.row(done), keys.data() + done, taken);
    for (int64_t i = done; i < done + taken; ++i) add_words(i, *words_);
    if (writer_->rows() == kSegmentRows) end_segment();
    done += taken;
  }
}

std::vector<SegmentRow> SegmentSink::finish() {
  if (writer_) end_segment();
  return std::move(written_);
}

void SegmentSink::end_segment() {
  written_.push_back(writer_->commit());
  words_->write(words_path(segment_path(folder_, next_number_)), written_.back().checksum);
  writer_.reset();
  words_.reset();
  ++next_number_;
}

size_t tail_begin(const StoreState& state, int64_t added) {
  const std::vector<SegmentRow>& segments = state.segments;
  const auto first = static_cast<size_t>(state.graph ? state.graph->segments : 0);
  size_t begin = segments.size();
  for (int64_t rows = added; begin > first; --begin) {
    rows += segments[begin - 1].rows;
    if (rows > kTailRows) break;
  }
  const size_t joined = segments.size() - begin + 1;
  return joined >= kTailSegments ? begin : segments.size();
}

size_t merge_begin(const std::vector<SegmentRow>& segments,
                   const DocumentStore::RemovedWithin& removed_within) {
  size_t begin = 0;
  while (begin < segments.size() && segments[begin].rows == kSegmentRows &&
         removed_within(segments[begin]).empty()) {
    ++begin;
  }
  const bool is_last = begin + 1 == segments.size();
  return is_last && segments[begin].rows < kSegmentRows && removed_within(segments[begin]).empty()
             ? segments.size()
             : begin;
}

SegmentChange rewrite_segments(SegmentSink sink, const Segments& segments, size_t begin,
                               const DocumentStore::RemovedWithin& removed_within,
                               const std::function<void(SegmentSink&)>& add) {
  SegmentChange change;
  for (size_t i = begin; i < segments.size(); ++i) {
    change.dropped.push_back(segments[i]->row());
    sink.add(*segments[i], removed_within(change.dropped.back()));
    segments[i]->release_vectors();
  }
  if (add) add(sink);
  change.written = sink.finish();
  return change;
}

std::set<std::string> used_files(const StoreState& state) {
  std::set<std::string> used = {kManifest, kSearch, kDocuments};
  if (state.graph) used.insert(join_path(kSegments, graph_name(state.graph->number)));
  for (const SegmentRow& segment : state.segments) {
    const std::string path = join_path(kSegments, segment_name(segment.number));
    used.insert(path);
    used.insert(words_path(path));
  }
  return used;
}

std::vector<std::string> unused_files(const std::string& folder, const StoreState& state) {
  std::set<std::string> used = used_files(state);
  used.insert(std::string(kDocuments) + "-journal");
  std::vector<std::string> unused;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory(error)) continue;
    const std::string name = it->path().lexically_relative(folder).string();
    if (used.count(name) == 0) unused.push_back(name);
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

void remove_unused_segments(const std::string& folder, const StoreState& state) {
  const std::string segment = join_path(kSegments, "segment-");
  const std::string graph = join_path(kSegments, "graph-");
  for (const std::string& name : unused_files(folder, state)) {
    if (starts_with(name, segment) || starts_with(name, graph)) {
      std::remove(join_path(folder, name).c_str());
    }
  }
}

void remove_segments(const std::string& folder, const std::vector<SegmentRow>& dropped) {
  for (const SegmentRow& row : dropped) {
    const std::string path = segment_path(folder, row.number);
    std::remove(path.c_str());
    std::remove(words_path(path).c_str());
  }
}

}  // namespace simile::detail
