// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_scores.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/word_file.h"
#include "simile/index/score_fusion.h"

namespace simile::detail {
namespace {

constexpr int64_t kScoresTogether = int64_t{1} << 22;  // of a block of queries, of each kind

int64_t total_length(const LiveSegment& live, const WordFile& words) {
  int64_t length = 0;
  for (int64_t i = 0; i < live.size(); ++i) length += words.length(live.row(i));
  return length;
}

int64_t live_rows_with(const LiveSegment& live, const WordFile& words, int64_t word) {
  if (live.rows() == nullptr) return words.rows_with(word);
  int64_t count = 0;
  words.for_each(word, [&](int64_t row, uint32_t) { count += live.find(row) >= 0 ? 1 : 0; });
  return count;
}

// The best of the allowed `scores`, equal ones by their position.
std::vector<int64_t> best_places(const std::vector<double>& scores, int64_t top_k,
                                 bool only_positive, const std::vector<char>* allowed) {
  std::vector<int64_t> places(scores.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  const auto score = [&](int64_t place) { return scores[static_cast<size_t>(place)]; };
  if (only_positive || allowed != nullptr) {
    const auto is_out = [&](int64_t place) {
      return (only_positive && !(score(place) > 0)) ||
             (allowed != nullptr && (*allowed)[static_cast<size_t>(place)] == 0);
    };
    places.erase(std::remove_if(places.begin(), places.end(), is_out), places.end());
  }
  const auto kept = std::min<int64_t>(static_cast<int64_t>(places.size()), top_k);
  std::partial_sort(places.begin(), places.begin() + kept, places.end(), [&](int64_t a, int64_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  places.resize(static_cast<size_t>(kept));
  return places;
}

// The best of the allowed passages of each document, equal ones by their position.
std::vector<char> best_passages(const std::vector<double>& scores,
                                const std::vector<int64_t>& document_ends,
                                const std::vector<char>* allowed) {
  std::vector<char> best(scores.size());
  size_t place = 0;
  for (const int64_t end : document_ends) {
    const size_t none = scores.size();
    size_t found = none;
    for (; place < static_cast<size_t>(end); ++place) {
      if (allowed != nullptr && (*allowed)[place] == 0) continue;
      if (found == none || scores[place] > scores[found]) found = place;
    }
    if (found != none) best[found] = 1;
  }
  return best;
}

// One query's scores by vectors (empty: none) and by words; both are fused where both are there.
std::vector<IndexHit> rank_query(const SegmentScores& segments, double spread,
                                 std::vector<double> vectors, std::vector<double> words,
                                 int64_t top_k, const SearchSettings& settings,
                                 const std::vector<char>* allowed) {
  std::vector<double> fused = settings.by_vectors() ? vectors : words;
  if (settings.by_vectors() && settings.by_words()) {
    std::vector<double> scaled = words;
    fuse_scores(parse_fusion_rule(settings.fusion.rule), settings.fusion.weight, spread,
                fused.data(), scaled.data(), segments.documents());
  }
  std::vector<char> best;
  if (!segments.document_ends().empty()) {
    best = best_passages(fused, segments.document_ends(), allowed);
    allowed = &best;
  }
  std::vector<IndexHit> hits;
  for (const int64_t place : best_places(fused, top_k, !settings.by_vectors(), allowed)) {
    const auto at = static_cast<size_t>(place);
    IndexHit hit;
    hit.vector = segments.vector(place);
    hit.score = fused[at];
    if (settings.by_vectors()) hit.by_vector = vectors[at];
    if (settings.by_words()) hit.by_words = words[at];
    hits.push_back(hit);
  }
  return hits;
}

}  // namespace

SegmentScores::SegmentScores(const SegmentSet& segments, const IndexedModel& model, bool by_words)
    : segments_(segments.segments()), model_(model), begins_{0} {
  int64_t length = 0;
  for (const LiveSegment& live : segments_) {
    begins_.push_back(begins_.back() + live.size());
    if (by_words) length += total_length(live, live.segment().words());
  }
  if (documents() > 0) {
    mean_length_ = static_cast<double>(length) / static_cast<double>(documents());
  }
  if (model.passages.splits()) find_document_ends();
}

void SegmentScores::find_document_ends() {
  int64_t place = 0, document = -1;
  for (const LiveSegment& live : segments_) {
    for (int64_t i = 0; i < live.size(); ++i, ++place) {
      const int64_t of_passage = live.vector(i).key / kMostPassages;
      if (of_passage != document && place > 0) document_ends_.push_back(place);
      document = of_passage;
    }
  }
  document_ends_.push_back(place);
}

void SegmentScores::score_vectors(const float* queries, int64_t count, double* scores) const {
  std::vector<double> of_segment;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const LiveSegment& live = segments_[s];
    of_segment.resize(static_cast<size_t>(count * live.size()));
    exact_scores(live.segment().vectors(), live.size(), queries, count, model_.metric,
                 of_segment.data(), live.rows());
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(of_segment.data() + i * live.size(), live.size(),
                  scores + i * documents() + begins_[s]);
    }
  }
}

void SegmentScores::score_words(const std::string& query, double* scores) const {
  std::fill_n(scores, documents(), 0.0);
  for (const auto& [word, count] : count_words(query)) score_word(word, count, scores);
}

void SegmentScores::score_word(const std::string& word, uint32_t count, double* scores) const {
  std::vector<int64_t> places;  // of the word in each segment
  int64_t rows_with = 0;
  for (const LiveSegment& live : segments_) {
    const WordFile& words = live.segment().words();
    places.push_back(words.find(word));
    if (places.back() >= 0) rows_with += live_rows_with(live, words, places.back());
  }
  const Bm25 bm25;
  for (size_t s = 0; s < segments_.size(); ++s) {
    if (places[s] < 0) continue;
    const LiveSegment& live = segments_[s];
    const WordFile& words = live.segment().words();
    words.for_each(places[s], [&](int64_t row, uint32_t in_document) {
      const int64_t place = live.find(row);
      if (place < 0) return;
      scores[begins_[s] + place] +=
          static_cast<double>(static_cast<float>(count)) *
          bm25.weight(documents(), rows_with, in_document, words.length(row), mean_length_);
    });
  }
}

VectorKey SegmentScores::vector(int64_t document) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), document);
  const auto s = static_cast<size_t>(after - begins_.begin()) - 1;
  return segments_[s].vector(document - begins_[s]);
}

std::vector<std::vector<IndexHit>> search_segments(const SegmentSet& segments,
                                                   const IndexedModel& model,
                                                   const SearchQueries& queries, int64_t top_k,
                                                   const SearchSettings& settings,
                                                   const std::vector<char>* allowed) {
  const int64_t count =
      settings.by_words() ? static_cast<int64_t>(queries.texts.size()) : queries.vectors.rows;
  SIMILE_CHECK(!settings.by_vectors() || queries.vectors.rows == count, ErrorKind::kUsage,
               "index: {} texts of queries and {} vectors; a search in mode {} needs both of each",
               count, queries.vectors.rows, settings.mode);
  if (settings.by_vectors()) {
    check_dimension(queries.vectors, model);
    segments.verify_vectors();
  }
  const SegmentScores scores(segments, model, settings.by_words());
  const int64_t N = scores.documents();
  std::vector<std::vector<IndexHit>> results(static_cast<size_t>(count));
  if (N == 0) return results;
  const int64_t together = std::clamp<int64_t>(kScoresTogether / N, 1, 32);
  for (int64_t first = 0; first < count; first += together) {
    const int64_t block = std::min(together, count - first);
    std::vector<double> by_vector;
    if (settings.by_vectors()) {
      by_vector.resize(static_cast<size_t>(block * N));
      scores.score_vectors(queries.vectors.row(first), block, by_vector.data());
    }
    run_parallel(block, 1, [&](int64_t i) {
      std::vector<double> vectors, words;
      if (settings.by_vectors()) {
        vectors.assign(by_vector.begin() + i * N, by_vector.begin() + (i + 1) * N);
      }
      if (settings.by_words()) {
        words.resize(static_cast<size_t>(N));
        scores.score_words(queries.texts[static_cast<size_t>(first + i)], words.data());
      }
      results[static_cast<size_t>(first + i)] = rank_query(
          scores, model.spread, std::move(vectors), std::move(words), top_k, settings, allowed);
    });
  }
  return results;
}

namespace {

constexpr int64_t kPassagesForEach = 4;  // that are looked at for a document, at first

// Keeps the first passage of each document, and top_k of them.
void keep_documents(std::vector<IndexHit>& hits, int64_t top_k) {
  std::set<int64_t> seen;
  const auto is_out = [&](const IndexHit& hit) {
    return static_cast<int64_t>(seen.size()) == top_k ||
           !seen.insert(hit.vector.key / kMostPassages).second;
  };
  hits.erase(std::remove_if(hits.begin(), hits.end(), is_out), hits.end());
}

int64_t count_vectors(const SegmentSet& segments) {
  int64_t count = 0;
  for (const LiveSegment& live : segments.segments()) count += live.size();
  return count;
}

}  // namespace

std::vector<std::vector<IndexHit>> search_vectors(const SegmentSet& segments,
                                                  const IndexedModel& model,
                                                  const Matrix<float>& queries, int64_t top_k,
                                                  bool exact) {
  if (!model.passages.splits()) return segments.search(queries, top_k, model, exact);
  const int64_t all = count_vectors(segments);
  for (int64_t passages = top_k;;) {
    passages = std::min(all, passages * kPassagesForEach);
    auto results = segments.search(queries, passages, model, exact);
    for (auto& hits : results) keep_documents(hits, top_k);
    const bool enough = std::all_of(results.begin(), results.end(), [&](const auto& hits) {
      return static_cast<int64_t>(hits.size()) == top_k;
    });
    if (enough || passages == all) return results;
  }
}

}  // namespace simile::detail
