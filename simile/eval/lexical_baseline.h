// SPDX-License-Identifier: Apache-2.0
// Word overlap, the baseline to beat. Words are those of text/words.h; N is the number of
// texts of the collection, df the number of those with the word, tf its count in a text.
//
//   bm25    that of simile/index/score_fusion.h
//   tfidf   cosine of vectors of tf * idf with idf = ln((1 + N) / (1 + df)) + 1 (as scikit-learn's
//           default)
//
// For a ranking the collection is the corpus; query words that are not in it are ignored. For pairs
// it is all distinct texts of the left and right sides; bm25 is then the mean of both directions,
// as pairs have no query side. Texts without words score 0, and a search of the corpus finds only
// documents that share a word with the query. Exact; the same for any number of threads.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simile/eval/scorer.h"

namespace simile {

class LexicalScorer : public Scorer {
 public:
  std::string name() const override { return is_bm25_ ? "bm25" : "tfidf"; }
  std::vector<double> score_pairs(const std::vector<std::string>& left,
                                  const std::vector<std::string>& right) override;
  std::unique_ptr<CorpusScores> score_corpus(const std::vector<std::string>& queries,
                                             const std::vector<std::string>& corpus) override;
  std::vector<std::string> notes() const override;

 protected:
  // `language`: see split_words().
  LexicalScorer(bool is_bm25, std::string language)
      : is_bm25_(is_bm25), language_(std::move(language)) {}

 private:
  bool is_bm25_;
  std::string language_;
};

struct Bm25Scorer : LexicalScorer {
  explicit Bm25Scorer(const std::string& language = "none") : LexicalScorer(true, language) {}
};
struct TfidfScorer : LexicalScorer {
  explicit TfidfScorer(const std::string& language = "none") : LexicalScorer(false, language) {}
};

// "bm25" or "tfidf"; null for any other name.
std::unique_ptr<Scorer> make_lexical_scorer(const std::string& name,
                                            const std::string& language = "none");

}  // namespace simile
