// SPDX-License-Identifier: Apache-2.0
// The rows of the table of routes that have bodies, and what their schemas share.
#pragma once

#include <vector>

#include "simile/serve/routes.h"

namespace simile::detail {

inline constexpr const char* kText = R"({"type":"string"})";
inline constexpr const char* kObject = R"({"type":"object"})";
inline constexpr const char* kFlag = R"({"type":"boolean"})";
inline constexpr const char* kInteger = R"({"type":"integer"})";
inline constexpr const char* kTexts =
    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})";

// A GET without a body.
Route page(const char* operation, const char* path, const char* summary, const char* response,
           bool open, Reply (*answer)(const Engine&, const RouteCall&));

std::vector<Route> text_routes();   // of the model
std::vector<Route> index_routes();  // of the index and its documents

}  // namespace simile::detail
