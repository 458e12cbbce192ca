// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/text/token_model.h"
#include "simile/text/tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using Pieces = std::vector<std::pair<std::string, double>>;

using Model = std::unique_ptr<const TokenModel>;

Model make_unigram(const Pieces& pieces, const UnigramSettings& settings) {
  std::vector<std::pair<std::string, int64_t>> entries;
  std::vector<double> scores;
  for (const auto& [text, score] : pieces) {
    entries.emplace_back(text, static_cast<int64_t>(entries.size()));
    scores.push_back(score);
  }
  const auto size = static_cast<int64_t>(entries.size());
  return simile::make_unigram(
      Vocabulary(std::move(entries), size, "tiny", Vocabulary::Repeats::kLastWins), scores,
      settings, "tiny");
}

std::vector<Token> tokenize(const Model& model, const std::string& text) {
  std::vector<Token> tokens;
  model->tokenize(text, {{0, static_cast<uint32_t>(text.size())}}, 1 << 30, tokens);
  return tokens;
}

using Offsets = std::vector<std::pair<uint32_t, uint32_t>>;

// Offsets in code points instead of bytes.
Offsets in_code_points(const std::string& text, const Encoding& encoding) {
  Offsets offsets;
  for (const auto& [begin, end] : encoding.offsets) {
    const std::string_view view = text;
    offsets.emplace_back(count_characters(view.substr(0, begin)),
                         count_characters(view.substr(0, end)));
  }
  return offsets;
}

TEST(Unigram, TinyTokenizersGiveTheIdsAndOffsetsOfTheLibrary) {
  const detail::Json golden =
      detail::read_json(SIMILE_SOURCE_DIR "/tests/golden/tokenizers/unigram.json");
  for (const auto& [name, entry] : golden.items()) {
    const Tokenizer tokenizer = Tokenizer::parse(entry.at("tokenizer").dump(), name);
    EXPECT_GE(entry.at("cases").size(), 50u);
    for (const detail::Json& row : entry.at("cases")) {
      const auto text = row.at("text").get<std::string>();
      SCOPED_TRACE(name + ": " + text);
      const Encoding encoding = tokenizer.encode(text);
      EXPECT_EQ(encoding.ids, row.at("ids").get<std::vector<int32_t>>());
      EXPECT_EQ(in_code_points(text, encoding), row.at("offsets").get<Offsets>());
      std::vector<int32_t> ids;
      tokenizer.encode_ids(text, ids);
      EXPECT_EQ(ids, encoding.ids);
    }
  }
}

TEST(Unigram, NoOtherCutHasALargerSum) {
  RandomStream random(5, "text test");
  for (int round = 0; round < 200; ++round) {
    Pieces pieces = {{"?", -20}, {"a", -2}, {"b", -2.5}, {"c", -3}};
    for (int i = 0; i < 12; ++i) {
      std::string text;
      for (int k = 0; k < 2 + i % 3; ++k) text += static_cast<char>('a' + random.below(3));
      const double score = -1.0 - 6.0 * random.uniform();
      if (std::none_of(pieces.begin(), pieces.end(), [&](auto& p) { return p.first == text; })) {
        pieces.emplace_back(text, score);
      }
    }
    const Model model = make_unigram(pieces, {0, false});
    std::string word;
    for (int k = 0; k < 9; ++k) word += static_cast<char>('a' + random.below(3));
    double sum = 0;
    for (const Token& token : tokenize(model, word)) sum += pieces[token.id].second;
    // All 2^8 ways to cut the word.
    double best = -INFINITY;
    for (uint32_t cuts = 0; cuts < 256; ++cuts) {
      double total = 0;
      std::string part;
      for (size_t i = 0; i < word.size(); ++i) {
        part += word[i];
        if (i + 1 < word.size() && (cuts >> i & 1) == 0) continue;
        const auto found = std::find_if(pieces.begin(), pieces.end(),
                                        [&](const auto& piece) { return piece.first == part; });
        total += found == pieces.end() ? -INFINITY : found->second;
        part.clear();
      }
      best = std::max(best, total);
    }
    EXPECT_NEAR(sum, best, 1e-9) << word;
  }
}

TEST(Unigram, LongWordsNeedTimeInProportion) {
  const Model model = make_unigram({{"?", -9}, {"a", -1}, {"aa", -1.5}, {"aaaa", -2}}, {0, false});
  const std::string word(2000000, 'a');  // squared, this would take hours
  EXPECT_EQ(tokenize(model, word).size(), 500000u);
}

TEST(Unigram, LimitStopsAfterAWord) {
  const Model model = make_unigram({{"?", -9}, {"a", -1}}, {0, false});
  std::vector<Token> tokens;
  model->tokenize("aaaa", {{0, 2}, {2, 3}, {3, 4}}, 2, tokens);
  EXPECT_EQ(tokens.size(), 2u);
}

TEST(Unigram, UnknownCharacterWithoutUnknownTokenIsAnError) {
  const Model model = make_unigram({{"a", -1}}, {-1, false});
  EXPECT_EQ(tokenize(model, "aa").size(), 2u);
  try {
    tokenize(model, "ab");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("\"b\" is not in the vocabulary"));
  }
}

std::string error_of_model(const std::string& model) {
  return error_of(ErrorKind::kInput,
                  [&] { Tokenizer::parse(R"({"model":)" + model + "}", "small.json"); });
}

TEST(Unigram, BrokenModelsAreErrorsThatNameTheEntry) {
  using testing::HasSubstr;
  EXPECT_EQ(error_of_model(R"({"type":"Unigram","unk_id":0,"vocab":[["a",-1]]})"), "");
  EXPECT_THAT(error_of_model(R"({"type":"Unigram","unk_id":1,"vocab":[["a",-1]]})"),
              HasSubstr("unk_id"));
  EXPECT_THAT(error_of_model(R"({"type":"Unigram","unk_id":0,"vocab":[["a",-1],["b"]]})"),
              HasSubstr("vocab: entry 1 must be a token and its score"));
  EXPECT_THAT(error_of_model(R"({"type":"Unigram","unk_id":0,"vocab":{"a":0}})"),
              HasSubstr("vocab must be a list"));
}

}  // namespace
}  // namespace simile
