// SPDX-License-Identifier: Apache-2.0
// What the routes of an index share. Errors are those of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/serve/detail/route_row.h"
#include "simile/serve/search_messages.h"

namespace simile::detail {

using SearchResults = std::vector<std::vector<SearchHit>>;

// Errors: kModelCannot for a server without an index.
ServedIndex& index_of(const Engine& engine);

// The index's own settings, with the mode that the request asks for.
SearchSettings settings_for(const ServedIndex& index, const std::optional<std::string>& mode);

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name);

// The vectors that the index keeps of such documents, one for each passage.
Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents);

SearchResults search_index(const Engine& engine, const RouteCall& call, SearchQueries queries,
                           int64_t top_k, const SearchSettings& settings);

// Counts the bytes of the hits of one answer: ids, titles, metadata, and texts where they are
// given.
class AnswerSize {
 public:
  // `with_text` false: texts are left out. `advice`: what the client can do about an answer that is
  // too large.
  AnswerSize(int64_t most_bytes, bool with_text, std::string advice);

  // Counts the hits, whose texts become empty where they are left out. Errors: kTooLarge.
  void add(std::vector<SearchHit>& hits);

 private:
  const int64_t most_;
  const bool with_text_;
  const std::string advice_;
  int64_t bytes_ = 0;
};

}  // namespace simile::detail
