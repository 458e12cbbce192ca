// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary_trainer.h"

#include <gmock/gmock.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using Texts = std::vector<std::string>;

TextSource read_from(const Texts& texts) {
  return [texts, next = size_t{0}](std::string& text) mutable {
    if (next == texts.size()) return false;
    text = texts[next++];
    return true;
  };
}

Texts learn(const Texts& texts, const VocabularyTrainerOptions& options) {
  std::istringstream lines(train_vocabulary(read_from(texts), options).vocabulary_text());
  Texts tokens;
  for (std::string line; std::getline(lines, line);) tokens.push_back(line);
  return tokens;
}

VocabularyTrainerOptions make_options(int64_t size, int64_t min_frequency = 1) {
  VocabularyTrainerOptions options;
  options.vocabulary_size = size;
  options.min_frequency = min_frequency;
  return options;
}

TEST(VocabularyTrainer, JoinsTheMostFrequentPairsFirst) {
  // "a ##r", "i ##s", "i ##t" and "##r ##e" occur twice: the smaller ids first.
  const Texts texts = {"roses are red", "violets are blue", "it IS big", "and it is so"};
  EXPECT_THAT(learn(texts, make_options(1000, 2)),
              testing::ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "d", "e",
                                   "g", "i", "l", "n", "o", "r", "s", "t", "u", "v", "##d", "##e",
                                   "##g", "##i", "##l", "##n", "##o", "##r", "##s", "##t", "##u",
                                   "ar", "is", "it", "are"));
}

TEST(VocabularyTrainer, LearntTokenizerCutsTheTextsItLearntFrom) {
  const Texts texts = {"low low low low low", "lower lower", "newest newest newest", "widest"};
  const Tokenizer tokenizer = train_vocabulary(read_from(texts), make_options(40));
  EXPECT_EQ(tokenizer.special_tokens().mask, 4);
  for (const std::string& text : texts) {
    for (const int32_t id : tokenizer.encode(text).ids)
      EXPECT_NE(id, tokenizer.special_tokens().unk);
  }
  EXPECT_EQ(Tokenizer::parse(tokenizer.to_json(), "again").vocabulary_text(),
            tokenizer.vocabulary_text());
}

TEST(VocabularyTrainer, RareCharactersAreLeftOut) {
  VocabularyTrainerOptions options = make_options(100);
  options.alphabet_limit = 2;
  EXPECT_THAT(learn({"ab ab ab xa"}, options),
              testing::ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a",
                                   "##b", "ab"));
}

TEST(VocabularyTrainer, CaseIsKeptWhenAsked) {
  VocabularyTrainerOptions options = make_options(100);
  options.lowercase = false;
  const Texts tokens = learn({"Ab \u00C9"}, options);
  EXPECT_THAT(tokens, testing::Contains("A"));
  EXPECT_THAT(tokens, testing::Contains("\u00C9"));
  EXPECT_EQ(train_vocabulary(read_from({"Ab"}), options).encode("Ab").ids.size(), 3u);
}

TEST(VocabularyTrainer, MoreSpecialTokensAreAddedTokens) {
  VocabularyTrainerOptions options = make_options(100);
  options.special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QUERY]"};
  const Tokenizer tokenizer = train_vocabulary(read_from({"ab"}), options);
  EXPECT_EQ(tokenizer.encode("[QUERY] ab", false).ids.front(), 5);
  EXPECT_TRUE(tokenizer.is_special(5));
}

TEST(VocabularyTrainer, WhatCannotBeLearntIsRefused) {
  EXPECT_THROW(learn({}, make_options(100)), Error);
  EXPECT_THROW(learn({"", " \t"}, make_options(100)), Error);
  EXPECT_THROW(learn({"abcdefgh"}, make_options(10)), Error);
  VocabularyTrainerOptions options = make_options(100);
  options.special_tokens = {"[UNK]"};
  EXPECT_THROW(learn({"a"}, options), Error);
  options.special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[CLS]"};
  EXPECT_THROW(learn({"a"}, options), Error);
  options = make_options(100);
  options.type = "character";
  EXPECT_THROW(learn({"a"}, options), Error);
}

Texts random_texts(uint64_t seed) {
  RandomStream random(seed, "trainer test");
  Texts texts;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (int word = 0; word < 8; ++word) {
      for (uint64_t k = 1 + random.below(7); k > 0; --k) {
        text += static_cast<char>('a' + random.below(1 + random.below(4)));
      }
      text += ' ';
    }
    texts.push_back(text);
  }
  return texts;
}

// The merges by definition: all pairs are counted again for each of them.
Texts learn_by_definition(const Texts& texts, int64_t size, int64_t min_frequency) {
  std::map<std::string, int64_t> words;
  for (const std::string& text : texts) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) ++words[word];
  }
  Texts tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (const std::string prefix : {"", "##"}) {
    for (char c = 'a'; c <= 'z'; ++c) {
      const bool used = std::any_of(words.begin(), words.end(), [&](const auto& word) {
        return word.first.find(c, prefix.size() / 2) != std::string::npos;
      });
      if (used) tokens.push_back(prefix + c);
    }
  }
  const auto id_of = [&](const std::string& token) {
    return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
  };
  std::vector<std::pair<Texts, int64_t>> cut;
  for (const auto& [word, count] : words) {
    Texts pieces;
    for (const char c : word) pieces.push_back((pieces.empty() ? "" : "##") + std::string(1, c));
    cut.emplace_back(pieces, count);
  }
  while (static_cast<int64_t>(tokens.size()) < size) {
    std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
    for (const auto& [pieces, count] : cut) {
      for (size_t i = 1; i < pieces.size(); ++i) {
        pairs[{id_of(pieces[i - 1]), id_of(pieces[i])}] += count;
      }
    }
    if (pairs.empty()) break;
    const auto best =
        std::max_element(pairs.begin(), pairs.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best->second < min_frequency) break;
    const std::string left = tokens[static_cast<size_t>(best->first.first)];
    const std::string right = tokens[static_cast<size_t>(best->first.second)];
    const std::string joined = left + right.substr(2);
    if (id_of(joined) == static_cast<int64_t>(tokens.size())) tokens.push_back(joined);
    for (auto& entry : cut) {
      Texts& pieces = entry.first;
      for (size_t i = 0; i + 1 < pieces.size(); ++i) {
        if (pieces[i] != left || pieces[i + 1] != right) continue;
        pieces[i] = joined;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
  return tokens;
}

TEST(VocabularyTrainer, AgreesWithTheDefinitionOnRandomTexts) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Texts texts = random_texts(seed);
    EXPECT_EQ(learn(texts, make_options(120)), learn_by_definition(texts, 120, 1)) << seed;
    EXPECT_EQ(learn(texts, make_options(1000, 3)), learn_by_definition(texts, 1000, 3)) << seed;
  }
}

TEST(VocabularyTrainer, ResultDependsNeitherOnOrderNorOnThreads) {
  Texts texts = random_texts(9);
  const Texts expected = learn(texts, make_options(100));
  std::reverse(texts.begin(), texts.end());
  const int threads = omp_get_max_threads();
  omp_set_num_threads(4);
  EXPECT_EQ(learn(texts, make_options(100)), expected);
  omp_set_num_threads(1);
  EXPECT_EQ(learn(texts, make_options(100)), expected);
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace simile
