// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/file.h"
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/web_page.h"

namespace simile {
namespace {

constexpr const char* kText = R"({"type":"string"})";
constexpr const char* kFlag = R"({"type":"boolean"})";
constexpr const char* kInteger = R"({"type":"integer"})";
constexpr const char* kTexts =
    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})";
constexpr const char* kTextsOrIds =
    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"oneOf":[{"type":"string"},)"
    R"({"type":"integer"},{"type":"array","items":{"type":"integer"}}]}}]})";
constexpr const char* kIdLists = R"({"type":"array","items":{"oneOf":[{"type":"integer"},)"
                                 R"({"type":"array","items":{"type":"integer"}}]}})";
constexpr const char* kNumbers = R"({"type":"array","items":{"type":"number"}})";

// `parameters`: within the object of that name.
std::vector<BodyKey> with_reading_keys(std::vector<BodyKey> keys, bool parameters = false) {
  keys.push_back({parameters ? "parameters.truncate" : "truncate", kFlag, "true",
                  "Cut texts that are longer than the model reads; false refuses them"});
  keys.push_back({parameters ? "parameters.truncation_direction" : "truncation_direction",
                  R"({"type":"string","enum":["Right","Left","right","left"]})", "\"Right\"",
                  "Where they lose tokens"});
  keys.push_back({parameters ? "parameters.prompt_name" : "prompt_name", kText, "",
                  "Which of the model's prompts is put before each text"});
  return keys;
}

const BodyKey kDimensions = {"dimensions", kInteger, "", "How many leading dimensions are kept"};

Route embed_route() {
  return {
      "embed",
      "POST",
      "/embed",
      "Vectors of texts",
      with_reading_keys(
          {{"inputs", kTextsOrIds, "",
            "A text, a list of texts, or token ids (special ones included) in their place", true},
           {"normalize", kFlag, "true", "Divide each vector by its length"},
           kDimensions}),
      R"({"type":"array","items":{"type":"array","items":{"type":"number"}}})",
      false,
      detail::answer_embed};
}

Route embed_all_route() {
  return {
      "embedAll",
      "POST",
      "/embed_all",
      "Vectors of the tokens of texts, special ones included, as the encoder leaves them before "
      "pooling; of 8192 tokens at most, and only of models that have them (else status 424)",
      with_reading_keys(
          {{"inputs", kTextsOrIds, "",
            "A text, a list of texts, or token ids (special ones included) in their place", true}}),
      R"({"type":"array","items":{"type":"array","items":{"type":"array",)"
      R"("items":{"type":"number"}}}})",
      false,
      detail::answer_embed_all};
}

Route embed_sparse_route() {
  return {"embedSparse",
          "POST",
          "/embed_sparse",
          "Always refused with status 424, as TEI does: no model of Simile has weights of words",
          {{"inputs", kTexts, "", "A text or a list of texts", true}},
          "",
          false,
          detail::answer_embed_sparse};
}

// OpenAI's, also under the path that TEI has for it.
Route embeddings_route(const char* operation, const char* path, const char* summary) {
  return {operation,
          "POST",
          path,
          summary,
          {{"input", kTextsOrIds, "", "A text, a list of texts, or token ids in their place", true},
           {"model", kText, "", "The name of the model served, or nothing"},
           {"encoding_format", R"({"type":"string","enum":["float","base64"]})", "\"float\"",
            "base64: the numbers as little-endian floats"},
           kDimensions,
           {"user", kText, "", "Not looked at"}},
          R"({"type":"object","properties":{"object":{"type":"string"},"data":{"type":"array",)"
          R"("items":{"type":"object"}},"model":{"type":"string"},"usage":{"type":"object"}}})",
          false,
          detail::answer_embeddings};
}

Route similarity_route() {
  return {"similarity",
          "POST",
          "/similarity",
          "How similar a text is to each of others, by the model's similarity",
          with_reading_keys({{"inputs.source_sentence", kText, "", "The text", true},
                             {"inputs.sentences", kTexts, "", "The others", true}},
                            true),
          kNumbers,
          false,
          detail::answer_similarity};
}

Route rerank_route() {
  return {
      "rerank",
      "POST",
      "/rerank",
      "Texts in the order in which they answer a query: by a head that reads both together, "
      "or, where the model has none, by the similarity of vectors (header x-rerank-by). A head "
      "takes no prompt, and cuts the longer text at its end",
      with_reading_keys({{"query", kText, "", "The query", true},
                         {"texts", kTexts, "", "The texts", true},
                         {"raw_scores", kFlag, "false", "Give a head's logits, not probabilities"},
                         {"return_text", kFlag, "false", "Repeat the texts in the answer"}}),
      R"({"type":"array","items":{"type":"object","properties":{"index":{"type":"integer"},)"
      R"("text":{"type":"string"},"score":{"type":"number"}}}})",
      false,
      detail::answer_rerank};
}

Route tokenize_route() {
  return {"tokenize",
          "POST",
          "/tokenize",
          "The tokens of texts, with their places in characters",
          {{"inputs", kTexts, "", "A text or a list of texts", true},
           {"add_special_tokens", kFlag, "true", "With those put around a text"},
           {"prompt_name", kText, "", "Which of the model's prompts is put before each text"}},
          R"({"type":"array","items":{"type":"array","items":{"type":"object","properties":{)"
          R"("id":{"type":"integer"},"text":{"type":"string"},"special":{"type":"boolean"},)"
          R"("start":{"type":"integer","nullable":true},)"
          R"("stop":{"type":"integer","nullable":true}}}}})",
          false,
          detail::answer_tokenize};
}

Route decode_route() {
  return {"decode",
          "POST",
          "/decode",
          "The texts of token ids, as the tokenizer puts them together again; ids that it does not "
          "have are refused",
          {{"ids", kIdLists, "", "A list of token ids, or a list of such lists", true},
           {"skip_special_tokens", kFlag, "true", "Without those put around a text"}},
          R"({"type":"array","items":{"type":"string"}})",
          false,
          detail::answer_decode};
}

Route search_route() {
  return {
      "search",
      "POST",
      "/search",
      "The documents of the index nearest to each query, by vectors, words or both, best first "
      "(with --index)",
      {{"query", kTexts, "", "A query or a list of them; or `like`"},
       {"like", kText, "", "The id of a document: find those nearest to it, without it"},
       {"top_k", kInteger, "10", "Documents for each query, 1000 at most"},
       {"mode", R"({"type":"string","enum":["vector","lexical","hybrid"]})", "",
        "What the search goes by; by default as the index says"},
       {"filter", kText, "",
        "Find only documents with such metadata: `year >= 2020 and lang in (en, de)`"},
       {"rerank", kFlag, "false",
        "Score the first hits by the head that reads query and text together, see /rerank, and "
        "order them by that; the search's score is then `search_score`"},
       {"rerank_hits", kInteger, "100", "How many; of all queries together 1000 at most"},
       {"exact", kFlag, "false", "Look at all vectors, also where the index has a graph of them"},
       {"text", kFlag, "true", "Give the texts of hits"},
       {"marks", kFlag, "false", "Tell where words of the query stand in each text, in characters"},
       {"prompt_name", kText, "",
        "Which of the model's prompts is put before queries; by default that for queries"}},
      R"({"type":"object","properties":{"mode":{"type":"string"},)"
      R"("warnings":{"type":"array","items":{"type":"string"}},"results":{"type":"array",)"
      R"("items":{"type":"object",)"
      R"("properties":{"hits":{"type":"array","items":{"type":"object","properties":{)"
      R"("id":{"type":"string"},"score":{"type":"number"},"search_score":{"type":"number"},)"
      R"("vector_score":{"type":"number"},"lexical_score":{"type":"number"},)"
      R"("text":{"type":"string"},"passage":{"type":"object","properties":{)"
      R"("number":{"type":"integer"},"of":{"type":"integer"},"begin":{"type":"integer"},)"
      R"("end":{"type":"integer"}}},"metadata":{"type":"object"},"marks":{"type":"array",)"
      R"("items":{"type":"array","items":{"type":"integer"}}}}}}}}}}})",
      false,
      detail::answer_search};
}

Route map_route() {
  return {
      "map",
      "POST",
      "/map",
      "Documents of the index, or its passages where it has some, as points of the plane in which "
      "their vectors vary most, and the share of the variance along its two axes (with --index)",
      {{"query", kText, "", "Place this among them, with the ten documents that a search finds"},
       {"mode", R"({"type":"string","enum":["vector","lexical","hybrid"]})", "",
        "What that search goes by; by default as the index says"},
       {"prompt_name", kText, "",
        "Which of the model's prompts is put before the query; by default that for queries"},
       {"sample", kFlag, "true",
        "Give the documents or passages: 2000 at even distances, or all where there are fewer, the "
        "same ones until the index changes; of their texts the first 200 characters"},
       {"neighbours", kFlag, "false",
        "Give of each, and of the query and its hits, the 15 nearest documents of the sample, by "
        "their places in it, and how far their vectors are: what other layouts (UMAP) are made "
        "of"}},
      R"({"type":"object","properties":{"generation":{"type":"integer"},)"
      R"("documents":{"type":"integer"},"passages":{"type":"integer"},"variance":{"type":"array","items":{"type":"number"}},)"
      R"("sample":{"type":"array","items":{"type":"object","properties":{)"
      R"("id":{"type":"string"},"x":{"type":"number"},"y":{"type":"number"},)"
      R"("text":{"type":"string"},"passage":{"type":"object","properties":{)"
      R"("number":{"type":"integer"},"of":{"type":"integer"}}},)"
      R"("metadata":{"type":"object"},"near":{"type":"array",)"
      R"("items":{"type":"integer"}},"distances":{"type":"array","items":{"type":"number"}}}}},)"
      R"("query":{"type":"object","properties":{)"
      R"("x":{"type":"number"},"y":{"type":"number"},"mode":{"type":"string"},)"
      R"("hits":{"type":"array","items":{"type":"object"}}}}}})",
      false,
      detail::answer_map};
}

Route add_route() {
  return {
      "addDocuments",
      "POST",
      "/documents",
      "Adds documents to the index, replacing those with the same id (with --allow-changes); "
      "they are found when this is answered",
      {{"documents",
        R"({"type":"array","items":{"type":"object","required":["id","text"],"properties":{)"
        R"("id":{"type":"string"},"title":{"type":"string"},"text":{"type":"string"},)"
        R"("metadata":{"type":"object"}}}})",
        "",
        "Objects with id, text and optionally title, which is put before the text, and metadata, "
        "an object of texts, numbers, true and false",
        true}},
      R"({"type":"object","properties":{"added":{"type":"integer"},"replaced":)"
      R"({"type":"integer"},"truncated":{"type":"integer"},"documents":{"type":"integer"}}})",
      false,
      detail::answer_add};
}

constexpr const char* kDeletedSchema =
    R"({"type":"object","properties":{"deleted":{"type":"integer"},)"
    R"("documents":{"type":"integer"}}})";

constexpr const char* kDocumentSchema =
    R"({"type":"object","properties":{"id":{"type":"string"},"text":{"type":"string"},)"
    R"("passages":{"type":"integer"},"metadata":{"type":"object"}}})";

Route delete_route(const char* operation, const char* method, const char* path,
                   const char* summary) {
  return {operation,
          method,
          path,
          summary,
          {{"ids", kTexts, "", "An id or a list of them", true}},
          kDeletedSchema,
          false,
          detail::answer_delete};
}

Route delete_one_route() {
  return {"deleteDocument",
          "DELETE",
          "/documents/{id}",
          "Removes a document (with --allow-changes)",
          {},
          kDeletedSchema,
          false,
          detail::answer_delete_one};
}

constexpr const char* kRunsSchema =
    R"({"type":"object","properties":{"runs":{"type":"array","items":{"type":"object",)"
    R"("properties":{"name":{"type":"string"},"version":{"type":"string"},)"
    R"("finished":{"type":"boolean"},"seconds_ago":{"type":"integer"}}}},)"
    R"("left_out":{"type":"integer"}}})";

constexpr const char* kRunSchema =
    R"({"type":"object","properties":{"name":{"type":"string"},"finished":{"type":"boolean"},)"
    R"("problems":{"type":"array","items":{"type":"string"}},"steps":{"type":"integer"},)"
    R"("training":{"type":"array","items":{"type":"object","properties":{)"
    R"("name":{"type":"string"},"steps":{"type":"array","items":{"type":"integer"}},)"
    R"("values":{"type":"array","items":{"type":"number"}}}}},)"
    R"("evaluations":{"type":"array","items":{"type":"object"}},"verdict":{"type":"string"},)"
    R"("recipe":{"type":"object","nullable":true},)"
    R"("reports":{"type":"array","items":{"type":"object"}}}})";

constexpr const char* kRunErrorsSchema =
    R"({"type":"object","properties":{"evaluations":{"type":"array","items":{"type":"object",)"
    R"("properties":{"task":{"type":"string"},"name":{"type":"string"},)"
    R"("kind":{"type":"string","enum":["scores","classes","queries"]},)"
    R"("worst":{"type":"array","items":{"type":"object"}}}}},)"
    R"("problems":{"type":"array","items":{"type":"string"}}}})";

// Where {name} or {id} stands in a route's path.
struct NamePlace {
  size_t begin = std::string_view::npos, end = 0;  // npos: nowhere
};

NamePlace place_of_name(std::string_view path) {
  const size_t begin = path.find('{');
  if (begin == std::string_view::npos) return {};
  return {begin, path.find('}', begin) + 1};
}

bool matches(const Route& route, const std::string& path) {
  const bool has_name = place_of_name(route.path).begin != std::string_view::npos;
  return has_name ? !name_in_path(route, path).empty() : path == route.path;
}

Route page(const char* operation, const char* path, const char* summary, const char* response,
           bool open, Reply (*answer)(const Engine&, const RouteCall&)) {
  return {operation, "GET", path, summary, {}, response, open, answer};
}

std::vector<Route> routes_of_files() {
  std::vector<Route> routes;
  for (const WebFile& file : web_files()) {
    routes.push_back(
        page("getFile", file.path, "Part of the web page", "", true, detail::answer_web));
  }
  return routes;
}

// The routes of `path`; of two with the same method the first is meant.
std::vector<const Route*> routes_at(const std::string& path) {
  static const std::vector<Route> files = routes_of_files();
  std::vector<const Route*> found;
  for (const Route& route : route_table()) {
    const auto has_method = [&](const Route* other) {
      return std::string_view(other->method) == route.method;
    };
    if (matches(route, path) && std::none_of(found.begin(), found.end(), has_method)) {
      found.push_back(&route);
    }
  }
  for (const Route& route : files) {
    if (found.empty() && path == route.path) found.push_back(&route);
  }
  return found;
}

constexpr const char* kObject = R"({"type":"object"})";

std::vector<std::string> paths() {
  std::vector<std::string> paths;
  for (const Route& route : route_table()) paths.emplace_back(route.path);
  return paths;
}

}  // namespace

const std::vector<Route>& route_table() {
  static const std::vector<Route> table = {
      embed_route(),
      embed_all_route(),
      embed_sparse_route(),
      similarity_route(),
      rerank_route(),
      tokenize_route(),
      decode_route(),
      embeddings_route("createEmbedding", "/v1/embeddings",
                       "Vectors of texts, as OpenAI's API gives them"),
      embeddings_route("createEmbeddingAsTei", "/embeddings", "The same, where TEI has it"),
      page("listModels", "/v1/models", "The model, as OpenAI's API lists it", kObject, false,
           detail::answer_models),
      page("getModel", "/v1/models/{id}", "One of these names", kObject, false,
           detail::answer_model),
      search_route(),
      map_route(),
      add_route(),
      delete_route("deleteDocuments", "DELETE", "/documents",
                   "Removes documents from the index, all of them or none (with --allow-changes)"),
      delete_route("deleteDocumentsByPost", "POST", "/documents/delete",
                   "The same, for proxies that drop the body of DELETE"),
      page(
          "getDocument", "/documents/{id}",
          "A document of the index: its text, with the title before it, its metadata, and how many "
          "passages it has, if it is split (with --index)",
          kDocumentSchema, false, detail::answer_document),
      delete_one_route(),
      page("listRuns", "/runs",
           "The training runs, those changed last first, and whether they are finished (with "
           "--runs)",
           kRunsSchema, false, detail::answer_runs),
      page("getRunErrors", "/runs/{name}/errors",
           "The examples that a finished run gets most wrong (with --runs)", kRunErrorsSchema,
           false, detail::answer_run_errors),
      page("getRun", "/runs/{name}",
           "The curves of a run as far as it has come, of about 1000 points at most, its recipe "
           "and results, and which of its files cannot be read (with --runs)",
           kRunSchema, false, detail::answer_run),
      page("getInfo", "/info", "The model and the server's limits", kObject, false,
           detail::answer_info),
      page("getHealth", "/health", "Status 200 while the server answers", "", true,
           detail::answer_health),
      page("getPing", "/ping", "The same", "", true, detail::answer_health),
      page("getPage", "/", "The web page: search, compare, map and runs in a browser", "", true,
           detail::answer_web),
      page("getMetrics", "/metrics", "Counters and histograms for Prometheus", "", true,
           detail::answer_metrics),
      page("getOpenApi", "/openapi.json", "This table for programs (OpenAPI 3.0)", kObject, true,
           detail::answer_openapi),
  };
  return table;
}

const Route& find_route(const std::string& method, const std::string& path) {
  const std::string asked = method == "HEAD" ? "GET" : method;
  const std::vector<const Route*> known = routes_at(path);
  for (const Route* route : known) {
    if (asked == route->method) return *route;
  }
  if (!known.empty()) {
    throw RequestError(Refusal::kWrongMethod,
                       fmt::format("{} takes {}, not {}", path, allowed_methods(path), method));
  }
  const std::string meant = nearest_name(path.substr(0, 100), paths());
  throw RequestError(
      Refusal::kUnknownRoute,
      fmt::format("there is no route {}{}; /openapi.json lists them", path.substr(0, 100),
                  meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant)));
}

std::string name_in_path(const Route& route, const std::string& path) {
  const std::string_view pattern = route.path;
  const auto [begin, end] = place_of_name(pattern);
  if (begin == std::string_view::npos) return "";
  const std::string_view after = pattern.substr(end);
  const bool fits = path.size() > begin + after.size() &&
                    starts_with(path, pattern.substr(0, begin)) && ends_with(path, after);
  return fits ? path.substr(begin, path.size() - begin - after.size()) : "";
}

std::string allowed_methods(const std::string& path) {
  std::string methods;
  for (const Route* route : routes_at(path)) {
    methods += (methods.empty() ? "" : ", ") + std::string(route->method);
    if (std::string(route->method) == "GET") methods += ", HEAD";
  }
  return methods;
}

ErrorStyle error_style(const std::string& path) {
  return starts_with(path, "/v1/") || path == "/embeddings" ? ErrorStyle::kOpenAi
                                                            : ErrorStyle::kTei;
}

}  // namespace simile
