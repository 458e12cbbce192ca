// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/web_page.h"

#include <algorithm>

namespace simile {
namespace {

constexpr const char* kContentPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'";

const WebFile& file_at(std::string_view path) {
  const std::vector<WebFile>& files = web_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const WebFile& file) { return file.path == path; });
  if (found == files.end()) {
    throw RequestError(Refusal::kUnknownRoute, "the page has no such part");
  }
  return *found;
}

// A list of tags, of which weak ones count too, or "*".
bool names_tag(std::string_view header, std::string_view etag) {
  return header == "*" || header.find(etag) != std::string_view::npos;
}

}  // namespace

Reply web_reply(std::string_view path, std::string_view if_none_match) {
  const WebFile& file = file_at(path);
  Reply reply;
  reply.content_type = file.content_type;
  reply.headers = {{"ETag", file.etag},
                   {"Cache-Control", "no-cache"},
                   {"Content-Security-Policy", kContentPolicy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"}};
  if (names_tag(if_none_match, file.etag)) {
    reply.status = 304;
  } else {
    reply.body = file.bytes;
  }
  return reply;
}

}  // namespace simile
