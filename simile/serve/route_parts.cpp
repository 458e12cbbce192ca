// SPDX-License-Identifier: Apache-2.0
// What the routes share.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>

#include "simile/serve/detail/route_answers.h"

namespace simile::detail {
namespace {

constexpr size_t kUsualNumber = 14, kLongestNumber = 32;  // characters with its comma, about
constexpr int64_t kTogether = 16;                         // numbers that are given room at a time

}  // namespace

TextGroup read_group(const JsonRequest& request) {
  TextGroup group;
  group.truncate = request.flag("truncate").value_or(true);
  const std::string direction =
      request.choice("truncation_direction", {"Right", "right", "Left", "left"});
  group.truncate_left = direction == "Left" || direction == "left";
  group.prompt_name = request.text_or("prompt_name", "");
  return group;
}

TextGroup make_group(const std::vector<std::string>& texts, const TextGroup& like, TextRole role) {
  TextGroup group = like;
  group.role = role;
  group.inputs.clear();
  for (const std::string& text : texts) {
    group.inputs.emplace_back();
    group.inputs.back().text = text;
  }
  return group;
}

void append_vector(std::string& out, const float* vector, int64_t D) {
  out.reserve(out.size() + static_cast<size_t>(D) * kUsualNumber);
  out += '[';
  size_t end = out.size();
  for (int64_t begin = 0; begin < D; begin += kTogether) {
    const int64_t count = std::min(D - begin, kTogether);
    out.resize(end + static_cast<size_t>(count) * kLongestNumber);
    char* at = out.data() + end;
    for (int64_t i = begin; i < begin + count; ++i) {
      if (i > 0) *at++ = ',';
      at = fmt::format_to(at, FMT_COMPILE("{}"), vector[i]);
    }
    end = static_cast<size_t>(at - out.data());
  }
  out.resize(end);
  out += ']';
}

Reply json_reply(const OrderedJson& json) {
  Reply reply;
  reply.body = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return reply;
}

}  // namespace simile::detail
