// SPDX-License-Identifier: Apache-2.0
// What a search is asked, and what it answers, as structs that options.h reads, writes and
// documents. Nothing here knows HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/index/search_index.h"
#include "simile/index/search_settings.h"

namespace simile {

constexpr int64_t kMostHits = 1000;     // of a query; reranked, of all queries together
constexpr int64_t kRerankedHits = 100;  // by default, or top_k where that is more
constexpr int64_t kLongestId = 1000;    // bytes

struct SearchRequest {
  std::optional<std::vector<std::string>> query;
  std::optional<std::string> like;
  int64_t top_k = 10;
  std::optional<std::string> mode;
  std::string filter;
  bool rerank = false;
  std::optional<int64_t> rerank_hits;
  bool exact = false;
  bool text = true;
  bool marks = false;
  std::optional<std::string> prompt_name;
  void visit(OptionVisitor& v);
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
  std::optional<ConfigNode> metadata;
  std::optional<std::vector<std::vector<int64_t>>> marks;
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
