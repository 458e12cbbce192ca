// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/text/normalizer.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

std::string tiny_table() {
  std::string text = read_file(SIMILE_SOURCE_DIR "/tests/golden/tokenizers/character_table.txt");
  text.pop_back();
  return decode_base64(text, "character_table.txt");
}

NormalizedText normalize(const Normalizer& normalizer, std::string_view text, bool tracked) {
  NormalizedText raw;
  NormalizedText out;
  raw.assign(text, 0, tracked);
  normalizer.normalize(raw, out);
  return out;
}

TEST(Precompiled, CharactersAndClustersAreReplaced) {
  const auto normalizer = make_precompiled_normalizer(tiny_table(), "tiny");
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"", ""},
      {"plain text", "plain text"},
      {"a\tb", "a b"},
      {"\uFB01\uFB01", "fifi"},
      {"cafe\u0301", "caf\u00E9"},
      {"\uFF41\u0301", "a"},  // the entry of the first character stands for the whole cluster
      {"\uFF21\u0301\u0301", "A\u0301\u0301"},  // 7 bytes: character by character
      {"a\u200Bb", "ab"},
      {"\u4E2D\u2126\u6587", "\u4E2D\u03A9\u6587"},
  };
  for (const auto& row : cases) {
    EXPECT_EQ(normalize(*normalizer, row.text, true).text, row.expected) << row.text;
    EXPECT_EQ(normalize(*normalizer, row.text, false).text, row.expected) << row.text;
  }
}

TEST(Precompiled, AddedCharactersHaveTheOriginOfTheOneBefore) {
  const auto normalizer = make_precompiled_normalizer(tiny_table(), "tiny");
  const NormalizedText out = normalize(*normalizer, "x\uFB01\u200By", true);
  EXPECT_EQ(out.text, "xfiy");
  // The removed U+200B turns the "i" from an added character into one with its origin.
  EXPECT_EQ(out.origins, (std::vector<Span>{{0, 1}, {1, 4}, {4, 7}, {7, 8}}));
}

TEST(Precompiled, DamagedTablesAreErrors) {
  const std::string good = tiny_table();
  const auto error_from = [](const std::string& table) {
    return error_of([&] { make_precompiled_normalizer(table, "damaged"); });
  };
  EXPECT_THAT(error_from("abc"), testing::HasSubstr("damaged: the character table has 3 bytes"));
  EXPECT_THAT(error_from(good.substr(0, 40)), testing::HasSubstr("its trie has"));
  EXPECT_THAT(error_from(good.substr(0, good.size() - 8)), testing::HasSubstr("points to no text"));
  EXPECT_THAT(error_from(good + "\xFF"), testing::HasSubstr("not valid UTF-8"));
}

TEST(Precompiled, ChangedBytesNeverLeadOutside) {
  const std::string good = tiny_table();
  RandomStream random(11, "text test");
  int used = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string table = good;
    for (int i = 0; i < 3; ++i)
      table[random.below(table.size())] = static_cast<char>(random.below(256));
    try {
      const auto normalizer = make_precompiled_normalizer(table, "changed");
      const std::string_view text = "a\tb \uFB01 \u2126\uFF21\u3000e\u0301\u200B\U0001F600";
      EXPECT_EQ(normalize(*normalizer, text, true).text, normalize(*normalizer, text, false).text);
      ++used;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(used, 100);
}

}  // namespace
}  // namespace simile
