// SPDX-License-Identifier: Apache-2.0
#include "simile/data/fact_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FactChecksTest : public ::testing::Test, protected TestFiles {
 protected:
  void write_published(const std::string& pairs, const std::string& claims) const {
    write("tweet-veclaim-pairs.tsv", "claim\tfact\n" + pairs);
    write("verified-claims.tsv", "title\tfact\n" + claims);
  }
  std::string text(const std::string& name) const { return read_file(path(name)); }
};

TEST_F(FactChecksTest, PublishedTablesBecomeARankingAndPairs) {
  write_published(
      "\"One  post,\nof two lines\"\tThe moon is cheese.\n"
      "Say \"so\"\tIt\xc2\xa0rains. \n"
      "One post, of two lines\tIt rains.\n",
      "Moon\tThe moon is cheese.\nA\t\"It\trains.\"\nB\tIt rains.\n");
  EXPECT_EQ(write_fact_check_tables(path("."), 2).size(), 6U);
  EXPECT_EQ(text("corpus.tsv"), "id\ttext\n0\tThe moon is cheese.\n1\tIt rains.\n2\tIt rains.\n");
  EXPECT_EQ(text("queries.tsv"),
            "id\ttext\nt0\tOne post, of two lines\nt1\tSay \"so\"\n"
            "t2\tOne post, of two lines\n");
  EXPECT_EQ(text("qrels.train.tsv"), "query_id\tdoc_id\trelevance\nt0\t0\t1\nt1\t1\t1\nt1\t2\t1\n");
  EXPECT_EQ(text("qrels.test.tsv"), "query_id\tdoc_id\trelevance\nt2\t1\t1\nt2\t2\t1\n");
  EXPECT_EQ(text("train.pairs.tsv"),
            "sentence1\tsentence2\tscore\nOne post, of two lines\tThe moon is cheese.\t1\n"
            "Say \"so\"\tIt rains.\t1\n");
  EXPECT_EQ(text("test.pairs.tsv"),
            "sentence1\tsentence2\tscore\nOne post, of two lines\tIt rains.\t1\n");
}

TEST_F(FactChecksTest, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [this] {
    try {
      write_fact_check_tables(path("."));
      return std::string("nothing");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return std::string(error.what());
    }
  };
  write_published("A post\tNobody said so.\n", "Moon\tThe moon is cheese.\n");
  EXPECT_THAT(error(), AllOf(HasSubstr("tweet-veclaim-pairs.tsv:2: its claim is not in"),
                             HasSubstr("'Nobody said so.'")));
  write_published("A post\n", "Moon\tThe moon is cheese.\n");
  EXPECT_THAT(error(), HasSubstr("tweet-veclaim-pairs.tsv:2: expected 2 fields, found 1"));
  EXPECT_FALSE(file_exists(path("corpus.tsv")));
}

}  // namespace
}  // namespace simile
