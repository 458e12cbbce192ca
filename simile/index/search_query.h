// SPDX-License-Identifier: Apache-2.0
// The inputs and results of a search in an index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/data/metadata_filter.h"
#include "simile/text/passages.h"

namespace simile {

// Queries of one search: a text for each row of `vectors` [q, dimension]; either may be empty where
// the mode does not need it. Hits are the documents that match the filter, with the scores and in
// the order of a search without it. A search by vectors, or by both with the rule cosine, may
// miss some of the best documents if the index has a graph, unless `exact`.
//
// In an index with passages each passage is scored like a document of its own: by its vector, by
// its words among the words of all passages, and by both. A document ranks by its best passage.
struct SearchQueries {
  std::vector<std::string> texts;
  Matrix<float> vectors;
  MetadataFilter filter = {};
  bool exact = false;  // score all documents
  // Find only documents, or passages, whose vectors have this similarity or more (by_vector).
  std::optional<double> min_similarity = {};
  bool explain = false;  // each hit gets its explanation

  SearchQueries part(int64_t begin, int64_t end) const;  // those from begin to end
};

// How a hit's score was made: vector_part + word_part is the score, to the bit. The scores of the
// words add up to the BM25 score in their order, which is that of their bytes.
struct ScoreExplanation {
  struct Word {
    std::string word;
    int64_t in_query = 0, in_document = 0;  // how often
    int64_t documents = 0;                  // how many have the word
    double score = 0;
    void visit(OptionVisitor& v);
  };
  std::string how;
  std::optional<double> vector_part, word_part;
  std::optional<std::vector<Word>> words;
  void visit(OptionVisitor& v);
};

// The place of a hit's text in a document that was split: passage `number`, from 0, of `of`;
// [begin, end) of the whole text, in code points.
struct FoundPassage {
  int64_t number = 0, of = 0, begin = 0, end = 0;
  void visit(OptionVisitor& v);
};

struct SearchHit {
  std::string id;
  std::string text;
  double score = 0;                 // higher is better
  std::optional<double> by_vector;  // see exact_search.h; none if vectors were not searched
  std::optional<double> by_words;   // see score_fusion.h; none if words were not searched
  std::string metadata = {};        // as in Document
  std::optional<double> by_search = std::nullopt;  // the search's score if `score` is a reranker's
  std::optional<FoundPassage> passage = {};        // the best one, which is `text`
  std::string title = {};                          // as in Document
  std::optional<ScoreExplanation> explanation = {};
};

// The counts to make of a metadata column.
struct Facet {
  std::string column;
  std::vector<double> bounds;  // between ranges of numbers, rising; none: count each value
  // From "lang" or "price:10,50". Errors: kUsage.
  static Facet parse(const std::string& written);
};

struct FacetCounts {
  struct Value {
    std::optional<ConfigNode> value;
    std::optional<double> from, to;  // in place of a value: from <= number < to
    int64_t count = 0;
    void visit(OptionVisitor& v);
  };
  std::string column;
  std::vector<Value> values;
  std::optional<int64_t> more_values;
  int64_t without = 0;
  void visit(OptionVisitor& v);
};

struct MatchCounts {
  int64_t documents = 0;
  std::vector<FacetCounts> facets;
};

}  // namespace simile
