// SPDX-License-Identifier: Apache-2.0
// /embed, /embed_all, /embed_sparse (which is refused), /v1/embeddings and /embeddings. Vectors are
// written number by number, not as trees of JSON.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>

#include "simile/core/detail/json.h"
#include "simile/serve/detail/route_row.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

constexpr size_t kUsualNumber = 14, kLongestNumber = 32;  // characters with its comma, about
constexpr int64_t kTogether = 16;                         // numbers that are given room at a time

using Vectors = std::vector<std::vector<float>>;

const char* const kInputsHelp =
    "A text, a list of texts, or token ids (special ones included) in their place";

struct EmbedAllRequest : ReadingKeys {
  ConfigNode inputs;
  void visit(OptionVisitor& v) {
    v.field("inputs", inputs, inputs_info(kInputsHelp));
    ReadingKeys::visit(v);
  }
};

struct EmbedRequest : EmbedAllRequest, DimensionsKey {
  bool normalize = true;
  void visit(OptionVisitor& v) {
    v.field("inputs", inputs, inputs_info(kInputsHelp));
    v.field("normalize", normalize, {"Divide each vector by its length"});
    DimensionsKey::visit(v);
    ReadingKeys::visit(v);
  }
};

// OpenAI's.
struct EmbeddingsRequest : DimensionsKey {
  ConfigNode input;
  std::string model, encoding_format = "float", user;
  void visit(OptionVisitor& v) {
    v.field("input", input, inputs_info("A text, a list of texts, or token ids in their place"));
    v.field("model", model, {kModelNameHelp});
    v.field("encoding_format", encoding_format,
            choice_info("base64: the numbers as little-endian floats", {"float", "base64"}));
    DimensionsKey::visit(v);
    v.field("user", user, {"Ignored"});
  }
};

struct Embedding {
  std::string object = "embedding";
  ConfigNode embedding;
  int64_t index = 0;
  void visit(OptionVisitor& v) {
    v.required("object", object);
    v.field("embedding", embedding,
            OptionInfo{"The numbers, or their base64"}
                .required()
                .shaped_as<std::vector<float>, std::string>());
    v.required("index", index, "Which of the texts");
  }
};

struct EmbeddingsReply {
  std::string object = "list";
  std::vector<Embedding> data;
  std::string model;
  Usage usage;
  void visit(OptionVisitor& v) {
    v.required("object", object);
    v.required("data", data);
    v.required("model", model);
    v.required("usage", usage);
  }
};

void append_vectors(std::string& out, const Matrix<float>& vectors) {
  out += '[';
  for (int64_t i = 0; i < vectors.rows; ++i) {
    if (i > 0) out += ',';
    append_vector(out, vectors.row(i), vectors.cols);
  }
  out += ']';
}

Written<Vectors> embed(const Engine& engine, const RouteCall& call, const EmbedRequest& request) {
  TextGroup group = request.group(read_inputs(request.inputs, "inputs", engine.limits()));
  const VectorOptions options = {request.normalize, request.dimensions.value_or(0)};
  Reply reply;
  append_vectors(reply.body,
                 engine.embedder().embed({std::move(group)}, options, call.patience, call.cost));
  return {std::move(reply)};
}

Written<std::vector<Vectors>> embed_all(const Engine& engine, const RouteCall& call,
                                        const EmbedAllRequest& request) {
  const TextGroup group = request.group(read_inputs(request.inputs, "inputs", engine.limits()));
  Reply reply;
  reply.body = "[";
  for (const Matrix<float>& vectors :
       engine.embedder().token_vectors(group, call.patience, call.cost)) {
    if (reply.body.size() > 1) reply.body += ',';
    append_vectors(reply.body, vectors);
  }
  reply.body += ']';
  return {std::move(reply)};
}

Vectors embed_sparse(const Engine&, const RouteCall&) {
  throw RequestError(Refusal::kModelCannot,
                     "the model has no weights of words (SPLADE); /embed gives its vectors, and "
                     "/search with \"mode\": \"hybrid\" goes by words too");
}

// In place of EmbeddingsReply.
Written<EmbeddingsReply> embeddings(const Engine& engine, const RouteCall& call,
                                    const EmbeddingsRequest& request) {
  TextGroup group;
  group.inputs = read_inputs(request.input, "input", engine.limits(), BodySize::kBulk);
  if (!request.model.empty()) check_model(engine, call, request.model);
  const Matrix<float> vectors = engine.embedder().embed(
      {std::move(group)}, {true, request.dimensions.value_or(0)}, call.patience, call.cost);
  Reply reply;
  reply.body = R"({"object":"list","data":[)";
  for (int64_t i = 0; i < vectors.rows; ++i) {
    reply.body += i > 0 ? "," : "";
    reply.body += R"({"object":"embedding","embedding":)";
    if (request.encoding_format == "base64") {
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
  return {std::move(reply)};
}

}  // namespace

void append_vector(std::string& out, const float* vector, int64_t D) {
  out.reserve(out.size() + static_cast<size_t>(D) * kUsualNumber);
  out += '[';
  size_t end = out.size();
  for (int64_t begin = 0; begin < D; begin += kTogether) {
    const int64_t count = std::min(D - begin, kTogether);
    out.resize(end + static_cast<size_t>(count) * kLongestNumber);
    char* at = out.data() + end;
    for (int64_t i = begin; i < begin + count; ++i) {
      if (i > 0) *at++ = ',';
      at = fmt::format_to(at, FMT_COMPILE("{}"), vector[i]);
    }
    end = static_cast<size_t>(at - out.data());
  }
  out.resize(end);
  out += ']';
}

TextGroup ReadingKeys::group(std::vector<TextInput> inputs, TextRole role) const {
  TextGroup group;
  group.inputs = std::move(inputs);
  group.role = role;
  group.prompt_name = prompt_name;
  group.truncate = truncate;
  group.truncate_left = truncation_direction == "Left" || truncation_direction == "left";
  return group;
}

TextGroup ReadingKeys::group(const std::vector<std::string>& texts, TextRole role) const {
  std::vector<TextInput> inputs(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) inputs[i].text = texts[i];
  return group(std::move(inputs), role);
}

std::vector<Route> embed_routes() {
  Route sparse =
      route("embedSparse", "POST", "/embed_sparse",
            "Always refused with status 424, as TEI does: no model of Simile has weights of words",
            embed_sparse, {Refusal::kModelCannot});
  sparse.request = [](OptionVisitor& v) { EmbedAllRequest().visit(v); };  // documented, never read
  return {
      route("embed", "POST", "/embed", "Vectors of texts", embed),
      route("embedAtRoot", "POST", "/", "The same, where clients of TEI send it", embed),
      route("embedInvocation", "POST", "/invocations", "The same, where SageMaker sends it", embed),
      route("embedAll", "POST", "/embed_all",
            "Vectors of the tokens of texts, special ones included, as the encoder leaves them "
            "before pooling; of 8192 tokens at most, and only of models that have them (else "
            "status 424)",
            embed_all, {Refusal::kModelCannot}),
      sparse,
      route("createEmbedding", "POST", "/v1/embeddings",
            "Vectors of texts, as OpenAI's API gives them", embeddings, {Refusal::kUnknownModel}),
      route("createEmbeddingAsTei", "POST", "/embeddings", "The same, where TEI has it", embeddings,
            {Refusal::kUnknownModel})};
}

}  // namespace simile::detail
