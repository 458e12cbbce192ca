// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json and a text (after the first zero byte) from an untrusted source: loading and
// encoding succeed or throw simile::Error, nothing else. A tokenizer that loads is saved, and loads
// again with the same ids.
#include <cstdlib>
#include <string>
#include <string_view>

#include "simile/core/error.h"
#include "simile/text/tokenizer.h"

namespace {

constexpr std::string_view kText = "Hello, wörld! 1234 don't  <mask> \t日本語 ﬁ e\u0301 \xFF";

void check(bool condition) {
  if (!condition) std::abort();
}

void check_encoding(const simile::Encoding& encoding, std::string_view text) {
  check(encoding.ids.size() == encoding.offsets.size());
  check(encoding.ids.size() == encoding.type_ids.size());
  for (const auto& [begin, end] : encoding.offsets) check(begin <= end && end <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string_view json = input.substr(0, zero);
  const std::string_view text = zero == std::string_view::npos ? kText : input.substr(zero + 1);
  try {
    const simile::Tokenizer tokenizer = simile::Tokenizer::parse(json, "input");
    const simile::Encoding encoding = tokenizer.encode(text);
    check_encoding(encoding, text);
    std::vector<int32_t> ids;
    tokenizer.encode_ids(text, ids);
    check(ids == encoding.ids);
    const simile::Tokenizer again = simile::Tokenizer::parse(tokenizer.to_json(), "again");
    check(again.encode(text).ids == ids);
    tokenizer.encode_pair(text, kText);
    tokenizer.decode(ids, false);
  } catch (const simile::Error&) {
  }
  return 0;
}
