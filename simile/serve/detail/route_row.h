// SPDX-License-Identifier: Apache-2.0
// A row of the table of routes (routes.cpp) from the structs of its request and reply and the
// function that answers it. The row reads the body, checks it against the server's limits, and
// writes the reply; both schemas come from the structs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "simile/index/searcher.h"
#include "simile/serve/detail/request_body.h"
#include "simile/serve/routes.h"

namespace simile::detail {

// A reply that is written already, or has headers: `T` describes its JSON.
template <typename T>
struct Written {
  Reply reply;
};

template <typename T>
Reply json_reply(const T& value) {
  Reply reply;
  reply.body = options_to_json(value, -1);
  return reply;
}

// How an answer is described in its row, and written: JSON, or a Reply as it is (HTML).
template <typename T>
struct ReplyOf {
  static void describe(Route& row) { row.reply_schema = &options_to_schema<T>; }
  static Reply write(const T& value) { return json_reply(value); }
};
template <typename T>
struct ReplyOf<Written<T>> {
  static void describe(Route& row) { row.reply_schema = &options_to_schema<T>; }
  static Reply write(Written<T> value) { return std::move(value.reply); }
};
template <>
struct ReplyOf<Reply> {
  static void describe(Route& row) { row.media_type = "text/html"; }
  static Reply write(Reply reply) { return reply; }
};

// A request with the most dimensions that the served model has.
struct DimensionsKey {
  std::optional<int64_t> dimensions;
  double most_dimensions = std::numeric_limits<double>::infinity();
  void visit(OptionVisitor& v) {
    v.field("dimensions", dimensions,
            {"How many leading dimensions are kept", "", 1, most_dimensions});
  }
};

// A route with a body.
template <typename Request, typename Answered>
Route route(const char* operation, const char* method, const char* path, const char* summary,
            Answered (*answer)(const Engine&, const RouteCall&, const Request&),
            std::vector<Refusal> refusals = {}, BodySize size = BodySize::kUsual) {
  Route row = {operation, method, path, summary};
  row.request = [](OptionVisitor& v) { Request().visit(v); };
  ReplyOf<Answered>::describe(row);
  row.refusals = std::move(refusals);
  row.answer = [answer, size](const Engine& engine, const RouteCall& call) {
    Request request;
    if constexpr (std::is_base_of_v<DimensionsKey, Request>) {
      request.most_dimensions =
          static_cast<double>(engine.model().encoder->settings().embedding_size());
    }
    read_body(call.body, engine.limits(), size, [&](OptionVisitor& v) { request.visit(v); });
    return ReplyOf<Answered>::write(answer(engine, call, request));
  };
  return row;
}

// A route whose request is in the address.
template <typename Request, typename Answered>
Route query_route(const char* operation, const char* path, const char* summary,
                  Answered (*answer)(const Engine&, const RouteCall&, const Request&),
                  std::vector<Refusal> refusals = {}) {
  Route row = {operation, "GET", path, summary};
  row.request = [](OptionVisitor& v) { Request().visit(v); };
  row.in_query = true;
  ReplyOf<Answered>::describe(row);
  row.refusals = std::move(refusals);
  row.answer = [answer](const Engine& engine, const RouteCall& call) {
    Request request;
    read_query(call.query, [&](OptionVisitor& v) { request.visit(v); });
    return ReplyOf<Answered>::write(answer(engine, call, request));
  };
  return row;
}

// A route without one.
template <typename Answered>
Route route(const char* operation, const char* method, const char* path, const char* summary,
            Answered (*answer)(const Engine&, const RouteCall&),
            std::vector<Refusal> refusals = {}) {
  Route row = {operation, method, path, summary};
  ReplyOf<Answered>::describe(row);
  row.refusals = std::move(refusals);
  row.answer = [answer](const Engine& engine, const RouteCall& call) {
    return ReplyOf<Answered>::write(answer(engine, call));
  };
  return row;
}

// A GET whose reply is not JSON, answered at once and without an API key.
inline Route page(const char* operation, const char* path, const char* summary,
                  const char* media_type, Reply (*tell)(const StateCall&)) {
  Route row = {operation, "GET", path, summary};
  row.media_type = media_type;
  row.open = true;
  row.tell = tell;
  return row;
}

// The rows, by the sources that answer them.
std::vector<Route> embed_routes();
std::vector<Route> compare_routes();
std::vector<Route> predict_routes();
std::vector<Route> model_routes();
std::vector<Route> search_routes();
std::vector<Route> map_routes();
std::vector<Route> document_routes();
std::vector<Route> run_routes();
Reply answer_web(const StateCall& call);  // the page's files

// How a request's texts are read.
struct ReadingKeys {
  bool truncate = true;
  std::string truncation_direction = "Right";
  std::string prompt_name;
  void visit(OptionVisitor& v) {
    v.field("truncate", truncate,
            {"Cut texts that are longer than the model reads; false refuses them"});
    v.field("truncation_direction", truncation_direction,
            choice_info("Where they lose tokens", {"Right", "Left", "right", "left"}));
    v.field("prompt_name", prompt_name, {"Which of the model's prompts is put before each text"});
  }
  // Such texts.
  TextGroup group(std::vector<TextInput> inputs, TextRole role = TextRole::kAny) const;
  TextGroup group(const std::vector<std::string>& texts, TextRole role = TextRole::kAny) const;
};

// OpenAI's, as Jina has it too.
struct Usage {
  int64_t prompt_tokens = 0, total_tokens = 0;
  void visit(OptionVisitor& v) {
    v.required("prompt_tokens", prompt_tokens);
    v.required("total_tokens", total_tokens);
  }
};

// Appends "[0.1,-2]", the shortest digits that read as the same float.
void append_vector(std::string& out, const float* vector, int64_t D);

// One model is served, under every name that clients ask for: the reply has its own name, and the
// log warns once for each other one. Errors: kUnknownModel for another name, if `is_strict` or with
// --strict-model-name.
inline constexpr const char* kModelNameHelp =
    "The name of the model served; another one is answered by it too, unless the server has "
    "--strict-model-name";
void check_model(const Engine& engine, const RouteCall& call, const std::string& name,
                 bool is_strict = false);

// About how many tokens texts have that are not tokenised yet.
int64_t guess_tokens(const std::vector<std::string>& texts);

// Runs a head on a worker; `work` counts what it reads. Errors: kInvalid if `truncate` is false and
// a text was cut; those of the worker.
void run_head(const Engine& engine, const RouteCall& call, const std::vector<std::string>& texts,
              bool truncate, std::function<void(EncodeCounts&)> work);

// Shared by the routes of an index. Errors: kModelCannot for a server without an index.
ServedIndex& index_of(const Engine& engine);

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name);

// The vectors that the index keeps of such documents, one for each passage.
Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents);

// Answers one request by the workers, within its time and the server's limit of an answer's bytes:
// ids, titles, metadata, and texts if `with_text`. `advice`: how the client can avoid an answer
// that is too large. Must not outlive the call.
Searcher searcher_of(const Engine& engine, const RouteCall& call, bool with_text,
                     const std::string& advice);

}  // namespace simile::detail
