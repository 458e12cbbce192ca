// SPDX-License-Identifier: Apache-2.0
// The routes about the server itself and its model: /tokenize, /decode, /info, /v1/models, /health,
// /metrics, /openapi.json, and the web page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "simile/core/detail/json.h"
#include "simile/serve/detail/route_row.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

constexpr size_t kMostShownTokens = 65536;  // of one request

struct TokenizeRequest {
  std::vector<std::string> inputs;
  bool add_special_tokens = true;
  std::string prompt_name;
  void visit(OptionVisitor& v) {
    v.field("inputs", inputs, OptionInfo{"A text or a list of texts"}.required().one_or_more());
    v.field("add_special_tokens", add_special_tokens, {"With those put around a text"});
    v.field("prompt_name", prompt_name, {"Which of the model's prompts is put before each text"});
  }
};

struct Token {
  int64_t id = 0;
  std::string text;
  bool special = false;
  std::optional<int64_t> start, stop;
  void visit(OptionVisitor& v) {
    v.required("id", id);
    v.required("text", text, "What it stands for");
    v.required("special", special, "Whether it was put around the text");
    v.field("start", start, OptionInfo{"Its first character"}.nullable());
    v.field("stop", stop, OptionInfo{"The character after its last"}.nullable());
  }
};

struct DecodeRequest {
  ConfigNode ids;
  bool skip_special_tokens = true;
  void visit(OptionVisitor& v) {
    v.field("ids", ids, id_lists_info("A list of token ids, or a list of such lists"));
    v.field("skip_special_tokens", skip_special_tokens, {"Without those put around a text"});
  }
};

// TEI's, and what only Simile has.
struct InfoReply {
  struct Embedding {
    std::string pooling;
    void visit(OptionVisitor& v) { v.field("pooling", pooling, {"Names joined by +"}); }
  };
  struct ModelType {
    Embedding embedding;
    void visit(OptionVisitor& v) { v.group("embedding", embedding, ""); }
  };
  std::string model_id, model_sha, model_dtype, served_model_name;
  ModelType model_type;
  int64_t max_concurrent_requests = 0, max_input_length = 0, max_batch_tokens = 0;
  std::optional<int64_t> max_batch_requests;
  int64_t max_client_batch_size = 0, max_bulk_texts = 0;
  bool auto_truncate = true;
  int64_t tokenization_workers = 0;
  std::string version;
  std::optional<std::string> sha, docker_label;
  int64_t dimensions = 0;
  std::string similarity;
  std::map<std::string, std::string> prompts;
  std::optional<int64_t> documents;
  std::optional<std::vector<std::string>> search_modes;
  bool runs = false;
  void visit(OptionVisitor& v) {
    v.required("model_id", model_id);
    v.required("model_sha", model_sha, "The model's fingerprint");
    v.required("model_dtype", model_dtype, "What it computes in");
    v.required("served_model_name", served_model_name);
    v.group("model_type", model_type, "");
    v.required("max_concurrent_requests", max_concurrent_requests, "--requests");
    v.required("max_input_length", max_input_length, "Tokens that the model reads");
    v.required("max_batch_tokens", max_batch_tokens, "--batch-tokens");
    v.field("max_batch_requests", max_batch_requests, OptionInfo{"No limit"}.nullable());
    v.required("max_client_batch_size", max_client_batch_size, "--request-texts");
    v.required("max_bulk_texts", max_bulk_texts, "--bulk-texts");
    v.required("auto_truncate", auto_truncate, "By default");
    v.required("tokenization_workers", tokenization_workers, "--requests");
    v.required("version", version, "The program's");
    v.field("sha", sha, OptionInfo{""}.nullable());
    v.field("docker_label", docker_label, OptionInfo{""}.nullable());
    v.required("dimensions", dimensions);
    v.required("similarity", similarity, "By which vectors compare");
    v.required("prompts", prompts, "The model's prompts by name");
    v.field("documents", documents, {"Documents of the index"});
    v.field("search_modes", search_modes, {"The default first"});
    v.required("runs", runs, "Whether /runs shows any");
  }
};

struct ModelReply {
  std::string id, object = "model";
  int64_t created = 0;
  std::string owned_by = "simile";
  void visit(OptionVisitor& v) {
    v.required("id", id);
    v.required("object", object);
    v.required("created", created);
    v.required("owned_by", owned_by);
  }
};

struct ModelsReply {
  std::string object = "list";
  std::vector<ModelReply> data;
  void visit(OptionVisitor& v) {
    v.required("object", object);
    v.required("data", data);
  }
};

// Appends the tokens as the array that Token describes; a tree of JSON would take ten times the
// memory.
void append_tokens(const Tokenizer& tokenizer, const std::string& text, const Encoding& encoding,
                   std::string& out) {
  const auto offsets = character_offsets(encoding, text);
  const std::vector<size_t> begins = character_begins(text);
  const auto byte_of = [&](size_t character) {
    return begins[std::min(character, begins.size() - 1)];
  };
  out += '[';
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool special = encoding.special[i] != 0;
    const auto [start, stop] = offsets[i];
    const size_t begin = byte_of(start), end = byte_of(std::max(start, stop));
    const std::string shown =
        special ? std::string(tokenizer.token(encoding.ids[i])) : text.substr(begin, end - begin);
    out += fmt::format(R"({}{{"id":{},"text":{},"special":{},"start":{},"stop":{}}})",
                       i == 0 ? "" : ",", encoding.ids[i], dump_json(shown, -1), special,
                       special ? "null" : std::to_string(start),
                       special ? "null" : std::to_string(stop));
  }
  out += ']';
}

Written<std::vector<std::vector<Token>>> tokenize(const Engine& engine, const RouteCall& call,
                                                  const TokenizeRequest& request) {
  const std::string& name = request.prompt_name;
  const std::string prompt = name.empty() ? "" : engine.embedder().prompt(name);
  const auto reply = std::make_shared<Reply>();
  const auto work = [encoder = engine.model().encoder, prompt, request, reply] {
    Tokenizer tokenizer = encoder->tokenizer();
    tokenizer.set_max_length(0);
    size_t tokens = 0;
    for (const std::string& text : request.inputs) {
      const std::string read = prompt + text;
      const Encoding encoding = tokenizer.encode(read, request.add_special_tokens);
      tokens += encoding.ids.size();
      SIMILE_REQUEST_CHECK(
          tokens <= kMostShownTokens, Refusal::kTooManyInputs,
          fmt::format("the texts have more than {} tokens together; send fewer at a time",
                      kMostShownTokens),
          "inputs");
      reply->body += reply->body.empty() ? '[' : ',';
      append_tokens(tokenizer, read, encoding, reply->body);
    }
    reply->body += ']';
  };
  const auto texts = static_cast<int64_t>(request.inputs.size());
  engine.embedder().worker().run(work, texts, guess_tokens(request.inputs), call.patience,
                                 call.cost.times);
  return {std::move(*reply)};
}

std::vector<std::string> decode(const Engine& engine, const RouteCall&,
                                const DecodeRequest& request) {
  const Tokenizer& tokenizer = engine.model().encoder->tokenizer();
  std::vector<std::string> texts;
  for (const std::vector<int32_t>& ids : read_id_lists(request.ids, "ids", engine.limits())) {
    for (const int32_t id : ids) {
      SIMILE_REQUEST_CHECK(id < tokenizer.vocabulary_size(), Refusal::kInvalid,
                           fmt::format("token id {} is outside the model's vocabulary of {}", id,
                                       tokenizer.vocabulary_size()),
                           "ids");
    }
    try {
      texts.push_back(tokenizer.decode(ids, request.skip_special_tokens));
    } catch (const Error& error) {
      throw RequestError(Refusal::kModelCannot, error.what());
    }
  }
  return texts;
}

InfoReply info(const Engine& engine, const RouteCall&) {
  const ServedModel& model = engine.model();
  const ServeLimits& limits = engine.limits();
  const ModelSettings& settings = model.encoder->settings();
  InfoReply info;
  info.model_id = info.served_model_name = engine.name();
  info.model_sha = model.fingerprint;
  info.model_dtype = model.precision;
  info.model_type.embedding.pooling =
      settings.pooling.modes.empty() ? "mean" : pooling_name(settings.pooling);
  info.max_concurrent_requests = info.tokenization_workers = limits.requests;
  info.max_input_length = settings.max_length;
  info.max_batch_tokens = limits.batch_tokens;
  info.max_client_batch_size = limits.request_texts;
  info.max_bulk_texts = limits.bulk_texts;
  info.version = model.version;
  info.dimensions = model.encoder->dimension();
  info.similarity = settings.similarity;
  info.prompts = settings.prompts;
  if (model.index != nullptr) {
    info.documents = model.index->info().count;
    info.search_modes = search_modes(model.index->settings());
  }
  info.runs = model.runs != nullptr;
  return info;
}

ModelReply model(const Engine& engine, const RouteCall& call) {
  check_model(engine, call, call.name, true);
  return {call.name};
}

ModelsReply models(const Engine& engine, const RouteCall&) {
  ModelsReply list;
  for (const std::string& name : engine.model().names) list.data.push_back({name});
  return list;
}

Written<ConfigNode> reload(const Engine& engine, const RouteCall&) {
  const std::function<bool()>& read = engine.model().reload;
  SIMILE_REQUEST_CHECK(read && read(), Refusal::kBackend,
                       "not all could be read, and that stayed as it was; the log says why");
  return {{200, R"({"reloaded":true})"}};
}

Reply health(const StateCall&) { return {200, "", ""}; }

Reply ready(const StateCall& call) {
  SIMILE_REQUEST_CHECK(!call.stopping, Refusal::kUnready, "the server is stopping");
  SIMILE_REQUEST_CHECK(call.engine != nullptr, Refusal::kUnready, "the server is loading its model",
                       "", 1);
  const auto is_readable = [](const auto& one) { return one.second->is_readable(); };
  SIMILE_REQUEST_CHECK(call.engine->is_readable() &&
                           (!call.engine->model().at.empty() ||
                            std::all_of(call.engines.begin(), call.engines.end(), is_readable)),
                       Refusal::kUnready, "the files of a model or its index cannot be read");
  return {200, "", ""};
}

Reply metrics(const StateCall& call) {
  for (const auto& [at, engine] : call.engines) engine->tell(call.metrics);
  tell_of_process(call.metrics);
  return {200, call.metrics.text(), "text/plain; version=0.0.4"};
}

Written<ConfigNode> openapi(const Engine& engine, const RouteCall&) {
  return {{200, openapi_document(engine.model().version)}};
}

}  // namespace

void check_model(const Engine& engine, const RouteCall& call, const std::string& name,
                 bool is_strict) {
  const std::vector<std::string>& names = engine.model().names;
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  SIMILE_REQUEST_CHECK(!is_strict && !engine.limits().strict_model_name, Refusal::kUnknownModel,
                       fmt::format("the model \"{}\" is not served here, \"{}\" is",
                                   name.substr(0, 100), fmt::join(names, "\", \"")),
                       "model");
  call.cost.other_model = name;
}

Reply answer_web(const StateCall& call) { return web_reply(call.path, call.if_none_match); }

std::vector<Route> model_routes() {
  Route document =
      route("getOpenApi", "GET", "/openapi.json", "This table for programs (OpenAPI 3.0)", openapi);
  document.open = true;
  Route ready_row = page("getReady", "/ready",
                         "Status 200 while requests are answered; 503 while the server loads or "
                         "stops, and where it cannot read its model or index",
                         "", ready);
  ready_row.refusals = {Refusal::kUnready};
  Route reload_row = route("reload", "POST", "/reload",
                           "Reads model, index, API keys and certificate again, as SIGHUP does, "
                           "and answers when that is done",
                           reload, {Refusal::kBackend});
  reload_row.role = "admin";
  return {reload_row,
          route("tokenize", "POST", "/tokenize",
                "The tokens of texts, with their places in characters", tokenize),
          route("decode", "POST", "/decode",
                "The texts of token ids, as the tokenizer puts them together again; ids that it "
                "does not have are refused",
                decode, {Refusal::kModelCannot}),
          route("listModels", "GET", "/v1/models", "The model, as OpenAI's API lists it", models),
          route("getModel", "GET", "/v1/models/{id}", "One of these names", model,
                {Refusal::kUnknownModel}),
          route("getInfo", "GET", "/info", "The model and the server's limits", info),
          page("getHealth", "/health", "Status 200 while the server answers", "", health),
          page("getPing", "/ping", "The same", "", health),
          ready_row,
          page("getPage", "/", "The web page: search, compare, map and runs in a browser",
               "text/html", answer_web),
          page("getDocs", "/docs", "The routes and their bodies, in a browser", "text/html",
               answer_web),
          page("getMetrics", "/metrics", "Counters and histograms for Prometheus", "text/plain",
               metrics),
          document};
}

}  // namespace simile::detail
