// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PairRankingTest : public ::testing::Test, protected TestFiles {
 protected:
  PairDataOptions table(const std::string& rows) const {
    PairDataOptions options;
    options.path = write("pairs.tsv", "sentence1\tsentence2\tscore\tother\n" + rows);
    return options;
  }

  // "d1=1 d2=0" of each query.
  static std::vector<std::string> judged(const RankingData& data) {
    std::vector<std::string> all;
    for (const auto& of_query : data.judged) {
      std::string line;
      for (const JudgedDocument& each : of_query) {
        line += (line.empty() ? "" : " ") + data.document_ids[static_cast<size_t>(each.document)] +
                "=" + std::to_string(each.relevance);
      }
      all.push_back(line);
    }
    return all;
  }
};

TEST_F(PairRankingTest, DistinctTextsAreQueriesAndDocuments) {
  const RankingData data = ranking_from_pairs(
      table("sky\tblue\t1\tx\nsky\tgreen\t0\tx\ngrass\tgreen\t0.6\tx\nsky\tblue\t0\tx\n"));
  EXPECT_THAT(data.query_ids, ElementsAre("q1", "q2"));
  EXPECT_THAT(data.query_texts, ElementsAre("sky", "grass"));
  EXPECT_THAT(data.document_ids, ElementsAre("d1", "d2"));
  EXPECT_THAT(data.document_texts, ElementsAre("blue", "green"));
  EXPECT_THAT(judged(data), ElementsAre("d1=1 d2=0", "d2=1")) << "of two scores the higher";
  EXPECT_THAT(data.notes.back(), HasSubstr("2 queries and 2 documents made of 4 pairs"));
}

TEST_F(PairRankingTest, NegativesAreJudgedDocuments) {
  PairDataOptions options = table("sky\tblue\t1\tgreen\ngrass\tgreen\t1\tblue\n");
  options.negatives = {"other"};
  EXPECT_THAT(judged(ranking_from_pairs(options)), ElementsAre("d1=1 d2=0", "d2=1 d1=0"));
}

TEST_F(PairRankingTest, FoldsCutTheQueriesAndKeepAllDocuments) {
  PairDataOptions options = table("a\tA\t1\tx\nb\tB\t1\tx\nc\tC\t1\tx\nd\tD\t1\tx\n");
  options.folds.folds = 2;
  std::vector<std::string> asked;
  for (const char* part : {"train", "test"}) {
    options.folds.part = part;
    const RankingData data = ranking_from_pairs(options);
    EXPECT_EQ(data.document_ids.size(), 4u);
    EXPECT_EQ(data.query_ids.size(), 2u);
    asked.insert(asked.end(), data.query_texts.begin(), data.query_texts.end());
  }
  EXPECT_THAT(asked, ::testing::UnorderedElementsAre("a", "b", "c", "d"));
}

TEST_F(PairRankingTest, SingleTextsAreRefused) {
  PairDataOptions options = table("a\tA\t1\tx\n");
  options.right = "";
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { ranking_from_pairs(options); }),
              HasSubstr("name the column `right`"));
}

}  // namespace
}  // namespace simile
