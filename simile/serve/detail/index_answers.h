// SPDX-License-Identifier: Apache-2.0
// What the routes of an index share. Errors are those of a request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/serve/detail/route_answers.h"

namespace simile::detail {

using SearchResults = std::vector<std::vector<SearchHit>>;

// Errors: kModelCannot for a server without an index.
ServedIndex& index_of(const Engine& engine);

// The index's own, with the mode that the body asks for.
SearchSettings read_settings(const JsonRequest& request, const ServedIndex& index);

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name);

// The vectors that the index keeps of such documents, one for each passage.
Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents);

SearchResults search_index(const Engine& engine, const RouteCall& call, SearchQueries queries,
                           int64_t top_k, const SearchSettings& settings);

// What the hits of one answer take: ids, titles, metadata, and texts where these are given.
class AnswerSize {
 public:
  // `with_text` false: texts are left out. `advice`: what the client of an answer that is too large
  // can do.
  AnswerSize(int64_t most_bytes, bool with_text, std::string advice);

  // Counts the hits, whose texts become empty where they are left out. Errors: kTooLarge.
  void add(std::vector<SearchHit>& hits);

 private:
  const int64_t most_;
  const bool with_text_;
  const std::string advice_;
  int64_t bytes_ = 0;
};

// As `simile search --json` shows it.
OrderedJson show_hit(const SearchHit& hit, bool with_text = true);

// `id`, which `name` in the body gave. Errors: kInvalid for an empty one, or of more than 1000
// bytes.
std::string checked_id(std::string id, const std::string& name);

}  // namespace simile::detail
