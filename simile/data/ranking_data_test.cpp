// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"
#include "simile/data/ranking_files.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(RankingData, JudgementsAreInTheEncodingOfTheTables) {
  const TestFiles files;
  const auto judged = [&](const std::string& encoding, size_t bytes, const char* own = nullptr) {
    const auto write = [&](const std::string& name, const std::string& text) {
      std::string wide;
      for (const char c : text) wide += c + std::string(bytes - 1, '\0');
      return files.write(name, wide);
    };
    RankingDataOptions options;
    options.queries = write("q.csv", "id;text\nq\xe9;password\n");
    options.corpus = write("c.csv", "id;text\nd1;billing\nd\xe9;reset your password\n");
    const std::string judgements = "query_id\tdoc_id\trelevance\nq\xe9\td\xe9\t1\n";
    options.qrels = own != nullptr ? files.write("qr.tsv", own) : write("qr.tsv", judgements);
    options.columns.table.encoding = encoding;
    options.columns.table.delimiter = ";";  // of the tables alone
    const RankingData data = read_ranking_data(options);
    return data.query_ids[0] + " " + data.document_ids[data.judged[0][0].document];
  };
  EXPECT_EQ(judged("latin1", 1), "qé dé");
  EXPECT_EQ(judged("utf-16le", 2), "qé dé");
  EXPECT_EQ(judged("latin1", 1, "qé 0 dé 1\n"), "qé dé");  // or in UTF-8
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

TEST(Trec, IdsOfATableWithTabsMayHoldSpaces) {
  const TestFiles files;
  const auto judgements = read_qrels(
      files.write("q.tsv", "query_id\tdoc_id\trelevance\nq one\tNew York\t1\nq2 \td\t 0\r\n"));
  ASSERT_EQ(judgements.size(), 2);
  EXPECT_EQ(judgements[0].query, "q one");
  EXPECT_EQ(judgements[0].document, "New York");
  EXPECT_EQ(judgements[1].query, "q2");
  EXPECT_EQ(judgements[1].relevance, 0);
}

TEST(Trec, BrokenQrelsNameTheLine) {
  const TestFiles files;
  const std::pair<const char*, const char*> cases[] = {
      {"q 0 d 1\nq 0 d\n", "q.txt:2: expected 4 fields"},
      {"q d 1\n", "q.txt:1: expected 4 fields"},
      {"query_id\tdoc_id\trelevance\nq 0 d 1\n", "q.txt:2: expected 3 fields"},
      {"query_id\tdoc_id\trelevance\nq\t \t1\n", "q.txt:2: expected 3 fields"},
      {"query_id\trelevance\tdoc_id\nq\t1\t4\n",
       "q.txt:1: expected the columns query_id, doc_id, relevance"},
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

std::string error_with(const RankingDataOptions& options) {
  return error_of([&] { read_ranking_data(options); });
}

RankingDataOptions write_beir(const TestFiles& files) {
  make_folders(files.path("beir/qrels"));
  files.write("beir/corpus.jsonl",
              "{\"_id\":\"1\",\"title\":\"Head\",\"text\":\"body\",\"metadata\":{}}\n"
              "{\"_id\":\"2\",\"title\":\"\",\"text\":\"bare\"}\n");
  files.write("beir/queries.jsonl",
              "{\"_id\":\"q\",\"text\":\"ask\"}\n{\"_id\":\"r\",\"text\":\"tell\"}\n");
  files.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\t1\t1\nq\t2\t0\n");
  files.write("beir/qrels/dev.tsv", "query-id\tcorpus-id\tscore\nr\t2\t2\n");
  RankingDataOptions options;
  options.folder = files.path("beir");
  return options;
}

TEST(BeirFolder, IsReadBySplit) {
  const TestFiles files;
  RankingDataOptions options = write_beir(files);
  const RankingData test = read_ranking_data(options);
  EXPECT_THAT(test.document_texts, ElementsAre("Head body", "bare"));
  EXPECT_THAT(test.query_texts, ElementsAre("ask", "tell"));
  EXPECT_EQ(test.judged[0].size(), 2);
  EXPECT_THAT(test.judged[1], IsEmpty());
  EXPECT_EQ(options.file(), files.path("beir"));
  options.split = "dev";
  EXPECT_EQ(read_ranking_data(options).judged[1][0].relevance, 2);
  options = write_beir(files);
  options.qrels = files.write("own.tsv", "query-id\tcorpus-id\tscore\nr\t1\t1\n");
  EXPECT_EQ(read_ranking_data(options).judged[1][0].document, 0);

  PairDataOptions pairs;
  pairs.format = "ranking";
  pairs.ranking = write_beir(files);
  const PairDataset data = read_pairs(pairs);
  EXPECT_THAT(data.left, ElementsAre("ask"));
  EXPECT_THAT(data.right, ElementsAre("Head body"));
}

TEST(BeirFolder, IdsMayBeNumbersAndTablesHaveMoreMembers) {
  const TestFiles files;
  make_folders(files.path("beir/qrels"));
  files.write("beir/corpus.jsonl",
              "{\"_id\": 7, \"title\": \"\", \"text\": \"x\", \"metadata\": {\"url\": \"u\"}}\n"
              "{\"_id\": 12, \"title\": \"T\", \"text\": \"y\", \"metadata\": {}}\n");
  files.write("beir/queries.jsonl",
              "{\"_id\": 7, \"text\": \"ask\", \"metadata\": {\"n\": [1]}}\n"
              "{\"_id\": \"8\", \"text\": \"tell\"}\n");
  files.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n7\t12\t2\n8\t7\t1\n");
  RankingDataOptions options;
  options.folder = files.path("beir");
  const RankingData data = read_ranking_data(options);
  EXPECT_THAT(data.document_ids, ElementsAre("7", "12"));
  EXPECT_THAT(data.document_texts, ElementsAre("x", "T y"));
  EXPECT_EQ(data.judged[0][0].document, 1);
  EXPECT_EQ(data.judged[1][0].document, 0);
}

TEST(BeirFolder, MayBePackedOrHoldOtherTables) {
  const TestFiles files;
  make_folders(files.path("own"));
  files.write_gzip("own/corpus.tsv.gz", "id\ttext\n1\tx\n");
  files.write_zstd("own/queries.tsv.zst", "id\ttext\nq\ty\n");
  files.write("own/qrels.train.tsv", "query_id\tdoc_id\trelevance\nq\t1\t1\n");
  RankingDataOptions options;
  options.folder = files.path("own");
  options.split = "train";
  EXPECT_EQ(read_ranking_data(options).judged[0].size(), 1);
}

TEST(BeirFolder, TellsWhatIsMissing) {
  const TestFiles files;
  RankingDataOptions options = write_beir(files);
  options.split = "train";
  EXPECT_THAT(error_with(options), HasSubstr("beir: the folder has no judgements qrels/train.tsv "
                                             "for the split 'train'; its splits are dev, test"));
  make_folders(files.path("empty"));
  options.folder = files.path("empty");
  EXPECT_THAT(error_with(options), HasSubstr("empty: the folder has no queries.jsonl"));
  files.write("empty/queries.jsonl", "{\"_id\":\"q\",\"text\":\"ask\"}\n");
  EXPECT_THAT(error_with(options), HasSubstr("empty: the folder has no corpus.jsonl"));
  files.write("empty/corpus.jsonl", "{\"_id\":\"1\",\"text\":\"x\"}\n");
  EXPECT_THAT(error_with(options), HasSubstr("it has none of any split"));
  options.folder = files.path("none");
  EXPECT_THAT(error_with(options), HasSubstr("none: there is no such folder"));
}

// A file cut anywhere gives a set or an Error, nothing else.
TEST(RankingFormats, FilesCutAtAnyByteGiveASetOrAnError) {
  const TestFiles files;
  RankingDataOptions options;
  options.queries = files.write("queries.csv", "id,text\n301,\"International \"\"Crime\"\"\"\n");
  options.corpus = files.write(
      "docs.jsonl", "{\"_id\":\"FT911-3\",\"title\":\"A head\",\"text\":\"One a < b\"}\n");
  options.qrels = files.write("qrels.txt", "301 0 FT911-3 1\n");
  for (std::string* path : {&options.queries, &options.corpus, &options.qrels}) {
    const std::string bytes = read_file(*path), whole = *path;
    const std::string cut = "cut" + whole.substr(whole.rfind('.'));
    *path = files.path(cut);
    for (size_t size = 0; size < bytes.size(); ++size) {
      files.write(cut, bytes.substr(0, size));
      error_with(options);
    }
    *path = whole;
  }
  EXPECT_EQ(error_with(options), "");
}

TEST(RankingFolds, QueriesAreDealtAndDocumentsStay) {
  const TestFiles files;
  std::string queries = "id\ttext\n", qrels = "query_id\tdoc_id\trelevance\n";
  for (int i = 0; i < 20; ++i) {
    // The last two ask the same.
    queries += "q" + std::to_string(i) + "\task " + (i == 19 ? "18!" : std::to_string(i)) + "\n";
    if (i != 5) qrels += "q" + std::to_string(i) + "\td1\t1\n";
  }
  RankingDataOptions options;
  options.queries = files.write("queries.tsv", queries);
  options.corpus = files.write("corpus.tsv", "id\ttext\nd1\tfirst\n");
  options.qrels = files.write("qrels.tsv", qrels);
  const auto judged = [&](int64_t fold, const std::string& part) {
    options.folds = {4, fold, part, 1};
    const RankingData data = read_ranking_data(options);
    EXPECT_EQ(data.document_ids.size(), 1);
    EXPECT_THAT(data.notes, ElementsAre(HasSubstr("of 19 queries, ")));
    std::set<size_t> found;
    for (size_t q = 0; q < data.judged.size(); ++q) {
      if (!data.judged[q].empty()) found.insert(q);
    }
    return found;
  };
  std::set<size_t> tested;
  for (int64_t fold = 0; fold < 4; ++fold) {
    const std::set<size_t> test = judged(fold, "test"), train = judged(fold, "train");
    EXPECT_GE(test.size(), 4);
    EXPECT_LE(test.size(), 5);
    EXPECT_EQ(test.size() + train.size(), 19);
    for (const size_t q : test) EXPECT_TRUE(tested.insert(q).second) << q;
    EXPECT_EQ(test.count(18), test.count(19));
  }
  EXPECT_EQ(tested.size(), 19);
}

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
