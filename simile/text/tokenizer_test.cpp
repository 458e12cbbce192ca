// SPDX-License-Identifier: Apache-2.0
#include "simile/text/tokenizer.h"

#include <gmock/gmock.h>
#include <omp.h>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using Ids = std::vector<int32_t>;
using Offsets = std::vector<std::pair<uint32_t, uint32_t>>;
using Texts = std::vector<std::string>;

const std::vector<std::string> kTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello",
                                          "world", "##s",   ",",     "!",     "cafe",   "\u4E2D",
                                          "mask",  "[",     "]",     "A",     "a"};

Tokenizer make_tokenizer(bool lowercase = true) {
  BertTokenizerSettings settings;
  settings.lowercase = lowercase;
  return Tokenizer::from_vocabulary(kTokens, settings, "test");
}

Texts tokens_of(const Tokenizer& tokenizer, const Encoding& encoding) {
  Texts texts;
  for (const int32_t id : encoding.ids) texts.emplace_back(tokenizer.token(id));
  return texts;
}

TEST(Tokenizer, TextBecomesTokensWithSpecialOnesAround) {
  const Tokenizer tokenizer = make_tokenizer();
  const Encoding encoding = tokenizer.encode("Hello,  worlds!");
  EXPECT_EQ(tokens_of(tokenizer, encoding),
            (Texts{"[CLS]", "hello", ",", "world", "##s", "!", "[SEP]"}));
  EXPECT_EQ(encoding.type_ids, Ids(7, 0));
  EXPECT_EQ(encoding.offsets,
            (Offsets{{0, 0}, {0, 5}, {5, 6}, {8, 13}, {13, 14}, {14, 15}, {0, 0}}));
  EXPECT_EQ(encoding.special, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode("Hello", false)), Texts{"hello"});
}

TEST(Tokenizer, EmptyTextIsOnlySpecialTokens) {
  const Tokenizer tokenizer = make_tokenizer();
  for (const char* text : {"", " ", "\t\n", "\u200B", "\x01"}) {
    EXPECT_EQ(tokenizer.encode(text).ids, (Ids{2, 3})) << text;
  }
  EXPECT_EQ(tokenizer.encode_pair("", "").ids, (Ids{2, 3, 3}));
  EXPECT_EQ(tokenizer.encode("", false).ids, Ids());
}

TEST(Tokenizer, AddedTokensInsideTheTextAreFound) {
  const Tokenizer tokenizer = make_tokenizer();
  const Encoding encoding = tokenizer.encode("Hello[MASK] [mask] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, encoding),
            (Texts{"[CLS]", "hello", "[MASK]", "[", "mask", "]", "[SEP]", "[SEP]"}));
  EXPECT_EQ(encoding.offsets[2], (std::pair<uint32_t, uint32_t>(5, 11)));
  EXPECT_EQ(encoding.special, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(Tokenizer, OffsetsAreBytesOfTheOriginalText) {
  const Tokenizer tokenizer = make_tokenizer();
  // Combining accent, dropped control character, ideograph, upper case, three broken bytes.
  const std::string text = "CAFE\u0301 ca\u0001f\u00C9\u4E2Dhello \xE2\x82 world\xFFs";
  const Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(tokens_of(tokenizer, encoding),
            (Texts{"[CLS]", "cafe", "cafe", "\u4E2D", "hello", "world", "##s", "[SEP]"}));
  EXPECT_EQ(encoding.offsets,
            (Offsets{{0, 0}, {0, 4}, {7, 13}, {13, 16}, {16, 21}, {25, 30}, {31, 32}, {0, 0}}));
  EXPECT_EQ(encoding.replaced, 2);
}

TEST(Tokenizer, PairHasTwoTokenTypes) {
  const Tokenizer tokenizer = make_tokenizer();
  const Encoding encoding = tokenizer.encode_pair("hello", "hello world");
  EXPECT_EQ(encoding.ids, (Ids{2, 5, 3, 5, 6, 3}));
  EXPECT_EQ(encoding.type_ids, (Ids{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(encoding.offsets, (Offsets{{0, 0}, {0, 5}, {0, 0}, {0, 5}, {6, 11}, {0, 0}}));
  EXPECT_EQ(encoding.from_second, (std::vector<uint8_t>{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(tokenizer.encode_pair("hello", "world", false).ids, (Ids{5, 6}));
}

TEST(Tokenizer, TruncationKeepsTheSpecialTokens) {
  Tokenizer tokenizer = make_tokenizer();
  tokenizer.set_max_length(4);
  const Encoding encoding = tokenizer.encode("hello world hello world!");
  EXPECT_EQ(encoding.ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(encoding.dropped, 3);
  Ids ids = {99};
  EXPECT_EQ(tokenizer.encode_ids("worlds worlds", ids), 0);
  EXPECT_EQ(ids, (Ids{99, 2, 6, 7, 3}));
  tokenizer.set_max_length(7);
  EXPECT_EQ(tokenizer.encode_pair("hello , !", "world").ids, (Ids{2, 5, 8, 9, 3, 6, 3}));
  EXPECT_EQ(tokenizer.encode_pair("hello", "world , , ,").ids, (Ids{2, 5, 3, 6, 8, 8, 3}));
  tokenizer.set_max_length(0);
  EXPECT_EQ(tokenizer.encode("hello world hello world!").ids.size(), 7u);
}

TEST(Tokenizer, MaximumLengthMustLeaveRoomForText) {
  Tokenizer tokenizer = make_tokenizer();
  EXPECT_THROW(tokenizer.set_max_length(2), Error);
  EXPECT_THROW(tokenizer.set_max_length(-1), Error);
  tokenizer.set_max_length(3);
  EXPECT_EQ(tokenizer.encode("hello world").ids, (Ids{2, 5, 3}));
  EXPECT_THROW(tokenizer.encode_pair("hello", "world"), Error);
}

TEST(Tokenizer, SpecialTokensHaveNames) {
  const Tokenizer tokenizer = make_tokenizer();
  const SpecialTokens& special = tokenizer.special_tokens();
  EXPECT_EQ(special.pad, 0);
  EXPECT_EQ(special.unk, 1);
  EXPECT_EQ(special.cls, 2);
  EXPECT_EQ(special.sep, 3);
  EXPECT_EQ(special.mask, 4);
  EXPECT_TRUE(tokenizer.is_special(4));
  EXPECT_FALSE(tokenizer.is_special(5));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_EQ(tokenizer.vocabulary_size(), static_cast<int64_t>(kTokens.size()));
  EXPECT_EQ(tokenizer.find("world"), 6);
  EXPECT_EQ(tokenizer.find("nowhere"), -1);
  EXPECT_THROW(tokenizer.token(17), Error);
}

TEST(Tokenizer, CasedTokenizerKeepsCaseAndAccents) {
  const Tokenizer tokenizer = make_tokenizer(false);
  EXPECT_EQ(tokenizer.encode("A a Hello", false).ids, (Ids{15, 16, 1}));
}

TEST(Tokenizer, WrittenTokenizerIsTheSame) {
  for (const bool lowercase : {true, false}) {
    const Tokenizer tokenizer = make_tokenizer(lowercase);
    const Tokenizer again = Tokenizer::parse(tokenizer.to_json(), "again");
    EXPECT_EQ(again.to_json(), tokenizer.to_json());
    EXPECT_EQ(again.vocabulary_text(), tokenizer.vocabulary_text());
    EXPECT_EQ(again.encode("Hello [MASK] A caf\u00E9").ids,
              tokenizer.encode("Hello [MASK] A caf\u00E9").ids);
  }
}

// Bytes of all kinds: words of the vocabulary, special tokens, other scripts, broken UTF-8.
std::string random_text(RandomStream& random) {
  static const Texts kParts = {"hello", "World",  "s",       " ",      ",",          "[MASK]",
                               "[SEP",  "\u00C9", "e\u0301", "\u4E2D", "\U0001F600", "\u0130",
                               "\x01",  "\u00A0", "\uD55C",  "\uFFFD"};
  std::string text;
  for (uint64_t i = random.below(30); i > 0; --i) {
    if (random.below(6) == 0) {
      text += static_cast<char>(random.below(256));
    } else {
      text += kParts[static_cast<size_t>(random.below(kParts.size()))];
    }
  }
  return text;
}

TEST(Tokenizer, AllPathsGiveTheSameIdsForAnyBytes) {
  RandomStream random(3, "tokenizer test");
  Tokenizer tokenizer = make_tokenizer();
  Texts texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(random_text(random));
  for (const int64_t limit : {0, 8}) {
    tokenizer.set_max_length(limit);
    const std::vector<Encoding> batch = tokenizer.encode_batch(texts);
    int64_t replaced_in_batch = 0;
    const std::vector<Ids> ids_batch = tokenizer.encode_ids_batch(texts, &replaced_in_batch);
    for (size_t i = 0; i < texts.size(); ++i) {
      Ids ids;
      tokenizer.encode_ids(texts[i], ids);
      const Encoding encoding = tokenizer.encode(texts[i]);
      ASSERT_EQ(encoding.ids, ids) << texts[i];
      ASSERT_EQ(batch[i].ids, ids);
      ASSERT_EQ(ids_batch[i], ids);
      uint32_t end_before = 0;
      for (size_t k = 1; k + 1 < ids.size(); ++k) {
        const auto [begin, end] = encoding.offsets[k];
        ASSERT_LE(end_before, begin);
        ASSERT_LT(begin, end);
        ASSERT_LE(end, texts[i].size());
        end_before = end;
      }
    }
  }
}

TEST(Tokenizer, BatchesDoNotDependOnThreads) {
  RandomStream random(4, "tokenizer test");
  Texts texts;
  for (int i = 0; i < 500; ++i) texts.push_back(random_text(random));
  const Tokenizer tokenizer = make_tokenizer();
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  int64_t replaced_one = 0;
  const auto one = tokenizer.encode_ids_batch(texts, &replaced_one);
  omp_set_num_threads(4);
  int64_t replaced_four = 0;
  const auto four = tokenizer.encode_ids_batch(texts, &replaced_four);
  omp_set_num_threads(threads);
  EXPECT_EQ(one, four);
  EXPECT_EQ(replaced_one, replaced_four);
  EXPECT_GT(replaced_one, 0);
}

TEST(Tokenizer, ErrorsInABatchReachTheCaller) {
  Tokenizer tokenizer = make_tokenizer();
  tokenizer.set_max_length(3);
  const Texts texts(100, "hello");
  EXPECT_THROW(tokenizer.encode_pair_batch(texts, texts), Error);
  EXPECT_THROW(tokenizer.encode_pair_batch(texts, {}), Error);
}

}  // namespace
}  // namespace simile
