// SPDX-License-Identifier: Apache-2.0
// The web page of the server: the files of simile/serve/web, held in the program. A request finds
// one by its name in this table and never reaches the file system.
//
// The page asks nobody but the server that it came from, which its Content-Security-Policy says
// too. A browser keeps the files and asks with their ETag whether they are still the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simile/serve/request_error.h"

namespace simile {

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

}  // namespace simile
