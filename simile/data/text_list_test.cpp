// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TextList, OneTextALineAndBlankLinesKeepTheirPlace) {
  const TestFiles files;
  const std::string path = files.write("t.txt", "one\n\n  two \"x\"\tx\r\n");
  EXPECT_THAT(read_texts(path), ElementsAre("one", "", "  two \"x\"\tx"));
  EXPECT_THAT(read_texts(path, {true, 0}), ElementsAre("one", "  two \"x\"\tx"));
  EXPECT_THAT(read_texts(path, {false, 1}), ElementsAre("one"));
  ReadReport report;
  read_texts(path, {}, &report);
  EXPECT_EQ(report.rows, 3);
  EXPECT_EQ(report.blank_lines, 1);
}

TEST(TextList, AnEmptyFileHasNoTexts) {
  const TestFiles files;
  EXPECT_TRUE(read_texts(files.write("t.txt", "")).empty());
}

TEST(TextList, JsonLinesHoldATextAndPerhapsAPair) {
  std::istringstream stream(
      "{\"text\": \"a\\nb\"}\n\n{\"pair\": \"p\", \"text\": \"t\", \"x\": "
      "[1]}\n{\"text\":\"\",\"pair\":null}");
  TextListReader reader(stream, "stdin", true);
  TextItem item;
  ASSERT_TRUE(reader.next(item));
  EXPECT_EQ(item.text, "a\nb");
  EXPECT_FALSE(item.has_pair);
  ASSERT_TRUE(reader.next(item));
  EXPECT_EQ(item.text, "t");
  EXPECT_EQ(item.pair, "p");
  EXPECT_TRUE(item.has_pair);
  EXPECT_EQ(item.line, 3);
  ASSERT_TRUE(reader.next(item));
  EXPECT_EQ(item.text, "");
  EXPECT_FALSE(item.has_pair);
  EXPECT_FALSE(reader.next(item));
}

TEST(TextList, JsonLinesWithoutATextAreErrors) {
  const TestFiles files;
  EXPECT_THAT(error_of([&] { read_texts(files.write("a.jsonl", "{\"txt\":\"x\"}")); }),
              HasSubstr("a.jsonl:1: expected an object with 'text'"));
  EXPECT_THAT(error_of([&] { read_texts(files.write("b.jsonl.gz", "{\"text\":3}")); }),
              HasSubstr("'text' should be a text"));
  EXPECT_THAT(error_of([&] { read_texts(files.write("c.jsonl", "plain")); }),
              HasSubstr("c.jsonl:1"));
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> read(const std::string& name, const std::string& bytes) {
  const std::string path =
      fmt::format("{}simile_candidates_{}_{}", ::testing::TempDir(), getpid(), name);
  write_file_atomic(path, bytes);
  struct Remove {
    const std::string& path;
    ~Remove() { std::filesystem::remove(path); }
  } remove{path};
  return read_candidate_texts(path, silent_events());
}

TEST(CandidateTexts, AreReadFromTablesAndLines) {
  EXPECT_THAT(read("a.tsv", "id\ttext\n1\tone\n2\t \n3\tthree\n"), ElementsAre("one", "three"));
  EXPECT_THAT(read("b.tsv", "text\ttitle\none\tA\ntwo\t\n"), ElementsAre("A one", "two"));
  EXPECT_THAT(read("c.csv", "id,text\n1,\"one, two\"\n"), ElementsAre("one, two"));
  EXPECT_THAT(read("d.jsonl", "{\"_id\":\"7\",\"title\":\"A\",\"text\":\"one\",\"url\":\"no\"}\n"),
              ElementsAre("A one"));
  EXPECT_THAT(read("e.txt", "one\n\ntwo\twords\n"), ElementsAre("one", "two\twords"));
}

TEST(CandidateTexts, AFileWithoutTextsIsAnError) {
  for (const auto& [name, bytes, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"a.tsv", "id\tbody\n1\tone\n", "expected one of the columns title, text"},
           {"b.txt", "\n \n", "no text was found"}}) {
    try {
      read(name, bytes);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

using testing::ElementsAre;
using testing::HasSubstr;

class TextStreamFiles : public testing::Test {
 protected:
  TextStreamFiles() { std::filesystem::create_directories(folder_); }
  ~TextStreamFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    write_file_atomic(path, bytes);
    return path;
  }
  std::string numbered(const std::string& name, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += name + std::to_string(i) + "\n\n";
    return write(name, text);
  }
  static std::vector<std::string> read_all(const std::vector<CorpusFile>& files, int64_t buffer,
                                           uint64_t epoch) {
    TextStream stream(files, buffer, 1, epoch);
    std::vector<std::string> texts;
    for (std::string text; stream.next(text);) texts.push_back(text);
    return texts;
  }

  const std::string folder_ = testing::TempDir() + "simile_text_stream_" + std::to_string(getpid());
};

TEST_F(TextStreamFiles, FilesAreReadSideBySideAndEndTogether) {
  const auto files = inspect_corpus({numbered("a", 4), numbered("b", 2)}, silent_events());
  EXPECT_EQ(files[0].texts, 4);
  EXPECT_EQ(files[0].bytes, 8);
  EXPECT_THAT(read_all(files, 1, 0), ElementsAre("a0", "b0", "a1", "a2", "b1", "a3"));
}

TEST_F(TextStreamFiles, ABufferShufflesEveryEpochAnewAndLosesNothing) {
  const auto files = inspect_corpus({numbered("a", 300)}, silent_events());
  std::vector<std::string> plain = read_all(files, 1, 0), first = read_all(files, 50, 0);
  std::vector<std::string> second = read_all(files, 50, 1);
  EXPECT_EQ(first, read_all(files, 50, 0));
  EXPECT_NE(first, second);
  EXPECT_NE(first, plain);
  for (auto* texts : {&plain, &first, &second}) std::sort(texts->begin(), texts->end());
  EXPECT_EQ(first, plain);
  EXPECT_EQ(second, plain);
}

TEST_F(TextStreamFiles, WhatIsNoCorpusIsRefused) {
  const auto message = [](const std::vector<std::string>& paths) -> std::string {
    return error_of([&] { inspect_corpus(paths, silent_events()); });
  };
  EXPECT_THAT(message({}), HasSubstr("no `corpus` file"));
  EXPECT_THAT(message({folder_ + "/none.txt"}), HasSubstr("none.txt"));
  EXPECT_THAT(message({write("empty.txt", "")}), HasSubstr("no text"));
  EXPECT_THAT(message({write("blank.txt", "\n\n")}), HasSubstr("no text"));
  EXPECT_THAT(message({write("binary.txt", std::string(500, '\xfe') + "\n")}),
              HasSubstr("is not text"));
}

}  // namespace
}  // namespace simile
