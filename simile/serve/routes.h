// SPDX-License-Identifier: Apache-2.0
// The table of routes, from which calls are dispatched and /openapi.json and docs/server.md are
// made. Bodies, headers and status codes are those of text-embeddings-inference (TEI) and, under
// /v1, of OpenAI.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/options.h"
#include "simile/serve/engine.h"
#include "simile/serve/request_error.h"

namespace simile {

// The inputs of a route.
struct RouteCall {
  const char* path;         // of the route
  const std::string& name;  // what stands in the place of {name} or {id} in it
  const std::string& body;
  Patience patience;
  RequestCost& cost;                                            // what it fills
  std::vector<std::pair<std::string, std::string>> query = {};  // behind ? in the address
};

// The inputs of a route about the server itself, which needs no engine.
struct StateCall {
  const std::string& path;
  const std::string& if_none_match;  // that header
  const Engine* engine;              // of the call's place; null: it is being loaded
  const Engines& engines;            // all
  Metrics& metrics;
  bool stopping;
};

// detail/route_row.h makes one from the structs that describe request and reply.
struct Route {
  const char* operation;  // its name in the OpenAPI document
  const char* method;
  const char* path;  // "{name}" or "{id}" in it: one character or more
  const char* summary;
  OptionVisitor::Members request = {};      // visits an example of its body; null: it has none
  std::string (*reply_schema)() = nullptr;  // null: the reply is not JSON
  const char* media_type = "application/json";
  std::vector<Refusal> refusals = {};  // beside those that every route, or every body, has
  bool open = false;                   // answered without an API key
  const char* role = "read";           // that an API key needs; admin: only with a key
  bool in_query = false;               // the request stands behind ? in the address
  std::function<Reply(const Engine& engine, const RouteCall& call)> answer = {};
  Reply (*tell)(const StateCall& call) = nullptr;  // in its place: at once, on any thread

  bool has_body() const { return request != nullptr && !in_query; }
};

// The routes of the API, and the web page.
const std::vector<Route>& route_table();

// Finds a route of the table, or a file of the web page. Errors (RequestError): kUnknownRoute with
// the nearest path, kWrongMethod. HEAD finds GET.
const Route& find_route(const std::string& method, const std::string& path);

// The part of `path` in the place of the route's {name} or {id}; empty if the route has neither.
std::string name_in_path(const Route& route, const std::string& path);

// The methods of a path: "GET, HEAD".
std::string allowed_methods(const std::string& path);

// The form of errors under `path`, also where there is no route.
ErrorStyle error_style(const std::string& path);

// The web page: the files of simile/serve/web, held in the program. A request finds one by its name
// in this table and never reaches the file system. A browser keeps the files and asks with their
// ETag whether they are still the same.
struct WebFile {
  const char* path;  // "/" for index.html, "/web/app.js"
  const char* content_type;
  const char* etag;  // by the content, in quotes as HTTP has it
  std::string_view bytes;
};

const std::vector<WebFile>& web_files();

// The file of `path`, one of the table's; without its bytes (304) when `if_none_match`, that header
// of the request, names it as it is.
Reply web_reply(std::string_view path, std::string_view if_none_match);

// An OpenAPI 3.0 document (JSON); `version` is the program's.
std::string openapi_document(const std::string& version);

// docs/server.md.
std::string server_reference();

}  // namespace simile
