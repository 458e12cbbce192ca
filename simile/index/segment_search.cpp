// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/word_search.h"
#include "simile/index/score_fusion.h"

namespace simile {

SearchQueries SearchQueries::part(int64_t begin, int64_t end) const {
  SearchQueries part{{}, {}, filter, exact, min_similarity, explain};
  if (end <= static_cast<int64_t>(texts.size())) {
    part.texts.assign(texts.begin() + begin, texts.begin() + end);
  }
  if (end <= vectors.rows) {
    part.vectors = Matrix<float>(end - begin, vectors.cols);
    std::copy_n(vectors.row(begin), part.vectors.values.size(), part.vectors.values.begin());
  }
  return part;
}

namespace detail {
namespace {

constexpr int64_t kQueriesTogether = 512;  // bounds what all their candidates take
constexpr int64_t kCandidateRows = 2000;   // documents from which on candidates are enough
constexpr int64_t kScoresTogether = int64_t{1} << 22;  // of a block of queries, of each kind

// Takes out of `selected`, one for each document, those of less similarity.
void leave_out_far(const double* similarities, const std::optional<double>& least,
                   std::vector<char>& selected) {
  for (size_t i = 0; least && i < selected.size(); ++i) {
    selected[i] = static_cast<char>(selected[i] != 0 && similarities[i] >= *least);
  }
}

// Leaves the best of the selected passages of each document, equal ones by their position.
void keep_best_passages(const SegmentSet& segments, const std::vector<double>& scores,
                        std::vector<char>& selected) {
  size_t at = 0, best = 0;
  int64_t document = -1;  // that the best one is of
  for (const LiveSegment& live : segments.segments()) {
    for (int64_t i = 0; i < live.size(); ++i, ++at) {
      if (selected[at] == 0) continue;
      const int64_t of_passage = live.vector(i).key / kMostPassages;
      const bool is_worse = of_passage == document && scores[at] <= scores[best];
      if (of_passage == document) selected[is_worse ? at : best] = 0;
      if (!is_worse) best = at;
      document = of_passage;
    }
  }
}

// The best of the selected scores, equal ones by their position, which comes from take(i).
template <typename Take>
void take_best(const std::vector<double>& scores, const std::vector<char>& selected, int64_t top_k,
               const Take& take) {
  std::vector<size_t> places;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (selected[i] != 0) places.push_back(i);
  }
  const auto kept = std::min(places.size(), static_cast<size_t>(std::max<int64_t>(top_k, 0)));
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(places.begin(), end, places.end(), [&](size_t a, size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  std::for_each(places.begin(), end, take);
}

// The vector at a position in the order of adding.
VectorKey vector_at(const SegmentSet& segments, size_t place) {
  auto live = segments.segments().begin();
  auto i = static_cast<int64_t>(place);
  for (; i >= live->size(); ++live) i -= live->size();
  return live->vector(i);
}

// Sets the hits of the chosen queries by scores of all documents.
void search_all(const SegmentSet& segments, const SearchQueries& queries,
                const std::vector<int64_t>& chosen, int64_t top_k, const SearchSettings& settings,
                const std::vector<char>* allowed, std::vector<IndexHits>& results) {
  const FusionRule rule = parse_fusion_rule(settings.fusion.rule);
  const IndexedModel& model = segments.model();
  const auto count = static_cast<int64_t>(chosen.size()), N = segments.size();
  const int64_t together = std::clamp<int64_t>(kScoresTogether / std::max<int64_t>(N, 1), 1, 32);
  for (int64_t first = 0; N > 0 && first < count; first += together) {
    Matrix<float> block(std::min(together, count - first), model.dimension);
    const auto query = [&](int64_t i) { return chosen[static_cast<size_t>(first + i)]; };
    for (int64_t i = 0; i < block.rows; ++i) {
      std::copy_n(queries.vectors.row(query(i)), block.cols, block.row(i));
    }
    Matrix<double> by_vector(block.rows, N);
    segments.score(block.values.data(), block.rows, by_vector.values.data());
    run_parallel(block.rows, 1, [&](int64_t i) {
      std::vector<double> words(static_cast<size_t>(N));
      std::vector<double> fused(by_vector.row(i), by_vector.row(i) + N);
      const WordSearch& search = segments.words();
      search.score_all(search.prepare(queries.texts[static_cast<size_t>(query(i))]), words.data());
      std::vector<double> scaled = words;
      fuse_scores(rule, settings.fusion.weight, model.spread, fused.data(), scaled.data(), N);
      std::vector<char> selected = allowed ? *allowed : std::vector<char>(words.size(), 1);
      leave_out_far(by_vector.row(i), queries.min_similarity, selected);
      if (model.passages.splits()) keep_best_passages(segments, fused, selected);
      take_best(fused, selected, top_k, [&](size_t at) {
        results[static_cast<size_t>(query(i))].push_back({vector_at(segments, at), fused[at],
                                                          by_vector.at(i, static_cast<int64_t>(at)),
                                                          words[at]});
      });
    });
  }
}

// find(passages) returns hits of passages, best first: the best passages of top_k documents.
template <typename Find>
std::vector<IndexHits> find_documents(const SegmentSet& segments, int64_t top_k, const Find& find) {
  if (!segments.model().passages.splits()) return find(top_k);
  const int64_t all = segments.size();
  for (int64_t passages = top_k;;) {
    passages = std::min(all, passages * kPassagesForEach);
    std::vector<IndexHits> results = find(passages);
    bool enough = true;
    for (IndexHits& hits : results) {
      const bool is_end = static_cast<int64_t>(hits.size()) < passages;
      keep_documents(hits, top_k);
      enough = enough && (is_end || static_cast<int64_t>(hits.size()) == top_k);
    }
    if (enough || passages == all) return results;
  }
}

std::vector<IndexHits> search_vectors(const SegmentSet& segments, const SearchQueries& queries,
                                      int64_t top_k, const std::vector<char>* allowed) {
  std::optional<SegmentSet> some;
  if (allowed != nullptr) some = segments.only(*allowed);
  const SegmentSet& searched = some ? *some : segments;
  std::vector<IndexHits> results = find_documents(searched, top_k, [&](int64_t most) {
    return searched.search(queries.vectors, most, queries.exact);
  });
  for (IndexHits& hits : results) {
    const auto is_far = [&](const IndexHit& hit) { return hit.score < *queries.min_similarity; };
    if (!queries.min_similarity) break;
    hits.erase(std::find_if(hits.begin(), hits.end(), is_far), hits.end());
  }
  return results;
}

std::vector<IndexHits> search_words(const SegmentSet& segments, const SearchQueries& queries,
                                    int64_t top_k, const std::vector<char>* allowed) {
  const WordSearch& search = segments.words();
  return find_documents(segments, top_k, [&](int64_t most) {
    std::vector<IndexHits> results(queries.texts.size());
    run_parallel(static_cast<int64_t>(results.size()), 1, [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      for (const WordHit& hit : search.best(search.prepare(queries.texts[at]), most, allowed)) {
        results[at].push_back({segments.vector(hit.row), hit.score, std::nullopt, hit.score});
      }
    });
    return results;
  });
}

std::vector<IndexHits> search_both(const SegmentSet& segments, const SearchQueries& queries,
                                   int64_t top_k, const SearchSettings& settings,
                                   const std::vector<char>* allowed, const CandidateWalk& walk) {
  segments.check_queries(queries.vectors);
  segments.verify_vectors();
  std::vector<IndexHits> results(queries.texts.size());
  std::vector<int64_t> left(results.size());
  std::iota(left.begin(), left.end(), 0);
  if (segments.size() >= kCandidateRows && top_k > 0 && !queries.exact &&
      fuses_candidates(settings, segments.model())) {
    left = search_candidates(segments, queries, top_k, settings, allowed, walk, results);
  }
  search_all(segments, queries, left, top_k, settings, allowed, results);
  return results;
}

}  // namespace

std::vector<IndexHits> search_segments(const SegmentSet& segments, const SearchQueries& queries,
                                       int64_t top_k, const SearchSettings& settings,
                                       const std::vector<char>* allowed,
                                       const CandidateWalk* walk) {
  const int64_t count =
      settings.by_words() ? static_cast<int64_t>(queries.texts.size()) : queries.vectors.rows;
  SIMILE_CHECK(!settings.by_vectors() || queries.vectors.rows == count, ErrorKind::kUsage,
               "index: {} texts of queries and {} vectors; a search in mode {} needs both of each",
               count, queries.vectors.rows, settings.mode);
  SIMILE_CHECK(!queries.min_similarity || settings.by_vectors(), ErrorKind::kUsage,
               "index: a search with a least similarity needs vectors, and the mode is lexical");
  CandidateWalk own = walk == nullptr ? segments.own_walk() : *walk;
  std::vector<IndexHits> results;
  for (int64_t begin = 0; begin < count; begin += kQueriesTogether) {
    const SearchQueries part = queries.part(begin, std::min(count, begin + kQueriesTogether));
    std::vector<IndexHits> found =
        !settings.by_words()     ? search_vectors(segments, part, top_k, allowed)
        : !settings.by_vectors() ? search_words(segments, part, top_k, allowed)
                                 : search_both(segments, part, top_k, settings, allowed, own);
    std::move(found.begin(), found.end(), std::back_inserter(results));
    if (own.without != nullptr) own.without += kQueriesTogether;
  }
  return results;
}

void keep_documents(IndexHits& hits, int64_t top_k) {
  std::set<int64_t> seen;
  const auto is_out = [&](const IndexHit& hit) {
    return static_cast<int64_t>(seen.size()) == top_k ||
           !seen.insert(hit.vector.key / kMostPassages).second;
  };
  hits.erase(std::remove_if(hits.begin(), hits.end(), is_out), hits.end());
}

std::vector<char> find_all(const SegmentSet& segments, const SearchQueries& query,
                           const SearchSettings& settings, const std::vector<char>* allowed) {
  SIMILE_CHECK(!query.min_similarity || query.vectors.rows == 1, ErrorKind::kUsage,
               "index: a search with a least similarity needs a vector for each query");
  segments.check_queries(query.vectors);
  const auto count = static_cast<size_t>(segments.size());
  std::vector<char> found = allowed != nullptr ? *allowed : std::vector<char>(count, 1);
  std::vector<double> scores(count);
  if (query.min_similarity) {
    segments.score(query.vectors.row(0), 1, scores.data());
    leave_out_far(scores.data(), query.min_similarity, found);
  }
  if (!settings.by_vectors()) {
    const WordSearch& words = segments.words();
    words.score_all(words.prepare(query.texts[0]), scores.data());
    leave_out_far(scores.data(), std::numeric_limits<double>::min(), found);
  }
  return found;
}

void explain_hits(const SegmentSet& segments, const SearchQueries& queries,
                  const SearchSettings& settings, std::vector<IndexHits>& hits) {
  const bool by_vectors = settings.by_vectors(), by_words = settings.by_words();
  const bool is_hybrid = by_vectors && by_words;
  const double weight = is_hybrid ? settings.fusion.weight : by_vectors ? 1 : 0;
  const std::string how = !by_words ? "similarity"
                          : !by_vectors
                              ? "BM25"
                              : fmt::format("{0:g} * V(similarity) + {1:g} * W(BM25), {2}", weight,
                                            1 - weight, settings.fusion.rule);
  for (size_t query = 0; query < hits.size(); ++query) {
    if (hits[query].empty()) continue;
    WordQuery words;
    if (by_words) words = segments.words().prepare(queries.texts[query]);
    std::vector<double> of_vectors, of_words;  // of all documents, scaled
    if (is_hybrid) {
      of_vectors.resize(static_cast<size_t>(segments.size()));
      of_words = of_vectors;
      segments.score(queries.vectors.row(static_cast<int64_t>(query)), 1, of_vectors.data());
      segments.words().score_all(words, of_words.data());
      scale_scores(parse_fusion_rule(settings.fusion.rule), segments.model().spread,
                   of_vectors.data(), of_words.data(), segments.size());
    }
    for (IndexHit& hit : hits[query]) {
      const int64_t row = segments.row_of(hit.vector.key);
      ScoreExplanation made{how, {}, {}, {}};
      if (by_vectors) made.vector_part = hit.score;
      if (by_words) made.word_part = hit.score;
      if (by_words) made.words = segments.words().explain(words, row);
      if (is_hybrid) {
        const auto at = static_cast<size_t>(segments.words().place(row));
        made.vector_part = weight * of_vectors[at];
        made.word_part = (1 - weight) * of_words[at];
      }
      hit.explanation = std::make_shared<const ScoreExplanation>(std::move(made));
    }
  }
}

}  // namespace detail
}  // namespace simile
