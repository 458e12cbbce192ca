// SPDX-License-Identifier: Apache-2.0
// Requests and replies of a search: the structs behind the flags of `simile search`, the bodies of
// POST /search and the calls of Searcher.
#pragma once

#include <algorithm>
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

constexpr int64_t kMostShown = int64_t{1} << 40;  // keeps the sum of offset and top_k in range
constexpr int64_t kRerankedHits = 100;            // by default, or top_k where that is more

// The counts to make of the documents that are found.
struct CountRequest {
  bool count = false;
  std::optional<std::vector<std::string>> facets;
  int64_t facet_values = 100;

  void visit(OptionVisitor& v);
  bool counts() const { return count || facets.has_value(); }
  std::vector<Facet> parsed_facets() const;  // errors: OptionError (kUsage)
};

struct CountReply {
  std::optional<int64_t> count;
  std::optional<std::vector<FacetCounts>> facets;

  void visit(OptionVisitor& v);
  void take(const CountRequest& request, MatchCounts counts);
};

struct SearchRequest : CountRequest {
  std::optional<std::vector<std::string>> query;
  std::optional<std::string> like;
  std::optional<std::vector<std::vector<float>>> vector;  // of each query, or in its place
  int64_t top_k = 10;
  int64_t offset = 0;
  std::optional<std::string> mode;
  std::optional<double> hybrid_weight;
  std::optional<std::string> hybrid_rule;
  std::optional<std::string> filter;  // none or empty: all documents
  std::optional<double> min_similarity;
  bool rerank = false;
  std::optional<int64_t> rerank_hits;
  bool exact = false;
  bool explain = false;
  bool text = true;
  bool marks = false;
  std::optional<std::string> prompt_name;
  double most_hits = std::numeric_limits<double>::infinity();  // that top_k and rerank_hits may be

  void visit(OptionVisitor& v);  // all but the last

  void set_vectors(const Matrix<float>& rows);
  Matrix<float> vectors() const;  // [queries, dimension]; empty: none
  // Hits up to the last one that is shown, those that are skipped included.
  int64_t hits_shown() const { return offset + std::min(top_k, kMostShown - offset); }
  // Hits of each query that the index is searched for: those up to the last one that is shown, or
  // those that are ranked again.
  int64_t hits_to_find() const;
  // A search by a vector without a text goes by vectors alone, unless the request names a mode.
  // Errors (OptionError, kUsage): members that the mode has no use for.
  SearchSettings over(SearchSettings of_index) const;
  // Errors (OptionError, kUsage): members that cannot go together, and a filter that is none.
  void check() const;

 private:
  void check_vectors() const;
};

struct FoundDocument {
  std::string id;
  double score = 0;
  std::optional<double> search_score, vector_score, lexical_score;
  std::optional<std::string> title, text;
  std::optional<FoundPassage> passage;
  std::optional<std::vector<std::vector<int64_t>>> marks;
  std::optional<ConfigNode> metadata;
  std::optional<ScoreExplanation> explanation;
  void visit(OptionVisitor& v);
};

struct SearchResult : CountReply {
  std::vector<FoundDocument> hits;
  void visit(OptionVisitor& v);
};

struct SearchReply {
  std::string mode;
  std::vector<SearchResult> results;  // of each query
  std::optional<std::vector<std::string>> warnings;
  void visit(OptionVisitor& v);
};

// Documents in the order of adding, a page at a time. A page begins at the cursor of the page
// before, whatever was added, replaced or removed meanwhile: a document that stays is listed once,
// one that is added or replaced comes at the end.
struct ListRequest : CountRequest {
  std::optional<std::string> filter, cursor;
  int64_t limit = 100;
  bool text = false;
  double most_documents = std::numeric_limits<double>::infinity();  // that limit may be

  void visit(OptionVisitor& v);
};

struct ListedDocument {
  std::string id;
  std::optional<std::string> title, text;
  std::optional<int64_t> passages;
  std::optional<ConfigNode> metadata;
  void visit(OptionVisitor& v);
};

struct ListReply : CountReply {
  std::vector<ListedDocument> documents;
  std::optional<std::string> cursor;
  void visit(OptionVisitor& v);
};

// The field `mode` of a request.
void visit_mode(OptionVisitor& v, std::optional<std::string>& mode, const std::string& help);

// A document's metadata as a part of a reply; none for none.
std::optional<ConfigNode> show_metadata(const std::string& metadata);

FoundDocument show_hit(const SearchHit& hit, bool with_text = true);
ListedDocument show_document(const Document& document, bool with_text = true);

// Parses a filter; without one, or with an empty text, all documents match. Errors: OptionError
// (kUsage).
MetadataFilter parse_filter(const std::optional<std::string>& written);

}  // namespace simile
