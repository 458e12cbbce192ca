// SPDX-License-Identifier: Apache-2.0
#include "simile/data/corpus.h"

#include <gmock/gmock.h>

#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

using ::testing::HasSubstr;
using Titles = CorpusReader::Titles;

TEST(Corpus, TitlesStandBeforeTheTextWhereAskedFor) {
  const TestFiles files;
  const std::string path =
      files.write("c.tsv", "_id\ttitle\ttext\na\tHead\tbody\nb\t\tbare \nc\tOnly\t\n");
  CorpusText text;
  CorpusReader titled(path, Titles::kPrepend);
  std::vector<std::string> texts;
  while (titled.next(text)) texts.push_back(text.text);
  EXPECT_THAT(texts, ::testing::ElementsAre("Head body", "bare ", "Only"));
  EXPECT_EQ(titled.find("b"), 1);
  EXPECT_EQ(titled.find("d"), -1);
  CorpusReader plain(path, Titles::kIgnore);
  ASSERT_TRUE(plain.next(text));
  EXPECT_EQ(text.id, "a");
  EXPECT_EQ(text.text, "body");
}

TEST(Corpus, IdsThatAreEmptyOrStandTwiceAreErrorsWithFileAndLine) {
  const TestFiles files;
  const auto error = [&](const std::string& rows) {
    const std::string path = files.write("c.tsv", "id\ttext\n" + rows);
    return error_of([&] {
      CorpusReader reader(path, Titles::kPrepend);
      for (CorpusText text; reader.next(text);) {
      }
    });
  };
  EXPECT_EQ(error("a\tx\nb\ty\n"), "");
  EXPECT_THAT(error("a\tx\nb\ty\na\tz\n"),
              HasSubstr("c.tsv:4: column 'id': the id 'a' already stands in line 2"));
  EXPECT_THAT(error("\tx\n"), HasSubstr("c.tsv:2"));
}

}  // namespace
}  // namespace simile
