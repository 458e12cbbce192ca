// SPDX-License-Identifier: Apache-2.0
// What the routes of an index share. Errors are those of a request.
#pragma once

#include <string>
#include <vector>

#include "simile/index/searcher.h"
#include "simile/serve/detail/route_row.h"

namespace simile::detail {

// Errors: kModelCannot for a server without an index.
ServedIndex& index_of(const Engine& engine);

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name);

// The vectors that the index keeps of such documents, one for each passage.
Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents);

// Answers one request by the workers, within its time and the server's limit of an answer's bytes:
// ids, titles, metadata, and texts if `with_text`. `advice`: what the client can do about a larger
// answer. Must not outlive the call.
Searcher searcher_of(const Engine& engine, const RouteCall& call, bool with_text,
                     const std::string& advice);

}  // namespace simile::detail
