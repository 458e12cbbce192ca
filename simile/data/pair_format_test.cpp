// SPDX-License-Identifier: Apache-2.0
// The formats of pairs beside tables, and which options go with which.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PairDataOptions options_for(const std::string& format, const std::string& path) {
  PairDataOptions options;
  options.format = format;
  options.path = path;
  return options;
}

std::string error_with(const PairDataOptions& options) {
  return error_of([&] { read_pairs(options); });
}

PairDataOptions write_ranking(const TestFiles& files, const std::string& judgements) {
  PairDataOptions options = options_for("ranking", "");
  options.ranking.queries = files.write("queries.tsv", "id\ttext\nq1\tone\nq2\ttwo\n");
  options.ranking.corpus = files.write("corpus.tsv", "id\ttext\nd1\tfirst\nd2\tsecond\n");
  options.ranking.qrels = files.write("qrels.tsv", "query_id\tdoc_id\trelevance\n" + judgements);
  return options;
}

TEST(PairFormat, TextsArePairedWithThemselves) {
  const TestFiles files;
  PairDataOptions options = options_for("texts", files.write_gzip("t.txt.gz", "a\n\nb c\n \nd\n"));
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("a", "b c", "d"));
  EXPECT_EQ(data.left, data.right);
  EXPECT_THAT(data.score, ElementsAre(1, 1, 1));
  EXPECT_THAT(data.negatives, IsEmpty());
  EXPECT_FALSE(options.has_scores());
  options.limit = 2;
  EXPECT_THAT(read_pairs(options).left, ElementsAre("a", "b c"));

  const std::string objects = "{\"text\":\"x\"}\n{\"text\":\" \"}\n{\"text\":\"y\"}\n";
  const PairDataset read = read_pairs(options_for("texts", files.write("t.jsonl", objects)));
  EXPECT_THAT(read.left, ElementsAre("x", "y"));
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("1 texts are blank")));
  EXPECT_THAT(error_with(options_for("texts", files.write("e.txt", "\n \n"))),
              HasSubstr("e.txt: no text was found"));
}

TEST(PairFormat, EachSideOfATextKeepsSomeOfItsWordsInOrder) {
  const TestFiles files;
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "a b c d e f g h i j\n";
  PairDataOptions options = options_for("texts", files.write("t.txt", lines + "alone\n"));
  options.keep_words = 0.6;
  const PairDataset data = read_pairs(options);
  size_t characters = 0, same = 0;
  for (size_t i = 0; i < 200; ++i) {
    for (std::string side : {data.left[i], data.right[i]}) {
      side.erase(std::remove(side.begin(), side.end(), ' '), side.end());
      EXPECT_TRUE(std::is_sorted(side.begin(), side.end())) << side;
      EXPECT_FALSE(side.empty());
      characters += side.size();
    }
    same += data.left[i] == data.right[i] ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(characters) / 4000, 0.6, 0.03);
  EXPECT_LT(same, 20u);
  EXPECT_EQ(data.left[200], "alone");
  EXPECT_EQ(data.right[200], "alone");
}

TEST(PairFormat, AShareOfTheSecondTextsChangePlacesAndScoreZero) {
  const TestFiles files;
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += std::to_string(i) + "\n";
  PairDataOptions options = options_for("texts", files.write("t.txt", lines));
  options.mismatched = 0.3;
  const PairDataset data = read_pairs(options);
  EXPECT_TRUE(data.has_scores);
  EXPECT_EQ(std::count(data.score.begin(), data.score.end(), 0.0), 30);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(data.left[i], std::to_string(i));
    EXPECT_EQ(data.score[i], data.left[i] == data.right[i] ? 1 : 0);
  }
  EXPECT_EQ(std::set<std::string>(data.right.begin(), data.right.end()).size(), 100u);
  options.path = files.write("same.txt", "a\na\n");  // no other text to swap with
  options.mismatched = 1;
  EXPECT_THAT(read_pairs(options).score, ElementsAre(1, 1));
}

TEST(PairFormat, TextsAreExcludedBeforeTheirWordsAreDropped) {
  const TestFiles files;
  PairDataOptions options =
      options_for("texts", files.write("t.txt", "one two three four five\nsix seven eight nine\n"));
  options.keep_words = 0.5;
  options.exclude = {files.write("test.txt", "One, two, three, four, five.\n")};
  const PairDataset data = read_pairs(options);
  EXPECT_EQ(data.size(), 1);
  EXPECT_THAT(data.left[0], Not(HasSubstr("o")));
}

TEST(PairFormat, RankingsYieldQueriesWithRelevantDocuments) {
  const TestFiles files;
  PairDataOptions options = write_ranking(files, "q2\td1\t2\nq1\td2\t0\nq1\td1\t1\nq2\td2\t1\n");
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("one", "two", "two"));
  EXPECT_THAT(data.right, ElementsAre("first", "first", "second"));
  EXPECT_THAT(data.group, ElementsAre("q1", "q2", "q2"));
  EXPECT_THAT(data.score, ElementsAre(1, 1, 1));
  EXPECT_EQ(options.file(), options.ranking.qrels);
  options.limit = 2;
  const PairDataset first = read_pairs(options);
  EXPECT_THAT(first.right, ElementsAre("first", "first"));
  EXPECT_EQ(first.group.size(), 2);
  EXPECT_EQ(first.score.size(), 2);
}

TEST(PairFormat, RankingsTellWhatIsMissing) {
  const TestFiles files;
  EXPECT_THAT(error_with(write_ranking(files, "q1\td1\t0\n")),
              HasSubstr("qrels.tsv: no pair was found; expected judgements with a relevance"));
  EXPECT_THAT(error_with(options_for("ranking", "")), HasSubstr("'queries' is missing"));
  PairDataOptions options = write_ranking(files, "q1\td1\t1\nq1\td9\t1\n");
  options.ranking.allow_unknown = true;
  EXPECT_THAT(read_pairs(options).notes, ElementsAre(HasSubstr("1 judgements of unknown")));
}

TEST(PairFormat, OptionsOfAnotherFormatAreRefused) {
  PairDataOptions options = options_for("documents", "d.txt");
  options.left = "question";
  options.negatives = {"n"};
  options.label = "gold";
  EXPECT_THAT(error_with(options),
              HasSubstr("the format documents does not take: left, negatives, label;"));
  options = options_for("texts", "t.txt");
  options.score = "";
  options.documents.negative_distance = 2;
  options.ranking.queries = "q.tsv";
  EXPECT_THAT(error_with(options),
              AllOf(HasSubstr("take: documents.negative_distance, ranking.queries;"),
                    Not(HasSubstr("score"))));
  options = options_for("nli", "n.tsv");
  options.score = "gold";
  options.group = "g";
  EXPECT_THAT(error_with(options), HasSubstr("take: score, group;"));
  EXPECT_THAT(error_with(options_for("ranking", "q.tsv")), HasSubstr("take: path;"));
  EXPECT_THAT(
      error_with(options_for("rows", "t.tsv")),
      HasSubstr("expected one of table, texts, documents, nli, classes, ranking, found 'rows'"));
  EXPECT_THAT(error_with(options_for("nli", "")), HasSubstr("no path"));
}

TEST(PairFormat, OptionsAreReadFromARecipe) {
  PairDataOptions options;
  read_options(parse_config("{path: a.txt, format: documents, limit: 9, documents: {pairs: "
                            "[paragraph_lead, article_lead], hard_negatives: true}}",
                            "r.yaml"),
               options);
  EXPECT_THAT(options.documents.pairs, ElementsAre("paragraph_lead", "article_lead"));
  EXPECT_TRUE(options.documents.hard_negatives);
  EXPECT_EQ(options.limit, 9);
  EXPECT_THROW(read_options(parse_config("{documents: {pairs: [leads]}}", "r.yaml"), options),
               Error);
  EXPECT_THROW(read_options(parse_config("{format: pair}", "r.yaml"), options), Error);
  EXPECT_THROW(read_options(parse_config("{documents: {minimum_words: 0}}", "r.yaml"), options),
               Error);
}

TEST(PairFormat, PairsOfATableAreSkippedAndLimited) {
  const TestFiles files;
  PairDataOptions options = options_for(
      "table",
      files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\nc\td\t2\ne\tf\t3\ng\th\t4\n"));
  options.skip = 1;
  EXPECT_THAT(read_pairs(options).left, ElementsAre("c", "e", "g"));
  options.limit = 2;
  EXPECT_THAT(read_pairs(options).score, ElementsAre(2, 3));
  options.skip = 4;
  EXPECT_THAT(error_with(options), HasSubstr("passes over all of its 4 pairs"));
  options = options_for("texts", files.write("t.txt", "a\n"));
  options.skip = 1;
  EXPECT_THAT(error_with(options), HasSubstr("skip"));
}

TEST(PairFormat, ClassesAndNliTakeSeveralFilesFiltersAndMalformedRows) {
  const TestFiles files;
  PairDataOptions options = options_for(
      "classes", files.write("1.tsv", "sentence\tlabel\tok\na\tgood\t1\n\tbad\t1\nb\t\t1\n"));
  options.paths = {files.write("2.tsv", "label\tok\tsentence\nodd\t0\tc\nbad\t1\td\n")};
  EXPECT_THAT(error_with(options), HasSubstr("1.tsv:3: column 'sentence': expected a text"));
  options.table.on_error = "skip";
  options.filter = {"ok = 1"};
  const PairDataset classes = read_pairs(options);
  EXPECT_THAT(classes.left, ElementsAre("a", "d"));
  EXPECT_THAT(classes.class_names, ElementsAre("bad", "good"));
  EXPECT_EQ(classes.report.malformed, 2);
  EXPECT_EQ(classes.report.filtered, 1);
  options.class_names = {"good"};
  options.limit = 9;
  EXPECT_THAT(read_pairs(options).report.problems.back(),
              HasSubstr("2.tsv:3: column 'label': expected one of the classes good, found 'bad'"));

  options = options_for("nli", files.write("n.tsv",
                                           "sentence1\tsentence2\tlabel\n"
                                           "p\te\t0\np\tn\tmaybe\np\tc\t2\n"));
  EXPECT_THAT(error_with(options), HasSubstr("n.tsv:3: column 'label'"));
  options.table.on_error = "skip";
  EXPECT_THAT(read_pairs(options).negatives[0], ElementsAre("c"));
  options = options_for("documents", "");
  options.filter = {"a = b"};
  options.table.on_error = "skip";
  EXPECT_THAT(error_with(options), HasSubstr("does not take: filter, on_error;"));
}

TEST(PairFormat, DocumentsAndTextsTakeSeveralFiles) {
  const TestFiles files;
  PairDataOptions options = options_for("texts", files.path("*.txt"));
  files.write("a.txt", "one\n");
  files.write("b.txt", "two\n\n");
  EXPECT_THAT(read_pairs(options).left, ElementsAre("one", "two"));
  const std::string article = "It is one of the sentences. It is two of the sentences.\n";
  options = options_for("documents", files.write("d1", article));
  options.paths = {files.write_zstd("d2.zst", article)};
  const PairDataset data = read_pairs(options);
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.report.rows, 2);
  EXPECT_THAT(data.notes[0], HasSubstr("d1 and 1 more file: 2 articles, 2 paragraphs"));
}

TEST(PairFormat, FoldsKeepTheNumbersOfClasses) {
  const TestFiles files;
  PairDataOptions options =
      options_for("classes", files.write("t.tsv", "sentence\tlabel\na\tx\nb\ty\nc\tz\n"));
  for (int64_t fold = 0; fold < 3; ++fold) {
    options.folds = {3, fold, "test", 1};
    const PairDataset data = read_pairs(options);
    ASSERT_EQ(data.size(), 1);
    EXPECT_THAT(data.class_names, ElementsAre("x", "y", "z"));
    EXPECT_EQ(data.left[0][0] - 'a', data.classes[0]);
  }
  PairDataOptions ranking = write_ranking(files, "q1\td1\t1\n");
  ranking.folds.folds = 2;
  EXPECT_THAT(error_with(ranking), HasSubstr("ranking does not take: folds;"));
  PairDataOptions recipe;
  read_options(parse_config("{folds: 5, fold: 2, part: train}", "r.yaml"), recipe);
  EXPECT_EQ(recipe.folds.folds, 5);
  EXPECT_EQ(recipe.folds.fold, 2);
  EXPECT_EQ(recipe.folds.part, "train");
}

TEST(PairFormat, PairsWithATextOfATestSetAreLeftOut) {
  const TestFiles files;
  PairDataOptions options = options_for("table", files.write("t.tsv",
                                                             "sentence1\tsentence2\tscore\tother\n"
                                                             "A man is walking.\tb\t1\tx\n"
                                                             "c\td\t2\tx\n"
                                                             "e\tthe DOG -- is: barking\t3\tx\n"
                                                             "g\th\t4\tone two three four\n"));
  options.negatives = {"other"};
  options.exclude = {files.write("test.tsv", "x\ty\nThe dog is barking!\tc\n"),
                     files.write("test.txt", "a man is walking\none, two, three, four\n")};
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("c"));  // too short to be compared
  EXPECT_THAT(data.right, ElementsAre("d"));
  EXPECT_THAT(data.score, ElementsAre(2));
  EXPECT_THAT(data.negatives[0], ElementsAre("x"));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("3 pairs have a text of the files to exclude; left "
                                                "out, 1 remain")));
}

TEST(PairFormat, FilesToExcludeMayBeOfAnotherForm) {
  const TestFiles files;
  const std::string told = "Le café est fermé";
  PairDataOptions options = options_for(
      "table", files.write("t.csv", "sentence1;sentence2;score\n" + told + ";b;1\nc;d;2\n"));
  options.table.delimiter = ";";
  options.exclude = {files.write("test.tsv", "x\ty\n" + told + "\tc\n"),
                     files.write("short.txt", "a man\n")};
  EXPECT_THAT(read_pairs(options).notes,
              ElementsAre(HasSubstr("test.tsv is separated by 'tab'"),
                          HasSubstr("short.txt: no text of at least 4 words"),
                          HasSubstr("1 pairs have a text of the files to exclude")));
  // Training data in another encoding than the test, and both in it.
  files.write("t.csv", "sentence1;sentence2;score\nLe caf\xe9 est ferm\xe9;b;1\nc;d;2\n");
  options.table.encoding = "latin1";
  options.exclude = {files.path("test.tsv")};
  EXPECT_THAT(read_pairs(options).left, ElementsAre("c"));
  files.write("test.tsv", "x\ty\nLe caf\xe9 est ferm\xe9\tc\n");
  EXPECT_THAT(read_pairs(options).left, ElementsAre("c"));
}

TEST(PairFormat, PairsWithMostOfATextOfATestSetAreLeftOut) {
  const TestFiles files;
  PairDataOptions options = options_for("table", files.path("t.tsv.zst"));
  options.score = "";
  files.write_zstd("t.tsv.zst",
                   "sentence1\tsentence2\tother\n"
                   "A man is walking.\tb\tx\n"
                   "c\tWe saw that a man is walking on the beach today.\tx\n"
                   "d\te\tOn the beach a man is walking.\n"
                   "f\tA man is swimming on the beach.\tx\n");
  options.negatives = {"other"};
  options.exclude = {files.write("test.tsv", "x\ty\na man is walking\tone two three\n"),
                     files.write("more.txt", "A man is walking on a beach\n")};
  EXPECT_THAT(read_pairs(options).left, ElementsAre("c", "d", "f"));
  options.exclude_overlap = 0.6;  // of five shingles of the longer text three, then two
  PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("d", "f"));
  EXPECT_THAT(data.notes,
              ElementsAre(HasSubstr("1 pairs have a text of the files to exclude, 1 more at least "
                                    "0.6 of one (shingles of 3 words); left out, 2 remain")));
  options.exclude_overlap = 0.4;
  data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("f"));
  EXPECT_THAT(data.negatives[0], ElementsAre("x"));
  options.exclude_shingle = 4;  // the test texts are shorter than two of these
  EXPECT_THAT(read_pairs(options).left, ElementsAre("c", "d", "f"));
  options.exclude_shingle = 1;
  options.exclude_overlap = 0.1;
  options.exclude = {files.write("all.txt", "a man is swimming\nA man is walking\nb c d e f\n")};
  EXPECT_THAT(error_with(options), HasSubstr("of one (shingles of 1 words): none remains"));
  options.exclude.clear();
  EXPECT_THAT(error_with(options), HasSubstr("exclude_overlap is set, but `exclude` names no"));
}

}  // namespace
}  // namespace simile
