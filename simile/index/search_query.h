// SPDX-License-Identifier: Apache-2.0
// What a search of an index takes, and what it finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/metadata_filter.h"
#include "simile/text/passages.h"

namespace simile {

// Queries of one search: a text for each row of `vectors` [q, dimension]; either may be empty where
// the mode does not need it. Hits are the documents that match the filter, with the scores and in
// the order of a search without it. A search by vectors alone may miss some of the best documents
// if the index has a graph, unless `exact`.
//
// In an index with passages each passage is scored like a document of its own: by its vector, by
// its words among the words of all passages, and by both. A document ranks by its best passage.
struct SearchQueries {
  std::vector<std::string> texts;
  Matrix<float> vectors;
  MetadataFilter filter = {};
  bool exact = false;  // do not use the graph
};

struct SearchHit {
  std::string id;
  std::string text;
  double score = 0;                 // higher is better
  std::optional<double> by_vector;  // see exact_search.h; none if vectors were not searched
  std::optional<double> by_words;   // see score_fusion.h; none if words were not searched
  std::string metadata = {};        // as in Document
  std::optional<double> by_search = std::nullopt;  // the search's score if `score` is a reranker's
  // The best passage of a document that was split: number `number`, from 0, of `of` passages.
  // `text` is this passage.
  struct Place {
    Passage characters;  // [begin, end) of the whole text, in code points
    int64_t number = 0;
    int64_t of = 0;
  };
  std::optional<Place> passage = std::nullopt;
  std::string title = {};  // as in Document
};

}  // namespace simile
