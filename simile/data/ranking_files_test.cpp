// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_files.h"

#include <gmock/gmock.h>

#include "simile/data/detail/packed_files_test.h"

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

TEST(Corpus, MetadataAreOneObjectOfTheColumnsNamed) {
  const TestFiles files;
  const auto metadata = [](const std::string& path, const std::vector<std::string>& names) {
    CorpusColumns columns;
    columns.metadata = names;
    CorpusReader reader(path, Titles::kPrepend, columns);
    std::vector<std::string> all;
    for (CorpusText text; reader.next(text);) all.push_back(text.metadata);
    return all;
  };
  const std::string table = files.write(
      "c.csv", "id,n,text,note,title\na,1.50,x,\"a, b\",T\nb,1e999,y,,T\nc, 2,z,true,T\n");
  using ::testing::ElementsAre;
  EXPECT_THAT(metadata(table, {}), ElementsAre("", "", ""));
  EXPECT_THAT(metadata(table, {"*"}), ElementsAre(R"({"n":1.5,"note":"a, b"})", R"({"n":"1e999"})",
                                                  R"({"n":2,"note":"true"})"));
  EXPECT_THAT(metadata(table, {"title", "note"}),
              ElementsAre(R"({"note":"a, b","title":"T"})", R"({"title":"T"})",
                          R"({"note":"true","title":"T"})"));
  const std::string lines = files.write(
      "c.jsonl",
      "{\"_id\":\"a\",\"text\":\"x\",\"n\":12345678901234567890,\"s\":\"1\",\"o\":{},\"b\":false}\n"
      "{\"_id\":\"b\",\"text\":\"y\",\"n\":null,\"title\":\"T\"}\n");
  EXPECT_THAT(metadata(lines, {"*"}),
              ElementsAre(R"({"n":12345678901234567890,"s":"1","b":false})", ""));
  EXPECT_THAT(metadata(lines, {"n"}), ElementsAre(R"({"n":12345678901234567890})", ""));
  EXPECT_THAT(error_of([&] { metadata(lines, {"m"}); }), HasSubstr("no row has a column 'm'"));
  EXPECT_THAT(error_of([&] { metadata(lines, {"o"}); }), HasSubstr("c.jsonl:1: column 'o'"));
  EXPECT_THAT(error_of([&] { metadata(table, {"m"}); }), HasSubstr("no column 'm'"));
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
