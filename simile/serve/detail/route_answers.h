// SPDX-License-Identifier: Apache-2.0
// The answers of the routes in the table of routes.cpp, and what they share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simile/core/matrix.h"
#include "simile/serve/detail/json_request.h"
#include "simile/serve/routes.h"

namespace simile::detail {

using OrderedJson = nlohmann::ordered_json;

Reply answer_embed(const Engine& engine, const RouteCall& call);
Reply answer_embed_all(const Engine& engine, const RouteCall& call);
Reply answer_embed_sparse(const Engine& engine, const RouteCall& call);
Reply answer_embeddings(const Engine& engine, const RouteCall& call);  // OpenAI's
Reply answer_similarity(const Engine& engine, const RouteCall& call);
Reply answer_rerank(const Engine& engine, const RouteCall& call);
Reply answer_tokenize(const Engine& engine, const RouteCall& call);
Reply answer_decode(const Engine& engine, const RouteCall& call);
Reply answer_search(const Engine& engine, const RouteCall& call);
Reply answer_map(const Engine& engine, const RouteCall& call);
Reply answer_add(const Engine& engine, const RouteCall& call);     // to the index
Reply answer_delete(const Engine& engine, const RouteCall& call);  // from it
Reply answer_delete_one(const Engine& engine, const RouteCall& call);
Reply answer_document(const Engine& engine, const RouteCall& call);
Reply answer_runs(const Engine& engine, const RouteCall& call);
Reply answer_run(const Engine& engine, const RouteCall& call);         // report of one of them
Reply answer_run_report(const Engine& engine, const RouteCall& call);  // report of several
Reply answer_info(const Engine& engine, const RouteCall& call);
Reply answer_models(const Engine& engine, const RouteCall& call);  // OpenAI's
Reply answer_model(const Engine& engine, const RouteCall& call);
// One model is served: who asks for another is told, not given other vectors than asked for.
// Errors: kUnknownModel.
void check_model(const Engine& engine, const std::string& name);
Reply answer_health(const Engine& engine, const RouteCall& call);
Reply answer_metrics(const Engine& engine, const RouteCall& call);
Reply answer_openapi(const Engine& engine, const RouteCall& call);
Reply answer_web(const Engine& engine, const RouteCall& call);  // the page's files

// `truncate`, `truncation_direction` and `prompt_name` of a body.
TextGroup read_group(const JsonRequest& request);
// Texts that are read as `like` says.
TextGroup make_group(const std::vector<std::string>& texts, const TextGroup& like,
                     TextRole role = TextRole::kAny);

// Appends "[0.1,-2]", the shortest digits that read as the same float.
void append_vector(std::string& out, const float* vector, int64_t D);

Reply json_reply(const OrderedJson& json);

}  // namespace simile::detail
