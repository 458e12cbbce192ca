// SPDX-License-Identifier: Apache-2.0
// What a search is asked and what it answers: the structs behind the flags of `simile search`, the
// bodies of POST /search and the calls of Searcher.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/index/document_store.h"
#include "simile/index/search_query.h"
#include "simile/index/search_settings.h"

namespace simile {

constexpr int64_t kRerankedHits = 100;  // by default, or top_k where that is more

struct SearchRequest {
  std::optional<std::vector<std::string>> query;
  std::optional<std::string> like;
  int64_t top_k = 10;
  std::optional<std::string> mode;
  std::optional<double> hybrid_weight;
  std::optional<std::string> hybrid_rule;
  std::optional<std::string> filter;  // none or empty: all documents
  bool rerank = false;
  std::optional<int64_t> rerank_hits;
  bool exact = false;
  bool text = true;
  bool marks = false;
  std::optional<std::string> prompt_name;
  Matrix<float> vectors;  // [queries, dimension] of the queries, or in their place; empty: none
  double most_hits = std::numeric_limits<double>::infinity();  // that top_k and rerank_hits may be

  void visit(OptionVisitor& v);  // all but the last two

  // Hits of each query that the index is searched for: top_k, or those that are ranked again.
  int64_t hits_to_find() const;
  SearchSettings over(SearchSettings of_index) const;
  MetadataFilter metadata_filter() const;
  // Errors (OptionError, kUsage): members that cannot go together, and a filter that is none.
  void check() const;
};

// Where a hit's text stands in a document that was split.
struct FoundPassage {
  int64_t number = 0, of = 0, begin = 0, end = 0;
  void visit(OptionVisitor& v);
};

struct FoundDocument {
  std::string id;
  double score = 0;
  std::optional<double> search_score, vector_score, lexical_score;
  std::optional<std::string> title, text;
  std::optional<FoundPassage> passage;
  std::optional<std::vector<std::vector<int64_t>>> marks;
  std::optional<ConfigNode> metadata;
  void visit(OptionVisitor& v);
};

struct SearchResult {
  std::vector<FoundDocument> hits;
  void visit(OptionVisitor& v);
};

struct SearchReply {
  std::string mode;
  std::vector<SearchResult> results;  // of each query
  std::optional<std::vector<std::string>> warnings;
  void visit(OptionVisitor& v);
};

// The field `mode` of a request.
void visit_mode(OptionVisitor& v, std::optional<std::string>& mode, const std::string& help);

// A document's metadata as a part of a reply; none for none.
std::optional<ConfigNode> show_metadata(const std::string& metadata);

FoundDocument show_hit(const SearchHit& hit, bool with_text = true);

}  // namespace simile
