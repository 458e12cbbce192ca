// SPDX-License-Identifier: Apache-2.0
// Search by words (BM25, score_fusion.h) in the live documents of an index, which are known by the
// numbers of their rows (segment_set.h). Scores are the bits that an evaluation of BM25 has for a
// corpus of these documents.
//
// The best documents are found in two steps. The code of a posting alone bounds what its word adds
// to a score (word_file.h), so the bounds of all documents of a segment are added up first, a read
// and an addition a posting. Then documents are scored exactly, those with the highest bounds
// first, until no other bound reaches the k-th best score: a few more than k. To skip postings
// (MaxScore) was tried and took longer: with additions so cheap, choosing what to skip costs more.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simile/index/detail/segment_set.h"
#include "simile/index/detail/word_file.h"

namespace simile::detail {

struct WordHit {
  int64_t row = 0;
  double score = 0;
};

// A query's words that live documents have, in the order of their bytes, found in each segment.
struct WordQuery {
  struct Word {
    std::string text;
    double count = 0;       // in the query
    int64_t documents = 0;  // that have it
    double idf = 0;
    std::vector<WordPostings> postings;  // of each segment
  };
  std::vector<Word> words;
};

class WordSearch {
 public:
  // Reads and verifies the words of all segments. `language`: that which their words were cut by
  // (split_words()).
  explicit WordSearch(std::vector<LiveSegment> segments, std::string language = "none");

  int64_t documents() const { return begins_.back(); }

  WordQuery prepare(const std::string& text) const;

  // The k best of the documents that share a word with the query, best first, equal ones by their
  // rows. `allowed` [documents()]: which of them may be hits, in the order of adding; null: all.
  std::vector<WordHit> best(const WordQuery& query, int64_t k,
                            const std::vector<char>* allowed = nullptr) const;
  // The highest score of all documents; 0: none shares a word with the query.
  double highest(const WordQuery& query) const;

  // scores[i] of the document rows[i]; rows rise. 0 where a document shares no word.
  void score(const WordQuery& query, const std::vector<int64_t>& rows, double* scores) const;
  // The words that the document of the row has; their scores add up to its own.
  std::vector<ScoreExplanation::Word> explain(const WordQuery& query, int64_t row) const;
  // scores [documents()], in the order of adding.
  void score_all(const WordQuery& query, double* scores) const;
  // The document's position in this order; -1: it was removed.
  int64_t place(int64_t row) const;

 private:
  friend class BestWords;
  using Impacts = std::array<float, kCountClasses * kLengthClasses>;

  // Calls use(i, its count in rows[i], its part of the score) for the rows of segment s, which
  // rise, that have the word.
  template <typename Use>
  void find_rows(const WordQuery::Word& word, size_t s, const std::vector<uint16_t>& rows,
                 const Use& use) const;
  void score_within(const WordQuery& query, size_t s, const std::vector<uint16_t>& rows,
                    double* scores) const;

  const std::vector<LiveSegment> segments_;
  const std::string language_;
  std::vector<const WordFile*> files_;
  std::vector<int64_t> begins_ = {0};  // the position of each segment's first document, and the end
  std::vector<Impacts> impacts_;       // of each segment: the highest share of idf, by code
  double mean_length_ = 0;
};

}  // namespace simile::detail
