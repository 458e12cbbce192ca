// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/text/token_model.h"

namespace simile {
namespace {

using Model = std::unique_ptr<const TokenModel>;

Model make_model(const std::vector<std::string>& tokens, const WordPieceSettings& settings = {}) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const std::string& token : tokens) {
    entries.emplace_back(token, static_cast<int64_t>(entries.size()));
  }
  const auto bound = static_cast<int64_t>(entries.size());
  return make_word_piece(Vocabulary(std::move(entries), bound, "test"), settings, "test");
}

std::vector<std::string> cut(const Model& model, const std::string& word) {
  std::vector<Token> tokens;
  model->tokenize(word, {{0, static_cast<uint32_t>(word.size())}}, 1000, tokens);
  std::vector<std::string> texts;
  uint32_t end = 0;
  for (const Token& token : tokens) {
    EXPECT_EQ(token.span.begin, end);
    end = token.span.end;
    texts.emplace_back(model->vocabulary().token(token.id));
  }
  EXPECT_EQ(end, word.size());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(WordPiece, TakesTheLongestTokenFirst) {
  const Model model = make_model({"[UNK]", "un", "##aff", "##able", "##a", "u", "##n", "want",
                                  "##want", "##ed", "wa", "\u00E9", "##\u00E9t"});
  EXPECT_EQ(cut(model, "unaffable"), (Texts{"un", "##aff", "##able"}));
  EXPECT_EQ(cut(model, "wanted"), (Texts{"want", "##ed"}));
  EXPECT_EQ(cut(model, "want"), (Texts{"want"}));
  EXPECT_EQ(cut(model, "una"), (Texts{"un", "##a"}));
  EXPECT_EQ(cut(model, "\u00E9\u00E9t"), (Texts{"\u00E9", "##\u00E9t"}));
}

TEST(WordPiece, UnknownWordBecomesOneUnkToken) {
  const Model model = make_model({"[UNK]", "wa", "want", "##t", "##ed"});
  EXPECT_EQ(cut(model, "wantedx"), (Texts{"[UNK]"}));
  EXPECT_EQ(cut(model, "xwant"), (Texts{"[UNK]"}));
  EXPECT_EQ(cut(model, "ed"), (Texts{"[UNK]"}));  // only as a continuation
  EXPECT_EQ(cut(model, "wanwant"), (Texts{"[UNK]"}));
}

TEST(WordPiece, LongWordBecomesUnknownByCharactersNotBytes) {
  WordPieceSettings settings;
  settings.max_characters_per_word = 4;
  const Model model =
      make_model({"[UNK]", "\u00E9", "##\u00E9", "\u00E9\u00E9\u00E9\u00E9\u00E9"}, settings);
  EXPECT_EQ(cut(model, "\u00E9\u00E9\u00E9\u00E9").size(), 4u);
  EXPECT_EQ(cut(model, "\u00E9\u00E9\u00E9\u00E9\u00E9"),
            (Texts{"[UNK]"}));  // though it is a token
}

TEST(WordPiece, PrefixMayBeEmptyOrOther) {
  WordPieceSettings settings;
  settings.continuing_prefix = "";
  EXPECT_EQ(cut(make_model({"[UNK]", "a", "b"}, settings), "aba"), (Texts{"a", "b", "a"}));
  settings.continuing_prefix = "@@";
  EXPECT_EQ(cut(make_model({"[UNK]", "a", "@@b"}, settings), "abb"), (Texts{"a", "@@b", "@@b"}));
}

TEST(WordPiece, StopsOnceTheLimitIsReached) {
  const Model model = make_model({"[UNK]", "a", "##b"});
  std::vector<Token> tokens;
  model->tokenize("ababab", {{0, 2}, {2, 4}, {4, 6}}, 3, tokens);
  EXPECT_EQ(tokens.size(), 4u);
}

TEST(WordPiece, UnknownTokenMustExist) { EXPECT_THROW(make_model({"a"}), Error); }

// The definition, by trying each end in a map.
Texts cut_by_definition(const std::map<std::string, int>& vocabulary, const std::string& word) {
  Texts pieces;
  for (size_t begin = 0; begin < word.size();) {
    std::string best;
    size_t end = word.size();
    for (; end > begin; --end) {
      const std::string piece = (begin > 0 ? "##" : "") + word.substr(begin, end - begin);
      if (vocabulary.count(piece) > 0) {
        best = piece;
        break;
      }
    }
    if (best.empty()) return {"[UNK]"};
    pieces.push_back(best);
    begin = end;
  }
  return pieces;
}

TEST(WordPiece, AgreesWithItsDefinitionOnRandomWords) {
  RandomStream random(7, "word piece test");
  const auto random_text = [&](uint64_t longest) {
    std::string text;
    for (uint64_t i = 1 + random.below(longest); i > 0; --i) {
      text += static_cast<char>('a' + random.below(3));
    }
    return text;
  };
  std::map<std::string, int> known = {{"[UNK]", 0}};
  while (known.size() < 60) known[(random.below(2) ? "##" : "") + random_text(4)] = 0;
  Texts tokens;
  for (const auto& entry : known) tokens.push_back(entry.first);
  const Model model = make_model(tokens);
  for (int i = 0; i < 5000; ++i) {
    const std::string word = random_text(12);
    ASSERT_EQ(cut(model, word), cut_by_definition(known, word)) << word;
  }
}

TEST(Vocabulary, FindsTokensByTextAndNumber) {
  const Vocabulary vocabulary({{"b", 1}, {"a", 0}, {"\u00E9", 3}}, 4, "test");
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_EQ(vocabulary.find("b"), 1);
  EXPECT_EQ(vocabulary.find("\u00E9"), 3);
  EXPECT_EQ(vocabulary.find("c"), -1);
  EXPECT_EQ(vocabulary.find(""), -1);
  EXPECT_EQ(vocabulary.token(0), "a");
  EXPECT_EQ(vocabulary.token(2), "");
  EXPECT_EQ(Vocabulary().find("a"), -1);
}

TEST(Vocabulary, IdsThatCannotBeAreRefused) {
  const std::vector<std::vector<std::pair<std::string, int64_t>>> cases = {
      {{"a", -1}}, {{"a", 5}}, {{"a", 0}, {"b", 0}}, {{"a", 0}, {"a", 1}}};
  for (const auto& entries : cases) {
    EXPECT_THROW(Vocabulary(entries, 3, "test"), Error);
  }
}

}  // namespace
}  // namespace simile
