// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <omp.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile {
namespace {

using Texts = std::vector<std::string>;

Tokenizer learn(const Texts& texts, int64_t size, bool lowercase = false) {
  VocabularyTrainerOptions options;
  options.type = "bpe";
  options.vocabulary_size = size;
  options.lowercase = lowercase;
  options.min_frequency = 2;
  size_t next = 0;
  return train_vocabulary(
      [&](std::string& text) {
        if (next == texts.size()) return false;
        text = texts[next++];
        return true;
      },
      options);
}

Texts tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  Texts texts;
  for (const int32_t id : tokenizer.encode(text).ids) texts.emplace_back(tokenizer.token(id));
  return texts;
}

TEST(BytePairTrainer, SpecialTokensBytesThenJoinedPairs) {
  // " abc" three times and " bc" once: "bc" first, then the space and "a", then both.
  const Tokenizer tokenizer = learn({"abc abc", "abc bc"}, 300);
  EXPECT_EQ(tokenizer.vocabulary_size(), 5 + 256 + 3);
  EXPECT_EQ(tokenizer.find("<mask>"), 4);
  EXPECT_EQ(tokenizer.token(5 + 'a'), "a");
  EXPECT_EQ(tokenizer.token(5 + ' '), "\u0120");
  EXPECT_EQ(tokenizer.token(261), "bc");
  EXPECT_EQ(tokenizer.token(262), "\u0120a");
  EXPECT_EQ(tokenizer.token(263), "\u0120abc");
  EXPECT_EQ(tokens_of(tokenizer, "abc xbc"),
            (Texts{"<s>", "\u0120abc", "\u0120", "x", "bc", "</s>"}));
  EXPECT_EQ(tokenizer.special_tokens().mask, 4);
  EXPECT_EQ(tokenizer.special_tokens().pad, 1);
}

TEST(BytePairTrainer, NothingIsUnknown) {
  const Tokenizer tokenizer = learn({"low lower lowest", "low lower"}, 270);
  for (const char* text : {"\U0001F600\u4E2D", "\x01\x7F", "Z\u00DC"}) {
    for (const std::string& token : tokens_of(tokenizer, text)) EXPECT_NE(token, "<unk>") << text;
  }
}

TEST(BytePairTrainer, LowerCaseStripsAccents) {
  const Tokenizer tokenizer = learn({"\u00C9t\u00E9 ETE"}, 300, true);
  EXPECT_EQ(tokens_of(tokenizer, "\u00CAte"), (Texts{"<s>", "\u0120ete", "</s>"}));
}

TEST(BytePairTrainer, ResultDependsNeitherOnOrderNorOnThreads) {
  Texts texts;
  for (int i = 0; i < 100; ++i) texts.push_back("word" + std::to_string(i * 37 % 50) + " of many");
  const std::string expected = learn(texts, 320).to_json();
  std::reverse(texts.begin(), texts.end());
  const int threads = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(learn(texts, 320).to_json(), expected);
  omp_set_num_threads(threads);
}

TEST(BytePairTrainer, WhatCannotBeLearntIsRefused) {
  EXPECT_THROW(learn({"a"}, 260), Error);  // less than 5 + 256
  EXPECT_THROW(learn({"", ""}, 300), Error);
}

}  // namespace
}  // namespace simile
