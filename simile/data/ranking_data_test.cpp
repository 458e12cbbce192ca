// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <gmock/gmock.h>

#include "simile/core/file.h"
#include "simile/data/detail/test_files.h"
#include "simile/data/trec.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RankingDataOptions write_small_set(const TestFiles& files, const std::string& qrels) {
  RankingDataOptions options;
  options.queries = files.write("queries.tsv", "id\ttext\nq1\tone\nq2\ttwo\n");
  options.corpus = files.write("corpus.tsv", "id\ttext\nd1\tfirst\nd2\tsecond\nd3\tthird\n");
  options.qrels = files.write("qrels.tsv", qrels);
  return options;
}

TEST(RankingData, JudgementsPointAtRows) {
  const TestFiles files;
  const auto data = read_ranking_data(
      write_small_set(files, "query_id\tdoc_id\trelevance\nq2\td3\t2\nq2\td1\t0\nq1\td2\t1\n"));
  EXPECT_THAT(data.query_texts, ElementsAre("one", "two"));
  EXPECT_THAT(data.document_ids, ElementsAre("d1", "d2", "d3"));
  ASSERT_EQ(data.judged[1].size(), 2);
  EXPECT_EQ(data.judged[1][0].document, 2);
  EXPECT_EQ(data.judged[1][0].relevance, 2);
  EXPECT_EQ(data.reports[2].rows, 3);

  const PairDataset pairs = pairs_from_ranking(data);
  EXPECT_THAT(pairs.left, ElementsAre("one", "two"));
  EXPECT_THAT(pairs.right, ElementsAre("second", "third"));
  EXPECT_THAT(pairs.group, ElementsAre("q1", "q2"));
  EXPECT_THAT(pairs.score, ElementsAre(1, 1));
  EXPECT_EQ(pairs_from_ranking(data, 2).size(), 1);
}

TEST(RankingData, BeirFilesAreRead) {
  const TestFiles files;
  RankingDataOptions options;
  options.queries =
      files.write("queries.jsonl", "{\"_id\":\"q\",\"text\":\"ask\",\"metadata\":{}}\n");
  options.corpus = files.write("corpus.jsonl",
                               "{\"_id\":\"1\",\"title\":\"Head\",\"text\":\"body \"}\n"
                               "{\"_id\":\"2\",\"title\":\"\",\"text\":\"bare\"}\n");
  options.qrels = files.write("test.tsv", "query-id\tcorpus-id\tscore\nq\t1\t1\n");
  const auto data = read_ranking_data(options);
  EXPECT_THAT(data.document_texts, ElementsAre("Head body", "bare"));
  EXPECT_EQ(data.judged[0].size(), 1);
}

TEST(RankingData, UnknownIdsAreErrorsUnlessAllowed) {
  const TestFiles files;
  auto options =
      write_small_set(files, "query_id\tdoc_id\trelevance\nq1\td2\t1\nq1\td9\t1\nq9\td1\t1\n");
  EXPECT_THAT(
      error_of([&] { read_ranking_data(options); }),
      AllOf(HasSubstr("qrels.tsv:3: the document 'd9' is not in"), HasSubstr("corpus.tsv")));
  options.allow_unknown = true;
  const auto data = read_ranking_data(options);
  EXPECT_EQ(data.judgements_of_unknown_documents, 1);
  EXPECT_EQ(data.judgements_of_unknown_queries, 1);
  EXPECT_EQ(data.judged[0][1].document, -1);
  EXPECT_EQ(pairs_from_ranking(data).size(), 1);
}

TEST(RankingData, IdsMustBeThereAndDiffer) {
  const TestFiles files;
  auto options = write_small_set(files, "q1 0 d1 1\n");
  options.corpus = files.write("twice.tsv", "id\ttext\na\tx\nb\ty\na\tz\n");
  EXPECT_THAT(error_of([&] { read_ranking_data(options); }),
              HasSubstr("twice.tsv:4: column 'id': the id 'a' already stands in line 2"));
  options.corpus = files.write("none.tsv", "id\ttext\n\tx\n");
  EXPECT_THAT(error_of([&] { read_ranking_data(options); }), HasSubstr("none.tsv:2"));
  options.corpus = "";
  EXPECT_THAT(error_of([&] { read_ranking_data(options); }), HasSubstr("'corpus' is missing"));
}

TEST(Trec, QrelsWithoutHeader) {
  const TestFiles files;
  const auto judgements =
      read_qrels(files.write("q.txt", "301 0 FT-1 1\n301\t0\tFT-2\t-1\n\n301 0 FT-1 1\n"));
  ASSERT_EQ(judgements.size(), 2);
  EXPECT_EQ(judgements[1].document, "FT-2");
  EXPECT_EQ(judgements[1].relevance, -1);
  EXPECT_EQ(judgements[1].line, 2);
}

TEST(Trec, BrokenQrelsNameTheLine) {
  const TestFiles files;
  const std::pair<const char*, const char*> cases[] = {
      {"q 0 d 1\nq 0 d\n", "q.txt:2: expected 4 fields"},
      {"q d 1\n", "q.txt:1: expected 4 fields"},
      {"query_id\tdoc_id\trelevance\nq 0 d 1\n", "q.txt:2: expected 3 fields"},
      {"q 0 d 1.5\n", "q.txt:1: expected a whole number as relevance, found '1.5'"},
      {"q 0 d 1\nq 0 d 2\n",
       "q.txt:2: document 'd' has relevance 2 for query 'q', but 1 in line 1"},
      {"\n", "no judgements"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(error_of([&] { read_qrels(files.write("q.txt", c.first)); }), HasSubstr(c.second));
  }
}

TEST(Trec, ARunSurvivesWritingAndReading) {
  const TestFiles files;
  const std::vector<RunQuery> run = {{"q1", {"d2", "d1"}, {0.1 + 0.2, -1e-300}},
                                     {"q2", {"d1"}, {7}}};
  write_run(files.path("r.trec"), run, "simile");
  const auto read = read_run(files.path("r.trec"));
  ASSERT_EQ(read.size(), 2);
  for (size_t q = 0; q < run.size(); ++q) {
    EXPECT_EQ(read[q].query, run[q].query);
    EXPECT_EQ(read[q].documents, run[q].documents);
    EXPECT_EQ(read[q].scores, run[q].scores);
  }
  EXPECT_THAT(read_file(files.path("r.trec")), HasSubstr("q2 Q0 d1 1 7 simile\n"));
}

TEST(Trec, IdsWithWhiteSpaceCannotBeWritten) {
  const TestFiles files;
  EXPECT_THAT(error_of([&] {
                write_run(files.path("r"), {{"q", {"d 1"}, {1}}}, "t");
              }),
              HasSubstr("'d 1'"));
  EXPECT_FALSE(file_exists(files.path("r")));
}

TEST(Trec, BrokenRunsNameTheLine) {
  const TestFiles files;
  const std::pair<const char*, const char*> cases[] = {
      {"q Q0 d 1 0.5\n", "r.txt:1: expected the 6 fields"},
      {"q Q0 d 1 x t\n", "r.txt:1: expected a number as score, found 'x'"},
      {"q Q0 d 1 nan t\n", "r.txt:1"},
      {"q Q0 d 1 2 t\nq Q0 d 2 1 t\n", "r.txt:2: document 'd' stands twice"},
      {"", "no rankings"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(error_of([&] { read_run(files.write("r.txt", c.first)); }), HasSubstr(c.second));
  }
}

}  // namespace
}  // namespace simile
