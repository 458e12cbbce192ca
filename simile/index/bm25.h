// SPDX-License-Identifier: Apache-2.0
// BM25: how much the words of a document say of it, for evaluation and for search alike, so that
// both rank by the same bits. Words are those of text/split_words.h.
//
//   score(q, d) = sum over the words of q, with repetition, of weight(d)
//   weight(d)   = idf * tf / (tf + k1 (1 - b + b |d| / mean |d|))
//   idf         = ln(1 + (N - df + 0.5) / (df + 0.5))
//
// N is the number of documents, df the number of those with the word, tf its count in d, |d| the
// number of words of d (Robertson & Zaragoza 2009; as Lucene, whose idf is never negative). Weights
// are rounded to float; scores are added up in double, by the words in the order of their bytes,
// each one's weight times its count in q.
#pragma once

#include <cmath>
#include <cstdint>

namespace simile {

struct Bm25 {
  double k1 = 1.2, b = 0.75;

  float weight(int64_t documents, int64_t document_frequency, int64_t count, int64_t length,
               double mean_length) const {
    const auto N = static_cast<double>(documents), df = static_cast<double>(document_frequency);
    const auto tf = static_cast<double>(count);
    const double idf = std::log(1 + (N - df + 0.5) / (df + 0.5));
    const double relative = mean_length > 0 ? static_cast<double>(length) / mean_length : 0;
    return static_cast<float>(idf * tf / (tf + k1 * (1 - b + b * relative)));
  }
};

}  // namespace simile
