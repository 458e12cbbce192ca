// SPDX-License-Identifier: Apache-2.0
// Word overlap: what a model has to beat. Words are those of text/split_words.h; N is the number of
// texts of the collection, df the number of those with the word, tf its count in a text.
//
//   bm25    that of simile/index/score_fusion.h
//   tfidf   cosine of vectors of tf * idf with idf = ln((1 + N) / (1 + df)) + 1 (as scikit-learn's
//           default)
//
// For a ranking the collection is the corpus; query words that are not in it are ignored. For pairs
// it is all distinct texts of the left and right sides; bm25 is then the mean of both directions,
// as pairs have no query side. Texts without words score 0, and a search of the corpus finds only
// documents that share a word with the query. Exact, threads over queries, same scores for any
// number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/eval/scorer.h"
#include "simile/index/score_fusion.h"

namespace simile {

class LexicalScorer : public Scorer {
 public:
  std::string name() const override { return is_bm25_ ? "bm25" : "tfidf"; }
  std::vector<double> score_pairs(const std::vector<std::string>& left,
                                  const std::vector<std::string>& right) override;
  std::unique_ptr<CorpusScores> score_corpus(const std::vector<std::string>& queries,
                                             const std::vector<std::string>& corpus) override;

 protected:
  explicit LexicalScorer(bool is_bm25) : is_bm25_(is_bm25) {}

 private:
  bool is_bm25_;
};

struct Bm25Scorer : LexicalScorer {
  Bm25Scorer() : LexicalScorer(true) {}
};
struct TfidfScorer : LexicalScorer {
  TfidfScorer() : LexicalScorer(false) {}
};

// "bm25" or "tfidf"; null for any other name.
std::unique_ptr<Scorer> make_lexical_scorer(const std::string& name);

}  // namespace simile
