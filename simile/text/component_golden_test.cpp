// SPDX-License-Identifier: Apache-2.0
// Small tokenizers that together use every component, against the `tokenizers` library
// (tools/conformance/golden.js).
#include <gtest/gtest.h>

#include "simile/core/detail/json.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

using detail::Json;

const char kGolden[] = SIMILE_SOURCE_DIR "/tests/golden/tokenizers/components.json";

std::vector<uint32_t> flat_offsets(const Encoding& encoding, const std::string& text,
                                   const std::string& pair) {
  std::vector<uint32_t> flat;
  for (const auto& [begin, end] : character_offsets(encoding, text, pair)) {
    flat.push_back(begin);
    flat.push_back(end);
  }
  return flat;
}

void expect_result(const Tokenizer& tokenizer, const Json& item, const Json& expected) {
  const auto text = item.at("text").get<std::string>();
  const std::string pair = item.value("pair", "");
  SCOPED_TRACE(text);
  const Encoding encoding =
      item.contains("pair") ? tokenizer.encode_pair(text, pair) : tokenizer.encode(text);
  EXPECT_EQ(encoding.ids, expected.at("ids").get<std::vector<int32_t>>());
  EXPECT_EQ(flat_offsets(encoding, text, pair),
            expected.at("offsets").get<std::vector<uint32_t>>());
  if (item.contains("pair")) {
    EXPECT_EQ(encoding.type_ids, expected.at("type_ids").get<std::vector<int32_t>>());
  } else {
    std::vector<int32_t> ids;
    tokenizer.encode_ids(text, ids);
    EXPECT_EQ(ids, encoding.ids);
  }
}

TEST(ComponentGolden, EveryComponentIsExact) {
  const Json golden = detail::read_json(kGolden);
  const Json& texts = golden.at("texts");
  EXPECT_GE(golden.at("tokenizers").size(), 60u);
  for (const Json& item : golden.at("tokenizers")) {
    SCOPED_TRACE(item.at("name").get<std::string>());
    Json document = item.at("document");
    document["model"] = golden.at("models").at(document.at("model").get<size_t>());
    const Tokenizer tokenizer = Tokenizer::parse(detail::dump_json(document, -1), "golden");
    const Json& results = item.at("results");
    ASSERT_EQ(results.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) expect_result(tokenizer, texts[i], results[i]);
  }
}

}  // namespace
}  // namespace simile
