// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/ppmi_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/derive/detail/co_occurrence.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using testing::ElementsAre;

constexpr int32_t kEnd = PieceCorpus::kEnd;

TEST(PieceCorpus, KeepsCountedTokensAndCountsSequences) {
  PieceCorpus corpus({1, 0, 1});
  corpus.add({0, 1, 2, 0});
  corpus.add({1});
  corpus.add({});
  corpus.add({2, 2});
  EXPECT_EQ(corpus.sequences(), 4);
  EXPECT_THAT(corpus.tokens(), ElementsAre(kEnd, 0, 2, 0, kEnd, kEnd, kEnd, 2, 2, kEnd));
  EXPECT_THAT(corpus.document_frequencies(), ElementsAre(1, 2, 2));
}

TEST(PieceCorpus, BeyondItsRoomEverySecondSequenceIsKept) {
  PieceCorpus corpus(std::vector<uint8_t>(100, 1), 12);
  for (int32_t id = 0; id < 10; ++id) corpus.add({id, 99});
  // Full at the fifth sequence, which leaves 0, 2 and 4; then at 6 and 8.
  EXPECT_THAT(corpus.tokens(), ElementsAre(kEnd, 0, 99, kEnd, 4, 99, kEnd, 8, 99, kEnd));
  EXPECT_EQ(corpus.sequences(), 10);
  EXPECT_EQ(corpus.document_frequencies()[99], 10);
  EXPECT_EQ(corpus.document_frequencies()[3], 1);
}

TEST(PieceCorpus, OneSequenceLargerThanTheRoomIsKept) {
  PieceCorpus corpus({1, 1}, 2);
  corpus.add({0, 1, 0, 1, 0});
  EXPECT_EQ(corpus.tokens().size(), 7u);
  corpus.add({1});
  corpus.add({1});
  EXPECT_EQ(corpus.tokens().size(), 7u);
}

TEST(PieceCorpus, AnIdOutsideTheVocabularyIsRefused) {
  PieceCorpus corpus({1, 1});
  EXPECT_THROW(corpus.add({0, 2}), Error);
  EXPECT_THROW(corpus.add({-1}), Error);
}

TEST(PieceCorpus, RowsAreScaledByTheRelativeWeight) {
  std::vector<float> table = {1, 1, 1, 1, 1, 1, 1, 1};
  scale_rows({2, 6, 0, 8}, {1, 1, 1, 0}, table.data(), 2);
  EXPECT_THAT(table, ElementsAre(0.5f, 0.5f, 1.5f, 1.5f, 0.02f, 0.02f, 0, 0));
}

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

using nlohmann::json;
using testing::HasSubstr;

void do_nothing(int64_t /*done*/, int64_t /*total*/) {}

json golden() { return json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/ppmi.json")); }

PieceCorpus golden_corpus(const json& in) {
  std::vector<uint8_t> counted(in["vocabulary"].get<size_t>(), 1);
  for (const size_t id : in["uncounted"]) counted[id] = 0;
  PieceCorpus corpus(counted);
  for (const json& sequence : in["sequences"]) corpus.add(sequence.get<std::vector<int32_t>>());
  return corpus;
}

PpmiOptions golden_options(const json& of_case) {
  PpmiOptions options;
  read_options(parse_config(of_case["options"].dump(), "ppmi.json"), options);
  return options;
}

// 600 tokens, frequent ones first, of which those of one residue by 20 like to stand together.
PieceCorpus large_corpus(int64_t sequences) {
  PieceCorpus corpus(std::vector<uint8_t>(600, 1));
  RandomStream stream(4, "corpus");
  for (int64_t i = 0; i < sequences; ++i) {
    const auto topic = static_cast<int32_t>(stream.below(20));
    std::vector<int32_t> ids;
    for (int j = 0; j < 12; ++j) {
      const auto group = static_cast<int32_t>(30 * stream.uniform() * stream.uniform());
      ids.push_back(20 * group +
                    (stream.uniform() < 0.8 ? topic : static_cast<int32_t>(stream.below(20))));
    }
    corpus.add(ids);
  }
  return corpus;
}

double cosine(const Matrix<float>& table, int64_t a, int64_t b) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t j = 0; j < table.cols; ++j) {
    ab += double{table.at(a, j)} * table.at(b, j);
    aa += double{table.at(a, j)} * table.at(a, j);
    bb += double{table.at(b, j)} * table.at(b, j);
  }
  return ab / std::sqrt(aa * bb);
}

TEST(PpmiGolden, TheMatrixIsThatOfTheIndependentImplementation) {
  const json in = golden();
  const PieceCorpus corpus = golden_corpus(in);
  for (const json& of_case : in["cases"]) {
    const detail::PpmiMatrix ppmi = detail::count_ppmi(corpus, golden_options(of_case), do_nothing);
    ASSERT_EQ(ppmi.tokens, in["tokens"].get<std::vector<int32_t>>());
    const auto n = static_cast<int64_t>(ppmi.tokens.size());
    Matrix<double> by_rows(n, n), by_columns(n, n);
    for (int64_t i = 0; i < n; ++i) {
      const detail::SparseRow& row = ppmi.matrix[static_cast<size_t>(i)];
      for (size_t k = 0; k < row.places.size(); ++k) {
        by_rows.at(i, row.places[k]) = row.row[k];
        by_columns.at(row.places[k], i) = row.column[k];
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const double expected = of_case["matrix"][static_cast<size_t>(i)][static_cast<size_t>(j)];
        ASSERT_NEAR(by_rows.at(i, j), expected, 1e-6) << of_case["options"] << i << " " << j;
        ASSERT_NEAR(by_columns.at(i, j), expected, 1e-6) << of_case["options"] << i << " " << j;
      }
    }
  }
}

TEST(PpmiGolden, SingularValuesAndRowsAreThoseOfTheIndependentImplementation) {
  const json in = golden();
  const PieceCorpus corpus = golden_corpus(in);
  const auto D = in["dimensions"].get<int64_t>();
  for (const json& of_case : in["cases"]) {
    PpmiOptions options = golden_options(of_case);
    options.noise = 0;
    options.oversample = 100;  // as many columns as there are: exact
    const detail::PpmiMatrix ppmi = detail::count_ppmi(corpus, options, do_nothing);
    for (const auto& [oversample, iterations, tolerance] :
         {std::make_tuple(100, 0, 1e-5), std::make_tuple(10, 8, 1e-3)}) {
      const detail::TruncatedSvd svd =
          detail::truncated_svd(ppmi.matrix, {D, oversample, iterations, 5}, do_nothing);
      for (size_t j = 0; j < svd.values.size(); ++j) {
        EXPECT_NEAR(svd.values[j], of_case["values"][j].get<double>(), tolerance) << oversample;
      }
    }
    const Matrix<float> table = ppmi_start(corpus, D, options, silent_events());
    for (int64_t a = 0; a < table.rows; ++a) {
      for (int64_t b = 0; b < table.rows; ++b) {
        double product = 0;
        for (int64_t j = 0; j < D; ++j) product += double{table.at(a, j)} * table.at(b, j);
        EXPECT_NEAR(
            product,
            of_case["inner_products"][static_cast<size_t>(a)][static_cast<size_t>(b)].get<double>(),
            1e-3)
            << a << " " << b << of_case["options"];
      }
    }
  }
}

TEST(PpmiStart, TheSameBitsWithAnyNumberOfThreads) {
  const PieceCorpus corpus = large_corpus(3000);
  set_thread_count(1);
  const std::vector<float> one = ppmi_start(corpus, 70, {}, silent_events()).values;
  const std::vector<float> drawn = random_start(corpus, 70, 3).values;
  set_thread_count(3);
  EXPECT_EQ(ppmi_start(corpus, 70, {}, silent_events()).values, one);
  EXPECT_EQ(random_start(corpus, 70, 3).values, drawn);
  set_thread_count(2);
}

TEST(PpmiStart, TokensOfOneTopicStandNearerThanOthers) {
  PpmiOptions options;
  options.noise = 0;
  const Matrix<float> table = ppmi_start(large_corpus(20000), 32, options, silent_events());
  double same = 0, other = 0;
  for (int64_t topic = 0; topic < 20; ++topic) {
    for (int64_t group = 1; group < 10; ++group) {
      same += cosine(table, topic, 20 * group + topic) / 180;
      other += cosine(table, topic, 20 * group + (topic + 7) % 20) / 180;
    }
  }
  EXPECT_GT(same, 0.8);
  EXPECT_LT(other, 0.3);
}

TEST(PpmiStart, LengthsAreTheRelativeIdf) {
  std::vector<uint8_t> counted(8, 1);
  counted[6] = 0;
  PieceCorpus corpus(counted);
  for (int i = 0; i < 40; ++i) corpus.add({0, 1 + i % 4, 6, i % 2 == 0 ? 5 : 1});
  const std::vector<float> idf = corpus.idf();
  EXPECT_NEAR(idf[0], std::log(41.0 / 41), 1e-6);
  EXPECT_NEAR(idf[5], std::log(41.0 / 21), 1e-6);
  EXPECT_NEAR(idf[7], std::log(41.0), 1e-6);
  double mean = 0;
  for (const float value : idf) mean += value / 8.0;
  for (const Matrix<float>& table :
       {ppmi_start(corpus, 5, {}, silent_events()), random_start(corpus, 5, 1)}) {
    for (int64_t i = 0; i < 8; ++i) {
      double squares = 0;
      for (int64_t j = 0; j < 5; ++j) squares += double{table.at(i, j)} * table.at(i, j);
      const double expected = i == 6 ? 0 : std::max(0.02, idf[static_cast<size_t>(i)] / mean);
      EXPECT_NEAR(std::sqrt(squares), expected, 1e-5) << i;
    }
  }
}

TEST(PpmiStart, ACorpusWithFewerTokensThanDimensionsSaysWhatToDo) {
  const PieceCorpus corpus = large_corpus(2);
  try {
    ppmi_start(corpus, 100, {}, silent_events());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("in 2 sequences"));
    EXPECT_THAT(error.what(), HasSubstr("give more text, fewer dimensions, or start from random"));
  }
  const PieceCorpus empty(std::vector<uint8_t>(5, 1));
  EXPECT_THROW(ppmi_start(empty, 1, {}, silent_events()), Error);
}

// All tokens in one place, or pairs that are just as frequent as chance has it: M is zero.
TEST(PpmiStart, ACorpusThatSaysNothingLeavesTheNoise) {
  PieceCorpus corpus(std::vector<uint8_t>(4, 1));
  for (int32_t id = 0; id < 4; ++id) corpus.add({id});
  const Matrix<float> table = ppmi_start(corpus, 3, {}, silent_events());
  for (const float value : table.values) EXPECT_TRUE(std::isfinite(value));
  EXPECT_NE(table.at(0, 0), 0);
}

}  // namespace

}  // namespace simile
