// SPDX-License-Identifier: Apache-2.0
// How a request finds its route, and the table of routes for programs (OpenAPI) and for people
// (docs/server.md).
#include "simile/serve/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/serve/detail/route_row.h"
#include "simile/text/words.h"

namespace simile {
namespace {

using detail::page;

// The page asks nobody but the server that it came from.
constexpr const char* kContentPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'";

bool matches(const Route& route, const std::string& path) {
  const bool has_name = std::string_view(route.path).find('{') != std::string_view::npos;
  return has_name ? !name_in_path(route, path).empty() : path == route.path;
}

// The routes of `path`; of two with the same method the first is meant.
std::vector<const Route*> routes_at(const std::string& path) {
  static const std::vector<Route> files = [] {
    std::vector<Route> routes;
    for (const WebFile& file : web_files()) {
      routes.push_back(page("getFile", file.path, "Part of the web page", file.content_type,
                            detail::answer_web));
    }
    return routes;
  }();
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

}  // namespace

const std::vector<Route>& route_table() {
  static const std::vector<Route> table = [] {
    std::vector<Route> routes;
    for (const auto rows :
         {detail::embed_routes, detail::compare_routes, detail::search_routes, detail::map_routes,
          detail::document_routes, detail::run_routes, detail::model_routes}) {
      const std::vector<Route> more = rows();
      routes.insert(routes.end(), more.begin(), more.end());
    }
    return routes;
  }();
  return table;
}

const Route& find_route(const std::string& method, const std::string& path) {
  const std::string asked = method == "HEAD" ? "GET" : method;
  const std::vector<const Route*> known = routes_at(path);
  for (const Route* route : known) {
    if (asked == route->method) return *route;
  }
  SIMILE_REQUEST_CHECK(known.empty(), Refusal::kWrongMethod,
                       fmt::format("{} takes {}, not {}", path, allowed_methods(path), method));
  std::vector<std::string> paths;
  for (const Route& route : route_table()) paths.emplace_back(route.path);
  const std::string meant = nearest_name(path.substr(0, 100), paths);
  throw RequestError(
      Refusal::kUnknownRoute,
      fmt::format("there is no route {}{}; /openapi.json lists them", path.substr(0, 100),
                  meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant)));
}

std::string name_in_path(const Route& route, const std::string& path) {
  const std::string_view pattern = route.path;
  const size_t begin = pattern.find('{');
  if (begin == std::string_view::npos) return "";
  const std::string_view after = pattern.substr(pattern.find('}', begin) + 1);
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

Reply web_reply(std::string_view path, std::string_view if_none_match) {
  const std::vector<WebFile>& files = web_files();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const WebFile& other) { return other.path == path; });
  SIMILE_REQUEST_CHECK(file != files.end(), Refusal::kUnknownRoute, "the page has no such part");
  Reply reply;
  reply.content_type = file->content_type;
  reply.headers = {{"ETag", file->etag},
                   {"Cache-Control", "no-cache"},
                   {"Content-Security-Policy", kContentPolicy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"}};
  // A list of tags, of which weak ones count too, or "*".
  if (if_none_match == "*" || if_none_match.find(file->etag) != std::string_view::npos) {
    reply.status = 304;
  } else {
    reply.body = file->bytes;
  }
  return reply;
}

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kIntroduction = R"(# The server

Printed by `simile docs server`.

`simile serve` answers over HTTP with the vectors that `simile encode` writes, to the last bit, in the bodies, headers,
status codes and metrics of text-embeddings-inference (TEI) and, under `/v1`, of OpenAI's API:

```sh
simile serve --model simile-mini-2 --port 8080 &
curl localhost:8080/embed --json '{"inputs": ["hello world", "good morning"]}'
curl localhost:8080/v1/embeddings --json '{"input": "hello world", "model": "simile-mini-2", "encoding_format": "base64"}'
curl localhost:8080/similarity --json '{"inputs": {"source_sentence": "a cat", "sentences": ["a kitten", "a bill"]}}'
curl localhost:8080/rerank --json '{"query": "reset my password", "texts": ["our prices", "forgotten passwords"]}'
curl localhost:8080/tokenize --json '{"inputs": "hello world"}'
curl localhost:8080/decode --json '{"ids": [2, 6206, 1010, 1628, 3]}'
curl localhost:8080/info
curl localhost:8080/openapi.json
kill %1
```

TEI's route `/predict` is not there (status 404): `simile predict` classifies. `/embed_sparse` needs weights of words, which no model of Simile has, and is always refused.

With `--index DIR` it searches too, with the model that the index names; `--allow-changes` lets clients change it. With
`--port 0` it takes a free port; the first line on stdout names the address. Figures: [results/server.md](results/server.md).

**The page.** At its address in a browser it searches the index, with the query's words marked and [filters](search.md) by
metadata, of which each value of a hit is one, compares texts, and shows documents on a map and training runs; the address holds what was asked, after `#`, so that it can be given away. `/` goes to the query, arrows
from hit to hit, Enter opens a hit, Escape goes back. The page is part of the program and asks nobody else; where API keys
are asked for it takes one and keeps it until its tab is closed.

**The map.** `/map` gives 2000 documents at most, of an index with passages 2000 of these, at even distances in the order of
adding, as points of the plane in which
their vectors vary most (principal components), with the furthest at distance 1, and the share of the variance that each axis
has; two axes often show little of it. It is made on a thread of its own when it is first asked for after a change, beside
searches, and kept. A query is placed among them with its hits; hits beyond the sample are encoded again for their places.
The page colours documents by a key of their metadata, and can arrange them by their neighbours in the sample (UMAP by
[umap-js](https://github.com/PAIR-code/umap-js), computed in the browser), where a query lies among the documents nearest to
it.

**Runs.** With `--runs DIR` the page shows the training runs in DIR, at any depth: their curves, also while they go on,
several of them in one chart, results, recipes, and on request the examples that they get most wrong. It is the page that
`simile report` writes; `/runs/faq` is that of one run. The pointer reads values off the curves; dragging it over steps
shows these alone, a double click all. Runs are named by their folders, each of several seeds for itself (`faq/run-1`); a
slash may be written `%2F`. Names are looked up among the runs that DIR has. Files that are damaged or have more than
128 MiB are named, and the others shown. With `--runs` alone the model is simile-mini-2.

**Who may.** It listens on this machine alone. `--host 0.0.0.0` lets others in and asks for `--api-key-file FILE`, one key a
line, of which requests send one as `Authorization: Bearer KEY`, or for `--allow-open`. With `--tls-certificate FILE
--tls-key FILE` it speaks https, and nothing else. On loopback without keys it answers this machine alone: a page that a browser
shows could ask it too, so a request whose `Host` or `Origin` is not `localhost`, `127.x.x.x` or `[::1]`, with any port, is refused
with status 403. `--allow-host NAME`, once or several times, lets in another name, such as the one that a reverse proxy hands on; `*`
lets in all. With keys, which no page knows, and for other machines nobody looks at these headers unless `--allow-host` is given.
Bodies must be sent as `application/json`.

**How it computes.** Two threads compute in turns, each with `--threads` of its own, so that processors are not idle while
one waits; requests of all connections wait in one bounded queue and are encoded together, up to `--batch-tokens` at a
time. Nobody's vectors depend on who else asks. A full queue answers
429, and what is not computed in time 503, both with `Retry-After`; what has waited for longer than 20 ms and whose client has
closed its connection meanwhile is dropped. What filters go by is read beside requests as soon as the index is. A request must arrive within `--request-seconds`, however
slowly its bytes come, and be no larger than `--body-bytes`; JSON may be nested 100 levels deep. A request may have
`--request-texts` texts; who sends more at a time raises it. `/v1/embeddings`, to which OpenAI's clients send up to 2048 texts, and
`/documents` take `--bulk-texts`: `--request-texts` of them at a time wait and are computed, so that other requests come between.
Where the queue is full when their turn comes the whole request is answered 429, and all of it has `--request-seconds`.

**Hits.** What a search gives, or the hits on a map, may have `--answer-bytes` with titles, texts and metadata; more are refused
with status 413. `"text": false` leaves the texts of a search out. Where there are no hits because nothing matches the filter, `warnings` says so, and which of its keys no
document has. `/documents/{id}` gives a document as it was added, with its title, and once more before the text. An id in a path is written as in
any address (`%2F` for a slash); a path may have 500 bytes, so that longer ids are for `/documents` and `/documents/delete`.

**What it tells.** Each call is a line of JSON on stderr with the request's id (that of its header `X-Request-Id`, or one of
its own, which the answer repeats), status, counts and times; texts only with `--log-texts`, nothing with `--quiet`. So are
connections that are turned away, and what is no HTTP. Errors name no files of the server: why computing failed stands in the log.
`/metrics` is for Prometheus: what TEI counts, searches (`te_search_count`, `te_search_success`, `te_search_duration`; `te_embed_count`
has only texts that were embedded), `te_index_documents`, `te_reload_success` and `te_reload_failure`.

**Signals.** SIGHUP reads model, index and API keys again, and the certificate with its key; requests go on meanwhile, and what
cannot be read leaves things as they were: the certificate for itself, model, index and keys together. The log has a line for
either, and one that failed makes the whole a `te_reload_failure`. After SIGTERM or SIGINT nothing new is accepted, what was accepted is answered, and the exit code
is 0; a second one ends it at once.

)";

constexpr const char* kErrors = R"(## Errors

`{"error": text, "error_type": type}`, and under `/v1` and of `/embeddings` `{"error": {"message", "type", "param", "code"}}`.
What they say: [bad requests](results/bad-requests.md).

)";

// The statuses that a route may answer beside 200, each with what it means there.
std::map<int, std::string> refusals_of(const Route& route) {
  std::vector<Refusal> all = {Refusal::kForbidden};
  const auto add = [&](const std::vector<Refusal>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (!route.open) add({Refusal::kNoKey});
  if (route.has_body()) {
    add({Refusal::kMalformed, Refusal::kEmpty, Refusal::kInvalid, Refusal::kTooManyInputs,
         Refusal::kTooLarge, Refusal::kWrongType, Refusal::kBackend, Refusal::kOverloaded,
         Refusal::kLate, Refusal::kStopping});
  }
  add(route.refusals);
  std::map<int, std::string> meanings;
  const bool is_openai = error_style(route.path) == ErrorStyle::kOpenAi;
  for (const RefusalRow& row : refusal_rows()) {
    if (std::find(all.begin(), all.end(), row.refusal) == all.end()) continue;
    std::string& meaning = meanings[is_openai ? row.openai_status : row.status];
    meaning += (meaning.empty() ? "" : "; ") + std::string(row.meaning);
  }
  return meanings;
}

OrderedJson bad_response(const Route& route, const std::string& description) {
  const bool is_openai = error_style(route.path) == ErrorStyle::kOpenAi;
  OrderedJson bad = {{"description", description}};
  bad["content"]["application/json"]["schema"]["$ref"] =
      is_openai ? "#/components/schemas/OpenAiError" : "#/components/schemas/Error";
  return bad;
}

OrderedJson operation(const Route& route) {
  OrderedJson operation;
  operation["operationId"] = route.operation;
  operation["summary"] = route.summary;
  if (route.has_body()) {
    operation["requestBody"]["required"] = true;
    operation["requestBody"]["content"]["application/json"]["schema"] =
        OrderedJson::parse(option_members_to_schema(route.request));
  }
  if (const char* const begin = std::strchr(route.path, '{')) {
    operation["parameters"].push_back({{"name", std::string(begin + 1, std::strchr(begin, '}'))},
                                       {"in", "path"},
                                       {"required", true},
                                       {"schema", {{"type", "string"}}}});
  }
  OrderedJson& good = operation["responses"]["200"];
  good["description"] = route.summary;
  if (route.reply_schema != nullptr) {
    good["content"][route.media_type]["schema"] = OrderedJson::parse(route.reply_schema());
  } else if (route.media_type[0] != '\0') {
    good["content"][route.media_type]["schema"]["type"] = "string";
  }
  for (const auto& [status, meaning] : refusals_of(route)) {
    operation["responses"][std::to_string(status)] = bad_response(route, meaning);
  }
  operation["responses"]["default"] = bad_response(route, "An error");
  const OrderedJson none = OrderedJson::object(), key = {{"key", OrderedJson::array()}};
  operation["security"] = OrderedJson::array();
  if (!route.open) operation["security"] = OrderedJson::array({key, none});
  return operation;
}

}  // namespace

std::string openapi_document(const std::string& version) {
  OrderedJson document;
  document["openapi"] = "3.0.3";
  document["info"]["title"] = "Simile";
  document["info"]["version"] = version;
  document["info"]["license"] = {{"name", "Apache-2.0"},
                                 {"url", "https://www.apache.org/licenses/LICENSE-2.0"}};
  document["servers"].push_back({{"url", "/"}});
  for (const Route& route : route_table()) {
    document["paths"][route.path][lower_text(route.method)] = operation(route);
  }
  OrderedJson& schemas = document["components"]["schemas"];
  schemas["Error"] = OrderedJson::parse(error_schema(ErrorStyle::kTei));
  schemas["OpenAiError"] = OrderedJson::parse(error_schema(ErrorStyle::kOpenAi));
  document["components"]["securitySchemes"]["key"]["type"] = "http";
  document["components"]["securitySchemes"]["key"]["scheme"] = "bearer";
  return document.dump();
}

std::string server_reference() {
  TableRows routes = {{"route", "what it gives", "API key"}};
  for (const Route& route : route_table()) {
    routes.push_back({fmt::format("`{} {}`", route.method, route.path), route.summary,
                      route.open ? "never asked for" : "asked for where there are any"});
  }
  std::string page = kIntroduction + std::string("## Routes\n\n") + markdown_table(routes);
  page += "\n## Bodies\n\nKeys that are not listed are ignored.\n\n";
  for (const Route& route : route_table()) {
    if (!route.has_body()) continue;
    const std::string title = fmt::format("`{} {}`", route.method, route.path);
    page += "#" + option_members_to_markdown(route.request, title) + "\n";
  }
  TableRows errors = {{"status", "there", "`error_type`", "when"}};
  for (const RefusalRow& row : refusal_rows()) {
    errors.push_back({std::to_string(row.status), std::to_string(row.openai_status),
                      fmt::format("`{}`", row.type), row.meaning});
  }
  ServeOptions options;
  return page + kErrors + markdown_table(errors) + "\n" +
         options_to_markdown(options, "Options (`simile serve`)");
}

}  // namespace simile
