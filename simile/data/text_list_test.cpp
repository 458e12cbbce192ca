// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <gmock/gmock.h>

#include <sstream>

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

}  // namespace
}  // namespace simile
