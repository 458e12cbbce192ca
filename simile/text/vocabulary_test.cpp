// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "simile/core/random.h"

namespace simile::detail {
namespace {

TEST(PieceTrie, FindsEveryPieceThatATextBeginsWith) {
  RandomStream random(3, "text test");
  for (const uint64_t letters : {2, 5, 256}) {
    std::map<std::string, int32_t> pieces;
    for (int i = 0; i < 5000; ++i) {
      std::string text;
      const uint64_t size = 1 + random.below(10);
      for (uint64_t k = 0; k < size; ++k) text += static_cast<char>(random.below(letters));
      pieces.emplace(text, static_cast<int32_t>(i));
    }
    const PieceTrie trie({pieces.begin(), pieces.end()});
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (int k = 0; k < 12; ++k) text += static_cast<char>(random.below(letters));
      if (i % 2 == 0) text = std::next(pieces.begin(), random.below(pieces.size()))->first + text;
      std::map<size_t, int32_t> found;
      PieceTrie::Cursor cursor(trie);
      for (size_t k = 0; k < text.size() && cursor.descend(text[k]);) {
        ++k;
        if (cursor.piece() >= 0) found[k] = cursor.piece();
      }
      std::map<size_t, int32_t> expected;
      for (size_t k = 1; k <= text.size(); ++k) {
        const auto piece = pieces.find(text.substr(0, k));
        if (piece != pieces.end()) expected[k] = piece->second;
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(PieceTrie, EmptyTrieHasNothing) {
  const PieceTrie trie(std::vector<std::pair<std::string_view, int32_t>>{});
  for (int c = 0; c < 256; ++c) {
    PieceTrie::Cursor cursor(trie);
    EXPECT_EQ(cursor.piece(), -1);
    EXPECT_FALSE(cursor.descend(static_cast<char>(c)));
  }
}

}  // namespace
}  // namespace simile::detail

namespace simile {
namespace {

AddedTokenFinder make_finder(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> patterns;
  for (const AddedToken& token : tokens) patterns.push_back(token.content);
  return AddedTokenFinder(tokens, patterns);
}

// The parts as text, tokens as "<id:text>".
std::string split(const AddedTokenFinder& finder, const std::string& text) {
  std::vector<TextPart> parts;
  finder.split(text, parts);
  std::string shown;
  for (const TextPart& part : parts) {
    const std::string piece = text.substr(part.span.begin, part.span.end - part.span.begin);
    shown += part.id < 0 ? "(" + piece + ")" : "<" + std::to_string(part.id) + ":" + piece + ">";
  }
  return shown;
}

AddedToken make_token(const std::string& content, int32_t id) {
  AddedToken token;
  token.content = content;
  token.id = id;
  return token;
}

TEST(AddedTokenFinder, FindsTheLongestTokenFromTheLeft) {
  const AddedTokenFinder finder =
      make_finder({make_token("[A]", 1), make_token("[A]B", 2), make_token("x", 3)});
  EXPECT_EQ(split(finder, ""), "");
  EXPECT_EQ(split(finder, "none"), "(none)");
  EXPECT_EQ(split(finder, "[A]"), "<1:[A]>");
  EXPECT_EQ(split(finder, "1[A]B[A][Ax]"), "(1)<2:[A]B><1:[A]>([A)<3:x>(])");
  EXPECT_EQ(split(finder, "[[A]"), "([)<1:[A]>");
  EXPECT_EQ(split(finder, "\xE2\x82[A]\xFF"), "(\xE2\x82)<1:[A]>(\xFF)");
}

TEST(AddedTokenFinder, WithoutTokensTheTextIsOnePart) {
  EXPECT_EQ(split(AddedTokenFinder(), "[A]"), "([A])");
  EXPECT_EQ(split(AddedTokenFinder(), ""), "");
}

TEST(AddedTokenFinder, SingleWordMustNotTouchWords) {
  AddedToken token = make_token("ing", 5);
  token.single_word = true;
  const AddedTokenFinder finder = make_finder({token});
  EXPECT_EQ(split(finder, "I am going"), "(I am going)");
  EXPECT_EQ(split(finder, "ing ings \u00E9ing (ing)"), "<5:ing>( ings \u00E9ing ()<5:ing>())");
}

TEST(AddedTokenFinder, StripTakesTheSpacesAround) {
  AddedToken left = make_token("<m>", 1);
  left.lstrip = true;
  AddedToken right = make_token("<r>", 2);
  right.rstrip = true;
  const AddedTokenFinder finder = make_finder({left, right});
  EXPECT_EQ(split(finder, "a \u00A0<m> b"), "(a)<1: \u00A0<m>>( b)");
  EXPECT_EQ(split(finder, "a <r> \u3000b"), "(a )<2:<r> \u3000>(b)");
  EXPECT_EQ(split(finder, "<r>  <m>"), "<2:<r>  ><1:<m>>");
  EXPECT_EQ(split(finder, "  <m>"), "<1:  <m>>");
}

}  // namespace
}  // namespace simile
