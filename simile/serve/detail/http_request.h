// SPDX-License-Identifier: Apache-2.0
// What has to hold of a request before a route sees it, and its body. Errors are those of a
// request.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <string>

namespace simile::detail {

bool is_chunked(const httplib::Request& request);
size_t content_length(const httplib::Request& request);  // 0: none
bool has_body(const httplib::Request& request);

// Errors: kMalformed where the body may be read to end in two places; kWrongMethod and
// kUnknownRoute for what no route can answer.
void check_request(const httplib::Request& request);

// Errors: kWrongType for a compressed body or one in parts, kTooLarge.
void check_body(const httplib::Request& request, int64_t most_bytes);

// Errors: kTooLarge, kMalformed for one that is not complete.
std::string read_body(const httplib::ContentReader& reader, int64_t most_bytes);

}  // namespace simile::detail
