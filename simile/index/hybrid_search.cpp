// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "simile/core/parallel.h"
#include "simile/index/detail/segment_search.h"
#include "simile/index/detail/word_search.h"
#include "simile/index/score_fusion.h"

namespace simile::detail {
namespace {

constexpr int64_t kNear = 100;      // hits by vectors, for up to 25 hits of both
constexpr int64_t kWithWords = 32;  // hits by words, at first
constexpr int64_t kDeeper = 8;      // times as many, where those were too few
constexpr int64_t kMostWithWords = 2048;

// A document of one of the lists, or both.
struct Candidate {
  int64_t row = 0;
  std::optional<double> by_vector, by_words;
  double score = 0;
};
using Candidates = std::vector<Candidate>;

class QueryRanker {
 public:
  // For query i. `nearest`: the list by vectors; has_all: it has every document that may be a hit.
  QueryRanker(const SegmentSet& segments, const SearchQueries& queries, int64_t i,
              const std::vector<Hit>& nearest, bool has_all)
      : segments_(segments),
        words_(segments.words().prepare(queries.texts[static_cast<size_t>(i)])),
        vector_(queries.vectors.row(i)),
        least_(queries.min_similarity.value_or(-std::numeric_limits<double>::infinity())),
        nearest_(nearest),
        has_all_(has_all || (!nearest.empty() && nearest.back().score < least_)) {}

  // None if a document that is no candidate may be a hit.
  std::optional<IndexHits> rank(int64_t top_k, const FusionOptions& fusion, double highest_vector,
                                const std::vector<char>* allowed) const {
    if (nearest_.empty()) return has_all_ ? std::make_optional(IndexHits()) : std::nullopt;
    const double last_near = nearest_.back().score;
    FusedScore fused{parse_fusion_rule(fusion.rule), fusion.weight, segments_.model().spread,
                     highest_vector, 0};
    const bool are_cosines = may_be_cosine(highest_vector) && may_be_cosine(last_near);
    if (fused.rule == FusionRule::kMax && !are_cosines) return std::nullopt;
    const WordSearch& search = segments_.words();
    if (allowed != nullptr) fused.highest_words = search.highest(words_);
    for (int64_t count = kWithWords; count <= kMostWithWords; count *= kDeeper) {
      const std::vector<WordHit> by_words = search.best(words_, count, allowed);
      const bool has_all_words = static_cast<int64_t>(by_words.size()) < count;
      const double last_words = has_all_words ? 0 : by_words.back().score;
      if (allowed == nullptr && !by_words.empty()) fused.highest_words = by_words.front().score;
      IndexHits hits = choose(find_candidates(by_words, last_words, top_k, fused), top_k);
      if (has_all_) return hits;
      if (static_cast<int64_t>(hits.size()) < top_k) return std::nullopt;
      const double last = hits.back().score;
      if (last > fused(last_near, last_words)) return hits;
      if (has_all_words || !(last > fused(last_near, 0))) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // The hits by words, and of those by vectors the first and the others that may be hits beside
  // them. The scores by words take most of the time.
  Candidates find_candidates(const std::vector<WordHit>& by_words, double last_words, int64_t top_k,
                             const FusedScore& fused) const {
    const bool splits = segments_.model().passages.splits();  // many may be of one document
    auto end = nearest_.end();
    if (!splits) end -= std::max<int64_t>(0, end - nearest_.begin() - 2 * top_k);
    Candidates first;
    for (auto hit = nearest_.begin(); hit < end; ++hit) {
      first.push_back({hit->id, hit->score, std::nullopt});
    }
    for (const WordHit& hit : by_words) first.push_back({hit.row, std::nullopt, hit.score});
    std::sort(first.begin(), first.end(), is_before);
    Candidates all;
    for (const Candidate& each : first) {
      if (all.empty() || is_before(all.back(), each)) {
        all.push_back(each);
      } else {  // the same document
        (each.by_words ? all.back().by_words : all.back().by_vector) =
            each.by_words ? each.by_words : each.by_vector;
      }
    }
    complete(all, fused);
    if (end == nearest_.end()) return all;
    const double needed = score_of_last(all, top_k);
    Candidates more;
    for (; end < nearest_.end() && fused(end->score, last_words) >= needed; ++end) {
      const Candidate each{end->id, end->score, std::nullopt};
      const bool is_there = std::binary_search(first.begin(), first.end(), each, is_before);
      if (!is_there) more.push_back(each);
    }
    std::sort(more.begin(), more.end(), is_before);
    complete(more, fused);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static bool is_before(const Candidate& a, const Candidate& b) { return a.row < b.row; }

  // The score that others must have to be among the top_k.
  static double score_of_last(const Candidates& all, int64_t top_k) {
    std::vector<double> scores;
    for (const Candidate& each : all) scores.push_back(each.score);
    if (static_cast<int64_t>(scores.size()) < top_k) {
      return -std::numeric_limits<double>::infinity();
    }
    const auto last = scores.begin() + static_cast<std::ptrdiff_t>(top_k) - 1;
    std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
    return *last;
  }

  // Computes the scores that candidates lack; their rows rise. Leaves out those of less similarity
  // than the query asks for.
  void complete(Candidates& candidates, const FusedScore& fused) const {
    std::vector<int64_t> without_vector, without_words;
    for (const Candidate& each : candidates) {
      if (!each.by_vector) without_vector.push_back(each.row);
      if (!each.by_words) without_words.push_back(each.row);
    }
    std::vector<double> by_vector(without_vector.size()), by_words(without_words.size());
    segments_.score_rows(vector_, without_vector, by_vector.data());
    segments_.words().score(words_, without_words, by_words.data());
    const double *next_vector = by_vector.data(), *next_words = by_words.data();
    for (Candidate& each : candidates) {
      if (!each.by_vector) each.by_vector = *next_vector++;
      if (!each.by_words) each.by_words = *next_words++;
      each.score = fused(*each.by_vector, *each.by_words);
    }
    const auto is_far = [this](const Candidate& each) { return *each.by_vector < least_; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_far),
                     candidates.end());
  }

  // Best first, equal ones in the order of adding; each document once, with its best passage.
  IndexHits choose(Candidates candidates, int64_t top_k) const {
    const bool splits = segments_.model().passages.splits();
    const auto kept =
        splits ? candidates.size() : std::min(candidates.size(), static_cast<size_t>(top_k));
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(candidates.begin(), end, candidates.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return a.score != b.score ? a.score > b.score : a.row < b.row;
                      });
    IndexHits hits;
    for (auto each = candidates.begin(); each < end; ++each) {
      hits.push_back({segments_.vector(each->row), each->score, each->by_vector, each->by_words});
    }
    if (splits) keep_documents(hits, top_k);
    return hits;
  }

  const SegmentSet& segments_;
  const WordQuery words_;
  const float* const vector_;
  const double least_;
  const std::vector<Hit>& nearest_;
  const bool has_all_;
};

}  // namespace

bool fuses_candidates(const SearchSettings& settings, const IndexedModel& model) {
  const std::string& rule = settings.fusion.rule;
  return settings.mode == "hybrid" &&
         (rule == "cosine" || (rule == "max" && model.metric == VectorMetric::kInnerProduct));
}

std::vector<int64_t> search_candidates(const SegmentSet& segments, const SearchQueries& queries,
                                       int64_t top_k, const SearchSettings& settings,
                                       const std::vector<char>* allowed, CandidateWalk walk,
                                       std::vector<IndexHits>& results) {
  const bool by_max = settings.fusion.rule == "max";
  if (by_max) walk.breadth = 0;  // a walk may miss the document with the highest score
  std::optional<SegmentSet> some;
  if (allowed != nullptr) some = segments.only(*allowed);
  const SegmentSet& searched = some ? *some : segments;
  const int64_t size = searched.size();
  const int64_t least =
      std::max(kNear, 4 * top_k) * (segments.model().passages.splits() ? kPassagesForEach : 1);
  const auto nearest = searched.search_nearest(queries.vectors, top_k, least, walk);
  std::vector<std::vector<Hit>> of_all;
  if (allowed != nullptr && by_max) of_all = segments.search_nearest(queries.vectors, 1, 1, {});
  const auto& highest = of_all.empty() ? nearest : of_all;
  std::vector<char> is_left(results.size());
  run_parallel(static_cast<int64_t>(results.size()), 1, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    const bool has_all = static_cast<int64_t>(nearest[at].size()) == size;
    auto hits = QueryRanker(segments, queries, i, nearest[at], has_all)
                    .rank(top_k, settings.fusion,
                          highest[at].empty() ? 0 : highest[at].front().score, allowed);
    is_left[at] = hits ? 0 : 1;
    if (hits) results[at] = std::move(*hits);
  });
  std::vector<int64_t> left;
  for (size_t i = 0; i < is_left.size(); ++i) {
    if (is_left[i] != 0) left.push_back(static_cast<int64_t>(i));
  }
  return left;
}

}  // namespace simile::detail
