// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/file.h"
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/detail/route_rows.h"
#include "simile/serve/web_page.h"

namespace simile {
namespace {

using detail::kInteger;
using detail::kObject;
using detail::kText;
using detail::kTexts;
using detail::page;

constexpr const char* kRunsSchema =
    R"({"type":"object","properties":{"runs":{"type":"array","items":{"type":"object",)"
    R"("properties":{"name":{"type":"string"},"version":{"type":"string"},)"
    R"("finished":{"type":"boolean"},"seconds_ago":{"type":"integer"}}}},)"
    R"("left_out":{"type":"integer"}}})";

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

std::vector<Route> other_routes() {
  return {
      page("listRuns", "/runs",
           "The training runs, those changed last first, and whether they are finished (with "
           "--runs)",
           kRunsSchema, false, detail::answer_runs),
      page("getRun", "/runs/{name}",
           "The HTML report of a run as far as it has come, that of `simile report`, with files "
           "that cannot be read (with --runs)",
           "", false, detail::answer_run),
      {"reportRuns",
       "POST",
       "/runs",
       "The HTML report of several runs, up to 8 (with --runs)",
       {{"runs", kTexts, "", "names of runs", true},
        {"curves", kText, "\"all\"",
         "`main`: losses and the first metric of each evaluation alone"},
        {"smooth", kInteger, "0", "points on each side over which losses and norms are averaged"},
        {"errors", kInteger, "10", "worst errors of each evaluation; 0: no texts are shown"},
        {"first_step", kInteger, "0", "first step of the curves"},
        {"last_step", kInteger, "0", "last step of the curves; 0: the end"}},
       "",
       false,
       detail::answer_run_report},
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
           detail::answer_openapi)};
}

std::vector<std::string> paths() {
  std::vector<std::string> paths;
  for (const Route& route : route_table()) paths.emplace_back(route.path);
  return paths;
}

}  // namespace

namespace detail {

Route page(const char* operation, const char* path, const char* summary, const char* response,
           bool open, Reply (*answer)(const Engine&, const RouteCall&)) {
  return {operation, "GET", path, summary, {}, response, open, answer};
}

}  // namespace detail

const std::vector<Route>& route_table() {
  static const std::vector<Route> table = [] {
    std::vector<Route> routes = detail::text_routes();
    for (const auto& more : {detail::index_routes(), other_routes()}) {
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
