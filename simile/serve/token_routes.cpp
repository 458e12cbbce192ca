// SPDX-License-Identifier: Apache-2.0
// /embed_all, and /embed_sparse, which is refused.
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/request_error.h"

namespace simile::detail {

Reply answer_embed_all(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  TextGroup group = read_group(request);
  group.inputs = request.inputs("inputs");
  Reply reply;
  reply.body = "[";
  for (const Matrix<float>& vectors :
       engine.embedder().token_vectors(group, call.patience, call.cost)) {
    reply.body += reply.body.size() > 1 ? ",[" : "[";
    for (int64_t i = 0; i < vectors.rows; ++i) {
      if (i > 0) reply.body += ',';
      append_vector(reply.body, vectors.row(i), vectors.cols);
    }
    reply.body += ']';
  }
  reply.body += ']';
  return reply;
}

Reply answer_embed_sparse(const Engine&, const RouteCall&) {
  throw RequestError(Refusal::kModelCannot,
                     "the model has no weights of words (SPLADE); /embed gives its vectors, and "
                     "/search with \"mode\": \"hybrid\" goes by words too");
}

}  // namespace simile::detail
