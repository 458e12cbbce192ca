// SPDX-License-Identifier: Apache-2.0
// An answer over HTTP.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simile {

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace simile
