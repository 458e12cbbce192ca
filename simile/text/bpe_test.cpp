// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "simile/core/error.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/token_model.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Pieces = std::vector<std::string>;
using Model = std::unique_ptr<const TokenModel>;

Vocabulary make_vocabulary(const std::vector<std::string>& tokens) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const std::string& token : tokens) {
    entries.emplace_back(token, static_cast<int64_t>(entries.size()));
  }
  const auto size = static_cast<int64_t>(entries.size());
  return Vocabulary(std::move(entries), size, "test");
}

Model make_bpe(const std::vector<std::string>& tokens, const BpeMerges& merges,
               const BpeSettings& settings = {}) {
  return simile::make_bpe(make_vocabulary(tokens), merges, settings, "test");
}

std::vector<Token> tokenize(const Model& bpe, const std::string& word) {
  std::vector<Token> tokens;
  bpe->tokenize(word, {{0, static_cast<uint32_t>(word.size())}}, 1u << 30, tokens);
  return tokens;
}

Pieces pieces(const Model& bpe, const std::string& word) {
  Pieces result;
  for (const Token& token : tokenize(bpe, word)) {
    result.emplace_back(bpe->vocabulary().token(token.id));
  }
  return result;
}

TEST(Bpe, MergesByRankAndTheLeftmostFirst) {
  const Model bpe = make_bpe({"a", "b", "c", "ab", "bc", "aa", "abc"},
                             {{"b", "c"}, {"a", "a"}, {"a", "b"}, {"ab", "c"}});
  EXPECT_THAT(pieces(bpe, "abc"), ElementsAre("a", "bc"));
  EXPECT_THAT(pieces(bpe, "aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(pieces(bpe, "ab"), ElementsAre("ab"));
}

TEST(Bpe, IgnoredMergesLetAWholeWordBeItsToken) {
  const std::vector<std::string> tokens = {"a", "b", "c", "bc", "abc"};
  EXPECT_THAT(pieces(make_bpe(tokens, {{"b", "c"}}), "abc"), ElementsAre("a", "bc"));
  BpeSettings settings;
  settings.ignore_merges = true;
  EXPECT_THAT(pieces(make_bpe(tokens, {{"b", "c"}}, settings), "abc"), ElementsAre("abc"));
}

TEST(Bpe, UnknownCharacters) {
  const std::vector<std::string> tokens = {"?", "a", "<0xC3>", "<0xA9>"};
  BpeSettings settings;
  EXPECT_THAT(pieces(make_bpe(tokens, {}), "xay"), ElementsAre("a"));
  settings.unknown_token = "?";
  EXPECT_THAT(pieces(make_bpe(tokens, {}, settings), "xya\u00E9"), ElementsAre("?", "?", "a", "?"));
  settings.fuse_unknown = true;
  EXPECT_THAT(pieces(make_bpe(tokens, {}, settings), "xya\u00E9"), ElementsAre("?", "a", "?"));
  settings.byte_fallback = true;
  EXPECT_THAT(pieces(make_bpe(tokens, {}, settings), "xa\u00E9"),
              ElementsAre("?", "a", "<0xC3>", "<0xA9>"));
  settings.unknown_token = "missing";
  try {
    pieces(make_bpe(tokens, {}, settings), "x");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"missing\""));
  }
}

TEST(Bpe, PrefixAndSuffixMarkThePlaceInTheWord) {
  BpeSettings settings;
  settings.continuing_prefix = "##";
  settings.word_suffix = "</w>";
  const Model bpe = make_bpe({"a", "a</w>", "##b", "##b</w>", "ab", "ab</w>"},
                             {{"a", "##b"}, {"a", "##b</w>"}}, settings);
  EXPECT_THAT(pieces(bpe, "a"), ElementsAre("a</w>"));
  EXPECT_THAT(pieces(bpe, "abb"), ElementsAre("ab", "##b</w>"));
  EXPECT_THAT(pieces(bpe, "ab"), ElementsAre("ab</w>"));
}

// Merges one by one as the definition says.
Pieces merge_slowly(const std::string& word, const BpeMerges& merges) {
  Pieces parts;
  for (const char c : word) parts.emplace_back(1, c);
  while (true) {
    size_t best_rank = merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].first == parts[i] && merges[rank].second == parts[i + 1]) {
          best_rank = rank;
          best = i;
        }
      }
    }
    if (best_rank == merges.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, ShortAndLongWordsFollowTheDefinition) {
  std::mt19937 random(3);
  std::vector<std::string> tokens = {"a", "b", "c"};
  BpeMerges merges;
  while (merges.size() < 30) {
    const std::string left = tokens[random() % tokens.size()];
    const std::string right = tokens[random() % tokens.size()];
    if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
    merges.emplace_back(left, right);
    tokens.push_back(left + right);
  }
  const Model bpe = make_bpe(tokens, merges);
  for (int i = 0; i < 400; ++i) {
    std::string word(1 + random() % (i < 300 ? 60 : 300), 'a');
    for (char& c : word) c = static_cast<char>('a' + random() % 3);
    ASSERT_EQ(pieces(bpe, word), merge_slowly(word, merges)) << word;
  }
}

TEST(Bpe, VeryLongWordKeepsItsBytes) {
  const Model bpe = make_bpe({"a", "b", "ab", "abab"}, {{"a", "b"}, {"ab", "ab"}});
  std::string word;
  for (int i = 0; i < 100000; ++i) word += "ab";
  const std::vector<Token> tokens = tokenize(bpe, word);
  ASSERT_EQ(tokens.size(), 50000u);
  EXPECT_EQ(tokens.front().span, (Span{0, 4}));
  EXPECT_EQ(tokens.back().span, (Span{199996, 200000}));
}

TEST(Bpe, BytesGiveTheTokensOfTheirCharacters) {
  std::vector<std::string> tokens;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    tokens.emplace_back();
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), tokens.back());
  }
  const std::string space = tokens[' '];
  tokens.push_back(space + "h");
  tokens.push_back(tokens[0xC3] + tokens[0xA9]);
  const Model bpe = make_bpe(tokens, {{space, "h"}, {tokens[0xC3], tokens[0xA9]}});
  std::vector<Token> from_bytes;
  ASSERT_TRUE(bpe->tokenize_bytes(" h\u00E9", {{0, 4}}, 100, from_bytes));
  ASSERT_EQ(from_bytes.size(), 2u);
  EXPECT_EQ(from_bytes[0].id, 256);
  EXPECT_EQ(from_bytes[1].id, 257);
  EXPECT_EQ(from_bytes[1].span, (Span{2, 4}));
  EXPECT_THAT(pieces(bpe, space + "h" + tokens[0xC3] + tokens[0xA9]),
              ElementsAre(tokens[256], tokens[257]));
  EXPECT_FALSE(make_bpe({"a"}, {})->tokenize_bytes("a", {{0, 1}}, 100, from_bytes));
}

TEST(Bpe, MergesThatTheVocabularyLacksAreRefused) {
  const struct {
    std::vector<std::string> tokens;
    const char* missing;
  } cases[] = {
      {{"a", "ab"}, "\"b\" is not"}, {{"b", "ab"}, "\"a\" is not"}, {{"a", "b"}, "\"ab\" is not"}};
  for (const auto& item : cases) {
    try {
      make_bpe(item.tokens, {{"a", "b"}});
      FAIL() << "no error: " << item.missing;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(item.missing));
      EXPECT_THAT(error.what(), HasSubstr("merge 1"));
    }
  }
}

}  // namespace
}  // namespace simile
