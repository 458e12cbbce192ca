// SPDX-License-Identifier: Apache-2.0
// Retrieval sets as BEIR and TREC have them, and their folds.
#include <gmock/gmock.h>

#include <set>

#include "simile/core/file.h"
#include "simile/data/detail/test_files.h"
#include "simile/data/pair_data.h"
#include "simile/data/ranking_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace simile
