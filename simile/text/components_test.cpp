// SPDX-License-Identifier: Apache-2.0
// Values of the `tokenizers` library 0.23.2.

#include "simile/text/detail/components.h"

#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

std::string decoded(const std::string& json, std::vector<std::string> tokens) {
  detail::make_decoder(detail::parse_json(json, "test"), "test")->decode(tokens);
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

TEST(Decoder, WordPieceJoinsWordsAndCleansUp) {
  const std::string cleaning = R"({"type":"WordPiece","prefix":"##","cleanup":true})";
  EXPECT_EQ(decoded(cleaning, {"un", "##afford", "##able", ",", "is", "n't", "it", "?"}),
            "unaffordable, isn't it?");
  EXPECT_EQ(decoded(cleaning, {"##s", "a", "'", "s"}), "##s a ' s");
  EXPECT_EQ(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":false})", {"a", ",", "##b"}),
            "a ,b");
  EXPECT_EQ(decoded(cleaning, {}), "");
}

TEST(Decoder, ByteLevelGivesBytes) {
  const std::string json =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
  EXPECT_EQ(decoded(json, {"Hello", "\u0120w\u00C3\u00B6", "rld"}), "Hello w\u00F6rld");
  EXPECT_EQ(decoded(json, {"\u00C3", "x"}), "\uFFFDx");
  EXPECT_EQ(decoded(json, {"\u4E2D\u0120", "\u0120"}), "\u4E2D\u0120 ");
}

TEST(Decoder, MetaspaceDropsTheSpaceThatWasPut) {
  EXPECT_EQ(decoded(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})",
                    {"▁a▁b", "▁c", "d"}),
            "ab cd");
  EXPECT_EQ(
      decoded(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {"▁a", "▁c"}),
      " a c");
}

TEST(Decoder, OtherStepsAndSequences) {
  EXPECT_EQ(decoded(R"({"type":"BPEDecoder","suffix":"</w>"})", {"a</w>", "b", "c</w>"}), "a bc");
  EXPECT_EQ(decoded(R"({"type":"ByteFallback"})", {"<0xE5>", "<0x8f>", "<0xAB>", "a", "<0xE5>"}),
            "叫a\uFFFD");
  EXPECT_EQ(decoded(R"({"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},
      {"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
                    {"▁▁a", "<0x62>", "▁c"}),
            " ab c");
}

TEST(Decoder, WhatIsNotKnownIsToldWhenItDecodes) {
  for (const char* json : {R"({"type":"CTC"})", R"({"type":"Fuse","x":1})", "5",
                           R"({"type":"Replace","pattern":{"Regex":"a"},"content":""})",
                           R"({"type":"Strip","content":"","start":1,"stop":0})"}) {
    EXPECT_THROW(decoded(json, {"a"}), Error) << json;
  }
  EXPECT_EQ(detail::make_decoder(detail::Json(), "test"), nullptr);
}

TEST(Decoder, StepsDoNotMultiplyATextWithoutEnd) {
  const std::string step =
      R"({"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(2000, 'a') + "\"}";
  const std::string json = R"({"type":"Sequence","decoders":[)" + step + "," + step;
  EXPECT_EQ(decoded(json + "]}", {"a"}).size(), 4000000u);
  EXPECT_THROW(decoded(json + "," + step + "]}", {"a"}), Error);
}

TEST(Decoder, ATokenizerLeavesOutSpecialTokensUnlessAsked) {
  const Tokenizer tokenizer = Tokenizer::from_vocabulary(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"}, {}, "test");
  EXPECT_EQ(tokenizer.decode({2, 5, 6, 7, 3}), "the cats");
  EXPECT_EQ(tokenizer.decode({2, 5, 6, 7, 3}, false), "[CLS] the cats [SEP]");
  EXPECT_EQ(tokenizer.decode({}), "");
  EXPECT_THROW(tokenizer.decode({8}), Error);
  EXPECT_THROW(tokenizer.decode({-1}), Error);
}

}  // namespace
}  // namespace simile
