// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { messages.push_back(message); }
  std::vector<std::string> messages;
};

std::vector<std::string> table_warnings(const std::string& path, const TableOptions& table = {}) {
  Warnings warnings;
  warn_about_table(path, warnings, table, "read", "give another");
  return warnings.messages;
}

TEST(TextList, AListThatLooksLikeATableIsTold) {
  const TestFiles files;
  EXPECT_THAT(table_warnings(files.write("a.tsv", "id\ttext\n1\tone\n")),
              ElementsAre(files.path("a.tsv") +
                          ": every line is read whole, the first one too, though its name is that "
                          "of a table and its first line has 2 fields (id, text); give another"));
  EXPECT_THAT(table_warnings(files.write_gzip("a.csv.gz", "id,text\n1,one\n")),
              ElementsAre(HasSubstr("2 fields (id, text)")));
  EXPECT_THAT(table_warnings(files.write("w.tsv", std::string("i\0d\0\t\0t\0\n\0", 10)),
                             {"strict", "", "utf-16le"}),
              ElementsAre(HasSubstr("2 fields (id, t)")));
  EXPECT_THAT(table_warnings(files.write("one.tsv", "one\ntwo\n")), IsEmpty());
  EXPECT_THAT(table_warnings(files.write("a.txt", "id\ttext\n1\tone\n")), IsEmpty());
  EXPECT_THAT(table_warnings(files.write("a.jsonl", "{\"text\":\"one\",\"n\":1}\n")), IsEmpty());
  EXPECT_THAT(table_warnings(files.path("none.tsv")), IsEmpty());
}

TEST(TextList, APipeIsNotLookedAtBeforeItIsRead) {
  const TestFiles files;
  const std::string path = files.path("p.tsv");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(table_warnings(path), IsEmpty());
  std::thread writer([&] { std::ofstream(path) << "a b\tc\n"; });
  EXPECT_THAT(read_texts(path), ElementsAre("a b\tc"));
  writer.join();
}

std::vector<std::string> read(const std::string& name, const std::string& bytes,
                              EventSink& events = silent_events()) {
  const TestFiles files;
  return read_candidate_texts(files.write(name, bytes), events);
}

TEST(CandidateTexts, AreReadFromTablesAndLines) {
  EXPECT_THAT(read("a.tsv", "id\ttext\n1\tone\n2\t \n3\tthree\n"), ElementsAre("one", "three"));
  EXPECT_THAT(read("b.tsv", "text\ttitle\none\tA\ntwo\t\n"), ElementsAre("A one", "two"));
  EXPECT_THAT(read("c.csv", "id,text\n1,\"one, two\"\n"), ElementsAre("one, two"));
  EXPECT_THAT(read("d.jsonl", "{\"_id\":\"7\",\"title\":\"A\",\"text\":\"one\",\"url\":\"no\"}\n"),
              ElementsAre("A one"));
  EXPECT_THAT(read("e.txt", "one\n\ntwo\twords\n"), ElementsAre("one", "two\twords"));
}

TEST(CandidateTexts, OfObjectsAreThoseOfATable) {
  const auto texts = ElementsAre("A one", "2024", "1984 two", "B", "three");
  Warnings of_table, of_objects;
  EXPECT_THAT(
      read("a.tsv", "text\ttitle\none\tA\n2024\t\ntwo\t1984\n\tB\nthree\t \n \t\n\t\n", of_table),
      texts);
  EXPECT_THAT(read("a.jsonl",
                   R"({"text":"one","title":"A"})"
                   "\n"
                   R"({"text":2024})"
                   "\n"
                   R"({"text":"two","url":["no"],"title":1984})"
                   "\n"
                   R"({"title":"B","text":null})"
                   "\n"
                   R"({"text":"three","title":" "})"
                   "\n"
                   R"({"text":" "})"
                   "\n"
                   R"({"body":"no"})",
                   of_objects),
              texts);
  const std::string left_out = ": 2 of 7 rows have no text and were left out";
  EXPECT_THAT(of_table.messages, ElementsAre(HasSubstr("a.tsv" + left_out)));
  EXPECT_THAT(of_objects.messages, ElementsAre(HasSubstr("a.jsonl" + left_out)));
}

TEST(CandidateTexts, AFileWithoutTextsIsAnError) {
  for (const auto& [name, bytes, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"a.tsv", "id\tbody\n1\tone\n", "expected one of the columns title, text"},
           {"b.txt", "\n \n", "no text was found"},
           {"c.jsonl", "{\"body\":\"one\"}\n", "no object has a text named title or text"},
           {"d.jsonl", "{\"text\":\"one\"}\n{\"text\":[\"two\"]}\n",
            "d.jsonl:2: column 'text': expected a text or a number, found a list"}}) {
    try {
      read(name, bytes);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

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

TEST_F(TextStreamFiles, ATableIsReadAsAListAndTold) {
  Warnings warnings;
  const auto files = inspect_corpus({write("p.tsv", "id\ttext\n1\tone\n")}, warnings);
  EXPECT_EQ(files[0].texts, 2);
  EXPECT_THAT(warnings.messages, ElementsAre(HasSubstr("p.tsv: every line is read whole")));
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
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message({pipe}),
            "'" + pipe + "' is a pipe, which can be read only once; write it to a file");
  EXPECT_THAT(message({folder_}), HasSubstr("expected a file, found a folder"));
}

}  // namespace
}  // namespace simile
