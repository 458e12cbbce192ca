// SPDX-License-Identifier: Apache-2.0
#include "simile/data/overlap.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { messages.push_back(message); }
  std::vector<std::string> messages;
};

OverlapReport overlap(const std::vector<std::string>& training,
                      const std::vector<std::string>& test, const OverlapOptions& options = {}) {
  return find_overlap(training, test, options, silent_events());
}

TEST(Overlap, TextsAreComparedWithoutCaseAndPunctuation) {
  const TestFiles files;
  const std::string train =
      files.write_gzip("train.txt.gz", "A dog runs home.\n\nnothing of this is asked\n");
  const std::string test = files.write(
      "test.tsv",
      "sentence1\tsentence2\tscore\n"
      "a DOG -- runs home!\tA cat runs home.\t1\nA dog runs home\tA dog ran home.\t2\n");
  const OverlapReport report = overlap({train}, {test});
  EXPECT_EQ(report.training_texts, 2);
  ASSERT_EQ(report.counts.size(), 1);
  EXPECT_EQ(report.counts[0].file, test);
  EXPECT_EQ(report.counts[0].texts, 4);
  EXPECT_EQ(report.counts[0].distinct, 3);
  EXPECT_EQ(report.counts[0].found, 1);
  ASSERT_EQ(report.found.size(), 1);
  EXPECT_EQ(report.found[0].text, "a DOG -- runs home!");
  EXPECT_EQ(report.found[0].test_file, test);
  EXPECT_THAT(report.found[0].found_at, EndsWith("train.txt.gz:1"));
}

TEST(Overlap, PairsAndTheirSidesAreToldApart) {
  const TestFiles files;
  const std::string train = files.write(
      "train.tsv",
      "anchor\tpositive\nhow do I bake bread\tmix flour water and salt\n"
      "how do I boil eggs\tput them in hot water\nhow do I roast nuts\tturn the oven on\n");
  const std::string test = files.write(
      "test.tsv",
      "question\tanswer\nHow do I bake bread?\tMix flour, water and salt!\n"
      "how do I make dough\tmix flour water and salt\nhow do I roast nuts\tput them in hot "
      "water\nwhat is the time now\tit is a quarter past\n");
  const std::string list = files.write("list.txt", "How do I boil eggs?\n");
  const OverlapReport report = overlap({train}, {test, list});
  EXPECT_EQ(report.counts[0].found, 4);
  ASSERT_TRUE(report.counts[0].pairs);
  const Leak& pairs = *report.counts[0].pairs;
  EXPECT_THAT(
      (std::vector<int64_t>{pairs.examples, pairs.found, pairs.queries, pairs.queries_found,
                            pairs.documents, pairs.documents_found, pairs.examples_of_seen}),
      ElementsAre(4, 1, 4, 2, 3, 2, 3));
  EXPECT_FALSE(report.counts[1].pairs);
  // Texts of a list count as sides, but not as pairs.
  const Leak of_list = *overlap({list}, {train}).counts[0].pairs;
  EXPECT_EQ(of_list.found, 0);
  EXPECT_EQ(of_list.queries_found, 1);
}

TEST(Overlap, ColumnsOfPairsMayHaveAnyName) {
  const TestFiles files;
  const std::string data =
      files.write("t.tsv", "id\tq\ta\n1\thow do I bake bread\tmix flour water and salt\n");
  EXPECT_FALSE(overlap({data}, {data}).counts[0].pairs);
  OverlapOptions options;
  options.left = "q";
  options.right = "a";
  EXPECT_EQ(overlap({data}, {data}, options).counts[0].pairs->found, 1);
}

TEST(Overlap, AFolderIsARankingSet) {
  const TestFiles files;
  std::filesystem::create_directories(files.path("set/qrels"));
  files.write("set/corpus.jsonl",
              "{\"_id\": \"d1\", \"text\": \"mix flour water and salt\"}\n"
              "{\"_id\": \"d2\", \"text\": \"nobody has judged this one\"}\n");
  files.write("set/queries.jsonl", "{\"_id\": \"q1\", \"text\": \"how is bread made\"}\n");
  files.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n");
  const std::string train =
      files.write("train.tsv", "anchor\tpositive\nhow do I make dough\tmix flour water and salt\n");
  const OverlapCount count = overlap({train}, {files.path("set")}).counts[0];
  EXPECT_EQ(count.texts, 3);
  EXPECT_EQ(count.found, 1);
  ASSERT_TRUE(count.pairs);
  EXPECT_EQ(count.pairs->examples, 1);
  EXPECT_EQ(count.pairs->found, 0);
  EXPECT_EQ(count.pairs->documents_found, 1);
  EXPECT_EQ(count.pairs->queries_found, 0);
}

TEST(Overlap, SentencesInsideTrainingTextsAreFound) {
  const TestFiles files;
  const std::string train =
      files.write("train.csv", "q,a\nx,\"It is late now. The old dog runs home. So it is.\"\n");
  const std::string test = files.write(
      "test.txt", "the old dog runs home\ndog runs home so it\nIt is late now. The old dog\n");
  const OverlapReport report = overlap({train}, {test});
  ASSERT_EQ(report.found.size(), 1);
  EXPECT_EQ(report.found[0].text, "the old dog runs home");
}

TEST(Overlap, NearTextsAreFoundOnRequest) {
  const TestFiles files;
  const std::string train =
      files.write("train.tsv",
                  "q\ta\nhow are you today\tAn old dog runs home, every day of the week.\n"
                  "the old dog runs home\tthe old cat sleeps at home\n");
  const std::string test =
      files.write("test.txt",
                  "my old dog runs home every day\nthe old cat sleeps at sea\n"
                  "The old dog runs home!\nnothing of all this stands there\n");
  EXPECT_EQ(overlap({train}, {test}).counts[0].near, 0);
  OverlapOptions options;
  options.near = 0.6;
  const OverlapReport report = overlap({train}, {test}, options);
  EXPECT_EQ(report.counts[0].distinct, 4);
  EXPECT_EQ(report.counts[0].found, 1);
  EXPECT_EQ(report.counts[0].near, 2);
  ASSERT_EQ(report.found.size(), 3);
  EXPECT_EQ(report.found[0].text, "my old dog runs home every day");
  EXPECT_THAT(report.found[0].found_at, EndsWith("train.tsv:2"));
  EXPECT_DOUBLE_EQ(report.found[0].share, 0.8);
  EXPECT_DOUBLE_EQ(report.found[1].share, 0.75);
  EXPECT_THAT(report.found[1].found_at, EndsWith("train.tsv:3"));
  EXPECT_DOUBLE_EQ(report.found[2].share, 1);
  options.shingle = 4;  // all are shorter than two shingles
  EXPECT_EQ(overlap({train}, {test}, options).counts[0].near, 0);
}

TEST(Overlap, ManyTrainingTextsGiveTheFirstThatIsNear) {
  const TestFiles files;
  std::string text;
  for (int i = 0; i < 10000; ++i) {
    text += "one two three four number " + std::to_string(i % 5000) + "\n";
  }
  const std::string train = files.write("train.txt", text);
  OverlapOptions options;
  options.near = 0.6;  // of the first text's four shingles three are in one training text
  const std::string test =
      files.write("test.txt", "two three four number 4321 six\nfive six number 17 seven nine\n");
  const OverlapReport report = overlap({train}, {test}, options);
  ASSERT_EQ(report.found.size(), 1);
  EXPECT_THAT(report.found[0].found_at, EndsWith("train.txt:4322"));
}

TEST(Overlap, ATextOfSeveralTestFilesCountsInEach) {
  const TestFiles files;
  const std::string train = files.write("train.txt", "one two three four\n");
  const std::string a = files.write("a.txt", "one two three four\nfour three two one\n");
  const std::string b = files.write("b.jsonl", "{\"text\":\"One two three four?\",\"n\":3}\n");
  const OverlapReport report = overlap({train}, {a, b});
  EXPECT_EQ(report.counts[0].found, 1);
  EXPECT_EQ(report.counts[0].distinct, 2);
  EXPECT_EQ(report.counts[1].found, 1);
  ASSERT_EQ(report.found.size(), 2);
  EXPECT_EQ(report.found[1].text, "One two three four?");
  EXPECT_EQ(report.found[1].test_file, b);
}

TEST(Overlap, ColumnsAndLengthsCanBeChosen) {
  const TestFiles files;
  const std::string train = files.write("train.tsv", "a\tb\nshort text\tthe other text here\n");
  const std::string test =
      files.write("test.tsv", "b\tc\nshort text\tthe other text here\nyes\tno\n");
  OverlapOptions options;
  EXPECT_EQ(overlap({train}, {test}, options).counts[0].texts, 1);
  options.minimum_words = 2;
  EXPECT_EQ(overlap({train}, {test}, options).counts[0].found, 2);
  options.columns = {"a", "b"};
  const OverlapReport report = overlap({train}, {test}, options);
  EXPECT_EQ(report.counts[0].texts, 1);
  EXPECT_EQ(report.counts[0].found, 1);
  const std::string objects =
      files.write("o.jsonl", "{\"c\":\"short text\",\"b\":\"the other\"}\n");
  EXPECT_EQ(overlap({train}, {objects}, options).counts[0].texts, 1);
}

TEST(Overlap, FilesWithoutTextsAreToldAndASideWithoutAnyIsAnError) {
  const TestFiles files;
  const std::string train = files.write("train.txt", "one two three four\n");
  const std::string ids = files.write("qrels.tsv", "q\td\nq1\td1\n");
  Warnings warnings;
  find_overlap({train, ids}, {train}, {}, warnings);
  EXPECT_THAT(warnings.messages, ElementsAre(HasSubstr("qrels.tsv: no text of at least 4 words")));
  EXPECT_THAT(error_of([&] { overlap({train}, {ids}); }),
              HasSubstr("the test files hold no text of at least 4 words; lower minimum_words"));
  EXPECT_THAT(error_of([&] { overlap({ids}, {train}); }), HasSubstr("the training files hold no"));
  EXPECT_THAT(error_of([&] { overlap({}, {train}); }), HasSubstr("at least one training file"));
}

TEST(Overlap, BadFilesAreErrors) {
  const TestFiles files;
  const std::string good = files.write("good.tsv", "text\none two three four\n");
  const auto error = [&](const std::string& name, const std::string& bytes,
                         const OverlapOptions& options = {}) {
    const std::string bad = files.write(name, bytes);
    return error_of([&] { overlap({bad}, {good}, options); });
  };
  EXPECT_THAT(error("short.tsv", "a\tb\nx\n"), HasSubstr("short.tsv:2: expected 2 fields"));
  EXPECT_THAT(error("empty.csv", ""), HasSubstr("the file is empty"));
  EXPECT_THAT(error("o.jsonl", "[1]\n"), HasSubstr("o.jsonl:1"));
  EXPECT_THAT(error_of([&] { overlap({files.path("none.txt")}, {good}); }),
              HasSubstr("cannot read"));
  OverlapOptions options;
  options.columns = {"text"};
  EXPECT_THAT(
      error("other.tsv", "a\tb\nx\ty\n", options),
      AllOf(HasSubstr("expected one of the columns text"), HasSubstr("columns found: a, b")));
  EXPECT_THAT(error("other.jsonl", "{\"a\":\"x\"}\n", options),
              HasSubstr("no object has a text named text"));
}

}  // namespace
}  // namespace simile
