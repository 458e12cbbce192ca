// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/piece_trie.h"

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
