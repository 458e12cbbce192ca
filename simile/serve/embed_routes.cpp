// SPDX-License-Identifier: Apache-2.0
// /embed, /v1/embeddings and /embeddings.
#include <fmt/format.h>

#include "simile/serve/detail/route_answers.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

VectorOptions read_vector_options(const JsonRequest& request, const Engine& engine) {
  VectorOptions options;
  const int64_t size = engine.model().encoder->settings().embedding_size();
  options.dimensions = request.integer_or("dimensions", 0, 1, size);
  return options;
}

}  // namespace

Reply answer_embed(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  TextGroup group = read_group(request);
  group.inputs = request.inputs("inputs");
  VectorOptions options = read_vector_options(request, engine);
  options.normalize = request.flag("normalize").value_or(true);
  const Matrix<float> vectors =
      engine.embedder().embed({std::move(group)}, options, call.patience, call.cost);
  Reply reply;
  reply.body = "[";
  for (int64_t i = 0; i < vectors.rows; ++i) {
    if (i > 0) reply.body += ',';
    append_vector(reply.body, vectors.row(i), vectors.cols);
  }
  reply.body += ']';
  return reply;
}

Reply answer_embeddings(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  TextGroup group;
  group.inputs = request.inputs("input", engine.limits().bulk_texts);
  const bool base64 = request.choice("encoding_format", {"float", "base64"}) == "base64";
  const VectorOptions options = read_vector_options(request, engine);
  const std::string model = request.text_or("model", "");
  if (!model.empty()) check_model(engine, model);
  const Matrix<float> vectors =
      engine.embedder().embed({std::move(group)}, options, call.patience, call.cost);
  Reply reply;
  reply.body = R"({"object":"list","data":[)";
  for (int64_t i = 0; i < vectors.rows; ++i) {
    reply.body += i > 0 ? "," : "";
    reply.body += R"({"object":"embedding","embedding":)";
    if (base64) {
      const auto* bytes = reinterpret_cast<const char*>(vectors.row(i));
      const size_t size = static_cast<size_t>(vectors.cols) * sizeof(float);
      reply.body += '"' + encode_base64({bytes, size}) + '"';
    } else {
      append_vector(reply.body, vectors.row(i), vectors.cols);
    }
    reply.body += fmt::format(R"(,"index":{}}})", i);
  }
  reply.body += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                            dump_json(engine.name(), -1), call.cost.tokens, call.cost.tokens);
  return reply;
}

}  // namespace simile::detail
