// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/file.h"
#include "simile/serve/detail/route_row.h"

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

}  // namespace simile
