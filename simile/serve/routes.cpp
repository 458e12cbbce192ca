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

extern const char* const kServerPage;  // server_reference.md, by CMakeLists.txt

namespace {

using detail::page;

// The page asks nobody but the server that it came from.
constexpr const char* kContentPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src "
    "'none'";

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
    for (const auto rows : {detail::embed_routes, detail::compare_routes, detail::predict_routes,
                            detail::search_routes, detail::map_routes, detail::document_routes,
                            detail::run_routes, detail::model_routes}) {
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
  const std::string named = path.substr(0, 100);
  throw RequestError(Refusal::kUnknownRoute,
                     fmt::format("there is no route {}{}; /openapi.json lists them", named,
                                 did_you_mean(named, paths)));
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
  const bool is_openai =
      starts_with(path, "/v1/") || starts_with(path, "/v2/") || path == "/embeddings";
  return is_openai ? ErrorStyle::kOpenAi : ErrorStyle::kTei;
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
  // A list of tags, including weak ones, or "*".
  if (if_none_match == "*" || if_none_match.find(file->etag) != std::string_view::npos) {
    reply.status = 304;
  } else {
    reply.body = file->bytes;
  }
  return reply;
}

namespace {

using OrderedJson = nlohmann::ordered_json;

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
         Refusal::kLate, Refusal::kUnready});
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
  if (route.in_query) {
    OrderedJson schema = OrderedJson::parse(option_members_to_schema(route.request));
    for (auto& [name, of_name] : schema["properties"].items()) {
      OrderedJson parameter = {{"name", name}, {"in", "query"}};
      parameter["schema"] = std::move(of_name);
      operation["parameters"].push_back(std::move(parameter));
    }
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
  TableRows routes = {{"route", "what it gives", "role of the API key"}};
  for (const Route& route : route_table()) {
    routes.push_back({fmt::format("`{} {}`", route.method, route.path), route.summary,
                      route.open ? "none" : route.role});
  }
  std::string page = kServerPage + std::string("## Routes\n\n") + markdown_table(routes);
  page +=
      "\n## Bodies\n\nUnknown keys of a body are ignored. A GET has its keys behind `?` in the "
      "address; unknown ones are refused.\n\n";
  for (const Route& route : route_table()) {
    if (route.request == nullptr) continue;
    const std::string title =
        fmt::format("`{} {}{}`", route.method, route.path, route.in_query ? "?" : "");
    page += "#" + option_members_to_markdown(route.request, title) + "\n";
  }
  TableRows errors = {{"status", "there", "`error_type`", "when"}};
  for (const RefusalRow& row : refusal_rows()) {
    errors.push_back({std::to_string(row.status), std::to_string(row.openai_status),
                      fmt::format("`{}`", row.type), row.meaning});
  }
  ServeOptions options;
  ApiKey key;
  return page +
         "## Errors\n\n`{\"error\": text, \"error_type\": type}`, and under `/v1`, `/v2` and of "
         "`/embeddings` `{\"error\": {\"message\", \"type\", \"param\", \"code\"}}`.\nWhat they "
         "say: [bad requests](results/bad-requests.md).\n\n" +
         markdown_table(errors) + "\n" +
         options_to_markdown(key, "A line of --api-key-file in braces") + "\n" +
         options_to_markdown(options, "Options (`simile serve`)");
}

}  // namespace simile
