// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/file.h"
#include "simile/serve/detail/route_row.h"
#include "simile/serve/web_page.h"

namespace simile {
namespace {

using detail::page;

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

std::vector<Route> routes_of_files() {
  std::vector<Route> routes;
  for (const WebFile& file : web_files()) {
    routes.push_back(
        page("getFile", file.path, "Part of the web page", file.content_type, detail::answer_web));
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

std::vector<std::string> paths() {
  std::vector<std::string> paths;
  for (const Route& route : route_table()) paths.emplace_back(route.path);
  return paths;
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
