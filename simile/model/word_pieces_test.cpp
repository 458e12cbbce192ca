// SPDX-License-Identifier: Apache-2.0
#include "simile/model/word_pieces.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simile/text/byte_level.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

void expect_pieces(const Tokenizer& tokenizer, const std::vector<std::string>& words,
                   const std::vector<std::string>& others) {
  const std::vector<uint8_t> found = find_word_pieces(tokenizer);
  ASSERT_EQ(static_cast<int64_t>(found.size()), tokenizer.vocabulary_size());
  const auto at = [&](const std::string& token) {
    const int32_t id = tokenizer.find(token);
    EXPECT_GE(id, 0) << token;
    return static_cast<int>(found[static_cast<size_t>(id)]);
  };
  for (const std::string& token : words) EXPECT_EQ(at(token), 1) << token;
  for (const std::string& token : others) EXPECT_EQ(at(token), 0) << token;
}

Tokenizer with_tokens(const std::vector<std::string>& tokens) {
  nlohmann::json vocabulary;
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  const nlohmann::json document = {
      {"version", "1.0"},
      {"added_tokens", nlohmann::json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", nullptr},
      {"decoder", nullptr},
      {"post_processor", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", tokens[0]}}}};
  return Tokenizer::parse(document.dump(), "test");
}

TEST(WordPieces, LettersDigitsAndMarksBeginWords) {
  const std::vector<std::string> words = {"the", "##s",  "##é",   "2",   "##3rd", "½",
                                          "日",  "##本", "Ωmega", "##ा", "e-",    "а"};
  const std::vector<std::string> others = {".", "##.", "##", "#", "-e", "_", "€", "😀", "™", "'s"};
  std::vector<std::string> all = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), others.begin(), others.end());
  expect_pieces(Tokenizer::from_vocabulary(all, {}, "test"), words, others);
  expect_pieces(Tokenizer::from_vocabulary(all, {}, "test"), {}, {"[PAD]", "[UNK]", "[CLS]"});
}

TEST(WordPieces, WhatMarksSpacesIsNoPartOfAWord) {
  expect_pieces(
      with_tokens({"<unk>", "▁the", "▁", "▁▁1", "▁.", "ing", "Ġof", "Ġ(", "e</w>", ".</w>"}),
      {"▁the", "▁▁1", "ing", "Ġof", "e</w>"}, {"<unk>", "▁", "▁.", "Ġ(", ".</w>"});
}

TEST(WordPieces, ByteLevelTokensAreReadAsTheirBytes) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back();
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), tokens.back());
  }
  const auto written = [](std::string_view bytes) {
    std::string token;
    for (const char byte : bytes)
      append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    return token;
  };
  const std::vector<std::string> words = {written(" of"), written("\nx"), written(" é"),
                                          written("\xAC"), written("  7")};
  // Written in letters, but a quotation mark, a dash, a currency and white space.
  const std::vector<std::string> others = {written(" “"), written("—"), written("€1"),
                                           written(" \n\n"), written(".x")};
  tokens.insert(tokens.end(), words.begin(), words.end() - 2);
  tokens.push_back(words.back());
  tokens.insert(tokens.end(), others.begin(), others.end());
  expect_pieces(with_tokens(tokens), words, others);
}

}  // namespace
}  // namespace simile
