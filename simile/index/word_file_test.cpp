// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/word_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kSegment(32, 'c');

class WordFileTest : public testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  void write(const std::vector<std::string>& texts) const {
    WordFileWriter writer;
    for (const std::string& text : texts) {
      std::vector<WordCount> row;
      for (const auto& [word, count] : count_words(text)) {
        row.push_back({writer.number_of(word), count});
      }
      writer.add_row(row);
    }
    writer.write(path_, kSegment);
  }

  WordFile open(const std::string& segment, int64_t rows) const {
    return {std::make_shared<MappedFile>(path_), path_, segment, rows};
  }

  static std::vector<std::pair<int64_t, uint32_t>> rows_of(const WordFile& file,
                                                           const std::string& word) {
    std::vector<std::pair<int64_t, uint32_t>> rows;
    const int64_t at = file.find(word);
    if (at < 0) return rows;
    file.for_each(at, [&](int64_t row, uint32_t count) { rows.emplace_back(row, count); });
    EXPECT_EQ(file.rows_with(at), static_cast<int64_t>(rows.size()));
    return rows;
  }

  const std::string path_ = testing::TempDir() + "simile_words_" + std::to_string(getpid());
};

TEST_F(WordFileTest, EachWordHasItsRowsAndCounts) {
  write({"The cat, the dog", "", "a cat CAT cat", "Dog"});
  const WordFile file = open(kSegment, 4);
  EXPECT_EQ(file.words(), 4);
  EXPECT_EQ(file.word(0), "a");
  EXPECT_EQ(file.word(3), "the");
  EXPECT_THAT(rows_of(file, "cat"), ElementsAre(Pair(0, 1), Pair(2, 3)));
  EXPECT_THAT(rows_of(file, "dog"), ElementsAre(Pair(0, 1), Pair(3, 1)));
  EXPECT_THAT(rows_of(file, "the"), ElementsAre(Pair(0, 2)));
  for (const char* word : {"", "b", "ca", "cats", "zebra", "The"}) {
    EXPECT_EQ(file.find(word), -1) << word;
  }
  EXPECT_EQ(file.length(0), 4);
  EXPECT_EQ(file.length(1), 0);
  const auto rows = file.by_row();
  EXPECT_TRUE(rows[1].empty());
  ASSERT_EQ(rows[2].size(), 2u);
  EXPECT_EQ(rows[2][1].count, 3u);
}

TEST_F(WordFileTest, NumbersOfAnySizeComeBack) {
  std::vector<std::string> texts(40000);
  texts[3] = "far";
  texts[39999] = "far";
  for (int i = 0; i < 300; ++i) texts[200] += "far ";
  write(texts);
  EXPECT_THAT(rows_of(open(kSegment, 40000), "far"),
              ElementsAre(Pair(3, 1), Pair(200, 300), Pair(39999, 1)));
}

TEST_F(WordFileTest, ACodeHasTheCountAndTheClassOfTheLength) {
  std::vector<std::string> texts;
  for (int i = 0; i < 64; ++i) {
    std::string text = "a";
    for (int k = 0; k < i; ++k) text += k < 9 ? " a" : " b";
    texts.push_back(text);
  }
  write(texts);
  const WordFile file = open(kSegment, 64);
  EXPECT_EQ(file.total_length(), 64 * 65 / 2);
  const WordPostings postings = file.postings(file.find("a"));
  ASSERT_EQ(postings.size, 64);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(postings.rows[i], i);
    EXPECT_EQ(file.count(postings.codes + i), static_cast<uint32_t>(std::min(i + 1, 10)));
    EXPECT_EQ(postings.codes[i] / kLengthClasses, std::min(i, kCountClasses - 1));
    EXPECT_EQ(postings.codes[i] % kLengthClasses, i / 2);
    EXPECT_EQ(file.least_length(i / 2), i / 2 * 2 + 1);
  }
}

TEST_F(WordFileTest, DocumentsWithoutWordsHaveAFileToo) {
  write({"", "?!"});
  const WordFile file = open(kSegment, 2);
  EXPECT_EQ(file.words(), 0);
  EXPECT_EQ(file.find("a"), -1);
}

TEST_F(WordFileTest, TheFileOfAnotherSegmentIsRefused) {
  write({"a", "b"});
  for (const auto& [segment, rows] :
       std::vector<std::pair<std::string, int64_t>>{{std::string(32, 'd'), 2}, {kSegment, 3}}) {
    try {
      const WordFile file = open(segment, rows);
      ADD_FAILURE() << segment << rows;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(path_), HasSubstr("another segment")));
    }
  }
}

}  // namespace
}  // namespace simile::detail
