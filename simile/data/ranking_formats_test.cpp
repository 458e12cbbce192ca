// SPDX-License-Identifier: Apache-2.0
// Retrieval sets as BEIR, TREC and SemEval have them, and their folds.
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

const char kTopics[] =
    "<top>\n\n<num> Number: 301\n<title> International Organized\nCrime\n\n"
    "<desc> Description:\nIdentify <b>groups</b>.\n</top>\n\n"
    "<top>\n<num>302</num>\n<title>R&amp;D in \"Europe\"</title>\n</top>\n";
const char kDocuments[] =
    "<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<HEADLINE>\nA head\n</HEADLINE>\n"
    "<TEXT>\n<P>One a &lt; b</P>\ntwo.\n</TEXT>\n<TEXT>three</TEXT>\n</DOC>\n"
    "<doc><docno>B-2</docno><text>bare</text></doc>\n";

TEST(TrecTexts, TopicsAndDocumentsAreRead) {
  const TestFiles files;
  RankingDataOptions options;
  options.queries = files.write_gzip("topics.301-302.gz", kTopics);
  files.write("ft-1", kDocuments);
  files.write("ft-2", "<DOC>\n<DOCNO>C</DOCNO>\n</DOC>\n");
  options.corpus = files.path("ft-*");
  options.qrels = files.write("qrels", "301 0 FT911-3 1\n302 0 C 0\n");
  const RankingData data = read_ranking_data(options);
  EXPECT_THAT(data.query_ids, ElementsAre("301", "302"));
  EXPECT_THAT(data.query_texts, ElementsAre("International Organized Crime", "R&D in \"Europe\""));
  EXPECT_THAT(data.document_ids, ElementsAre("FT911-3", "B-2", "C"));
  EXPECT_THAT(data.document_texts, ElementsAre("A head One a < b two. three", "bare", ""));
  EXPECT_EQ(data.judged[1][0].document, 2);
  EXPECT_EQ(data.reports[1].rows, 3);
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("1 of 3 documents have no text")));
  options.corpus = files.path("ft-2");
  EXPECT_THAT(error_of([&] { read_ranking_data(options); }),
              HasSubstr("none of the 1 documents has a text"));
}

TEST(TrecTexts, ManyUnclosedTextsAreReadInOnePass) {
  const TestFiles files;
  RankingDataOptions options;
  options.queries = files.write("topics", kTopics);
  std::string document = "<DOC><DOCNO>A</DOCNO>\n", expected;
  for (int i = 0; i < 50000; ++i) {
    document += "<TEXT>a\n";
    expected += i == 0 ? "a" : " a";
  }
  options.corpus = files.write("docs", document + "</DOC>\n");
  options.qrels = files.write("qrels", "301 0 A 1\n");
  EXPECT_EQ(read_ranking_data(options).document_texts[0], expected);
}

TEST(TrecTexts, BrokenOnesNameFileAndLine) {
  const TestFiles files;
  RankingDataOptions options;
  options.corpus = files.write("docs", kDocuments);
  options.qrels = files.write("qrels", "301 0 FT911-3 1\n");
  const std::pair<const char*, const char*> topics[] = {
      {"\nid,text\n", "t:2: expected <top> and a TREC topic, or a table"},
      {"<top>\n<num>1\n<title>x\n", "t:1: this <top> is never closed"},
      {"<top>\n<title>x\n</top>\n", "t:1: expected an id in <num>, found ''"},
      {"<top>\n<num>1\n</top>\n", "t:1: the topic has no <title>"},
      {"<top><num>1<title>x</top> y\n", "t:1: expected nothing more in the line of </top>"},
      {"<top><num>1<title>x</top>\n<top><num>1<title>x</top>\n", "t:2: the id '1' already stands"},
      {"", "t: the file holds nothing"},
  };
  for (const auto& [text, message] : topics) {
    options.queries = files.write("t", text);
    EXPECT_THAT(error_with(options), HasSubstr(message));
  }
  options.queries = files.write("t", kTopics);
  options.corpus = files.write("docs", "<DOC>\n<DOCNO>a b</DOCNO>\n</DOC>\n");
  EXPECT_THAT(error_with(options), HasSubstr("docs:1: expected an id in <DOCNO>, found 'a b'"));
}

const char kSemeval[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<xml>
<OrgQuestion ORGQ_ID="Q1">
  <OrgQSubject>Massage oil</OrgQSubject>
  <OrgQBody>Where can I buy
    good   oil &amp; more?</OrgQBody>
  <Thread THREAD_SEQUENCE="Q1_R1">
    <RelQuestion RELQ_ID="Q1_R1" RELQ_RANKING_ORDER="1" RELQ_RELEVANCE2ORGQ="PerfectMatch">
      <RelQSubject>Best oil</RelQSubject>
      <RelQBody><![CDATA[Tell <me>.]]></RelQBody>
    </RelQuestion>
    <RelComment RELC_ID="Q1_R1_C1" RELC_RELEVANCE2ORGQ="Good" RELC_RELEVANCE2RELQ="Good">
      <RelCText>Try the souk.</RelCText>
    </RelComment>
    <RelComment RELC_ID="Q1_R1_C2" RELC_RELEVANCE2ORGQ="Bad" RELC_RELEVANCE2RELQ="PotentiallyUseful">
      <RelCText>Hm.</RelCText>
    </RelComment>
  </Thread>
</OrgQuestion>
<!-- the original question stands once for each thread -->
<OrgQuestion ORGQ_ID="Q1">
  <OrgQSubject>Massage oil</OrgQSubject>
  <OrgQBody>Where can I buy good oil &amp; more?</OrgQBody>
  <Thread THREAD_SEQUENCE="Q1_R2" SubtaskA_Skip_Because_Same_As_RelQuestion_ID="Q9_R1">
    <RelQuestion RELQ_ID="Q1_R2" RELQ_RELEVANCE2ORGQ="Irrelevant">
      <RelQSubject>Cars</RelQSubject>
      <RelQBody/>
    </RelQuestion>
    <RelComment RELC_ID="Q1_R2_C1" RELC_RELEVANCE2RELQ="Bad"><RelCText>No.</RelCText></RelComment>
  </Thread>
</OrgQuestion>
<OrgQuestion ORGQ_ID="Q2">
  <OrgQSubject>Visa</OrgQSubject>
  <OrgQBody></OrgQBody>
  <Thread THREAD_SEQUENCE="Q2_R1">
    <RelQuestion RELQ_ID="Q2_R1" RELQ_RELEVANCE2ORGQ="?">
      <RelQSubject>Family visa</RelQSubject>
      <RelQBody>How?</RelQBody>
    </RelQuestion>
    <RelComment RELC_ID="Q2_R1_C1" RELC_RELEVANCE2RELQ="Bad"><RelCText>Ask.</RelCText></RelComment>
  </Thread>
</OrgQuestion>
</xml>
)";

RankingDataOptions semeval(const std::string& path, const std::string& subtask) {
  RankingDataOptions options;
  options.semeval = {path};
  options.subtask = subtask;
  return options;
}

TEST(Semeval, SubtaskBRanksRelatedQuestions) {
  const TestFiles files;
  const std::string path = files.write_zstd("dev.xml.zst", kSemeval);
  const RankingData data = read_ranking_data(semeval(path, "B"));
  EXPECT_THAT(data.query_ids, ElementsAre("Q1", "Q2"));
  EXPECT_THAT(data.query_texts,
              ElementsAre("Massage oil Where can I buy good oil & more?", "Visa"));
  EXPECT_THAT(data.document_ids, ElementsAre("Q1_R1", "Q1_R2", "Q2_R1"));
  EXPECT_THAT(data.document_texts, ElementsAre("Best oil Tell <me>.", "Cars", "Family visa How?"));
  ASSERT_EQ(data.judged[0].size(), 2);
  EXPECT_EQ(data.judged[0][0].relevance, 2);
  EXPECT_EQ(data.judged[0][1].relevance, 0);
  EXPECT_THAT(data.judged[1], IsEmpty());
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("1 candidates have no label")));
}

TEST(Semeval, SubtaskARanksComments) {
  const TestFiles files;
  const std::string path = files.write("dev.xml", kSemeval);
  const RankingData data = read_ranking_data(semeval(path, "A"));
  EXPECT_THAT(data.query_ids, ElementsAre("Q1_R1", "Q2_R1"));
  EXPECT_THAT(data.document_texts, ElementsAre("Try the souk.", "Hm.", "Ask."));
  EXPECT_EQ(data.judged[0][0].relevance, 1);
  EXPECT_EQ(data.judged[0][1].relevance, 0);
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("1 threads repeat a related question")));

  PairDataOptions pairs;
  pairs.format = "ranking";
  pairs.ranking = semeval(path, "A");
  EXPECT_EQ(pairs.file(), path);
  EXPECT_THAT(read_pairs(pairs).right, ElementsAre("Try the souk."));
}

TEST(Semeval, ThreadsWithoutAnOriginalQuestionServeSubtaskA) {
  const TestFiles files;
  const std::string path = files.write(
      "a.xml",
      "<xml><Thread><RelQuestion RELQ_ID='Q1_R1'><RelQSubject>s</RelQSubject></RelQuestion>"
      "<RelComment RELC_ID='c' RELC_RELEVANCE2RELQ='Good'><RelCText>t</RelCText></RelComment>"
      "</Thread></xml>");
  EXPECT_THAT(read_ranking_data(semeval(path, "A")).query_texts, ElementsAre("s"));
  EXPECT_THAT(error_with(semeval(path, "B")),
              HasSubstr("a.xml:1: 'Q1_R1' does not stand in an OrgQuestion"));
}

TEST(Semeval, BrokenFilesNameFileAndLine) {
  const TestFiles files;
  const std::string open = "<xml>\n<OrgQuestion ORGQ_ID='Q'>\n";
  std::string deep;
  for (int i = 0; i < 101; ++i) deep += "<a>";
  const std::pair<std::string, std::string> cases[] = {
      {"", "b.xml:1: this is not well-formed XML: no element found"},
      {"text", "b.xml:1: this is not well-formed XML: syntax error"},
      {open + "</xml>", "b.xml:3: this is not well-formed XML: mismatched tag"},
      {"<xml>\n<OrgQuestion/></xml>", "b.xml:2: expected an element with ORGQ_ID"},
      {open + "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='Good'/></OrgQuestion></xml>",
       "b.xml:3: expected one of the labels PerfectMatch, Relevant, Irrelevant, found 'Good'"},
      {open + "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='?'/></OrgQuestion></xml>",
       "no RelQuestion with a label was found (1 without)"},
      {open + "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='Relevant'/>\n"
              "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='Irrelevant'/></OrgQuestion></xml>",
       "b.xml:4: 'R' is judged a second time for 'Q' with another label"},
      {open + "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='Relevant'/>\n<RelQuestion RELQ_ID='R' "
              "RELQ_RELEVANCE2ORGQ='Relevant'><RelQBody>x</RelQBody></RelQuestion></OrgQuestion>"
              "</xml>",
       "b.xml:4: 'R' stands there a second time with another text"},
      {"<!DOCTYPE x [<!ENTITY a 'b'>]>\n<xml>&a;</xml>",
       "b.xml:1: the document defines the entity"},
      {deep, "elements stand more than 100 deep"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(error_with(semeval(files.write("b.xml", text), "B")), HasSubstr(message)) << text;
  }
  RankingDataOptions both = semeval(files.write("b.xml", kSemeval), "B");
  both.qrels = "x.tsv";
  EXPECT_THAT(error_with(both), HasSubstr("semeval stands in place of"));
  EXPECT_THAT(error_with(semeval(files.path("b.xml"), "C")), HasSubstr("subtask: expected A or B"));
}

// A file cut anywhere gives a set or an Error, nothing else.
TEST(RankingFormats, FilesCutAtAnyByteGiveASetOrAnError) {
  const TestFiles files;
  const std::string xml = kSemeval;
  for (size_t size = 0; size + 1 < xml.size(); size += size < 400 ? 1 : 7) {
    for (const char* subtask : {"A", "B"}) {
      const std::string path = files.write("cut.xml", xml.substr(0, size));
      EXPECT_THAT(error_with(semeval(path, subtask)), HasSubstr("cut.xml")) << size;
    }
  }
  RankingDataOptions options;
  options.queries = files.write("topics", kTopics);
  options.corpus = files.write("docs", kDocuments);
  options.qrels = files.write("qrels", "301 0 FT911-3 1\n");
  for (std::string* path : {&options.queries, &options.corpus, &options.qrels}) {
    const std::string bytes = read_file(*path), whole = *path;
    *path = files.path("cut");
    for (size_t size = 0; size < bytes.size(); ++size) {
      files.write("cut", bytes.substr(0, size));
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
