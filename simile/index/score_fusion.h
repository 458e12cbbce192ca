// SPDX-License-Identifier: Apache-2.0
// Scores documents by their words (BM25), and by words and vectors as one.
//
// A fusion takes two scores of every document for one query, by its words and by its vector. With w
// the weight of the vectors,
//
//   fused = w V(vectors) + (1 - w) W(words)
//
// where V and W bring the scores of all documents that are ranked to one scale:
//
//   cosine  V = s / spread, the spread of the model's similarity (below), and W = s / max, max
//         being the highest of the documents; zeros where that is 0. Needs no statistics of the
//         corpus. Takes every similarity
//   zsum  V, W = (s - mean) / deviation over the documents, the deviation that of the population
//         (divided by their number); zeros where all scores are equal (Montague & Aslam, "Relevance
//         score normalization for metasearch", CIKM 2001)
//   rrf   V, W = 1 / (60 + rank) with rank = 1 + the number of documents that score higher, so
//         equal scores share one; W = 0 for a document that the words do not find, which is one
//         whose score is 0 (Cormack, Clarke & Buettcher, SIGIR 2009, there without weights, which
//         is w = 1/2)
//   max   V = (s + 1) / (max + 1) and W = s / max, max being the highest of the documents; zeros
//         where the divisor is 0. Needs no statistics of the corpus, and cosines as vectors' scores
//
// Scores are finite, those of words 0 or more. Fused scores depend on the two lists alone; sums are
// in double, in the order of the lists. On the thread that calls.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

enum class FusionRule { kCosine, kZSum, kReciprocalRank, kMax };
// From "cosine", "zsum", "rrf" or "max"; another name is ErrorKind::kRecipe.
FusionRule parse_fusion_rule(const std::string& name);

struct FusionOptions {
  double weight = 0.875;
  std::string rule = "cosine";

  static OptionInfo weight_info() {
    return {
        "share of the vectors in the scores of a hybrid; the rest is BM25's. An evaluation of a "
        "ranking with judgements of dev chooses its own",
        "", 0, 1};
  }
  static OptionInfo rule_info() {
    return choice_info(
        "how a hybrid combines a query's scores. cosine: the similarity, and BM25 divided by its "
        "highest; max: (1 + similarity) and BM25, each divided by its highest; zsum: both scaled "
        "to mean 0 and deviation 1; rrf: reciprocal ranks. zsum and rrf need the scores of all "
        "documents, which takes longer in a large index",
        {"cosine", "zsum", "rrf", "max"});
  }
  void visit(OptionVisitor& v) {
    v.field("hybrid_weight", weight, weight_info());
    v.field("hybrid_rule", rule, rule_info());
  }
};

inline double fuse_scaled(double weight, double vector, double word) {
  return weight * vector + (1 - weight) * word;
}

// The rules cosine and max as a function of a document's two scores, given the highest of all
// documents. It never falls when one of the scores rises, also in rounded numbers.
struct FusedScore {
  FusionRule rule;
  double weight, spread;
  double highest_vector, highest_words;

  double of_vector(double score) const;  // V
  double of_words(double score) const;   // W
  double operator()(double by_vector, double by_words) const {
    return fuse_scaled(weight, of_vector(by_vector), of_words(by_words));
  }
};

// Whether the rule max takes a vector's score.
bool may_be_cosine(double score);

// V and W of each document, in place. Errors: ErrorKind::kUsage for the rule max and a vector's
// score that is not a cosine.
void scale_scores(FusionRule rule, double spread, double* vectors, double* words, int64_t count);
// Scales both, then vectors[i] becomes the fused score of document i. Errors: those of
// scale_scores().
void fuse_scores(FusionRule rule, double weight, double spread, double* vectors, double* words,
                 int64_t count);

// The sentences that measure the spread of a model's similarities: the cosines of one model lie
// between 0 and 1, those of another between 0.7 and 1, and dot products have no limits. The spread
// is the mean similarity of each of these unrelated sentences with itself minus that of two
// different ones. It belongs to the model, so an index of any size and an evaluation scale alike.
const std::vector<std::string>& spread_texts();
// scores[i * n + j]: text i as a query, text j as a document. 1 where the mean is not above 0.
double similarity_spread(const std::vector<double>& scores);

// BM25: how much the words of a document say of it, for evaluation and for search alike, so that
// both rank by the same bits. Words are those of text/words.h.
//
//   score(q, d) = sum over the words of q, with repetition, of weight(d)
//   weight(d)   = idf * tf / (tf + k1 (1 - b + b |d| / mean |d|))
//   idf         = ln(1 + (N - df + 0.5) / (df + 0.5))
//
// N is the number of documents, df the number of those with the word, tf its count in d, |d| the
// number of words of d (Robertson & Zaragoza 2009; as Lucene, whose idf is never negative). Weights
// are rounded to float; scores are added up in double, by the words in the order of their bytes,
// each one's weight times its count in q.
struct Bm25 {
  double k1 = 1.2, b = 0.75;

  static double idf(int64_t documents, int64_t document_frequency) {
    const auto N = static_cast<double>(documents), df = static_cast<double>(document_frequency);
    return std::log(1 + (N - df + 0.5) / (df + 0.5));
  }
  float weight(double idf, int64_t count, int64_t length, double mean_length) const {
    const auto tf = static_cast<double>(count);
    const double relative = mean_length > 0 ? static_cast<double>(length) / mean_length : 0;
    return static_cast<float>(idf * tf / (tf + k1 * (1 - b + b * relative)));
  }
};

}  // namespace simile
