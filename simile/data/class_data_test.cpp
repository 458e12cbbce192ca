// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PairDataOptions options_for(const std::string& path) {
  PairDataOptions options;
  options.format = "classes";
  options.path = path;
  return options;
}

std::string error_with(const PairDataOptions& options) {
  return error_of([&] { read_pairs(options); });
}

std::string rows_of(const std::vector<std::string>& labels) {
  std::string text = "sentence\tlabel\n";
  for (size_t i = 0; i < labels.size(); ++i) {
    text += "text " + std::to_string(i) + "\t" + labels[i] + "\n";
  }
  return text;
}

TEST(ClassData, SingleTextsHaveNoRightSide) {
  const TestFiles files;
  const PairDataOptions options = options_for(files.write("t.tsv", rows_of({"b", "a", "b"})));
  const PairDataset data = read_pairs(options);
  EXPECT_EQ(data.size(), 3);
  EXPECT_THAT(data.left, ElementsAre("text 0", "text 1", "text 2"));
  EXPECT_THAT(data.right, IsEmpty());
  EXPECT_THAT(data.score, ElementsAre(1, 1, 1));
  EXPECT_THAT(data.classes, ElementsAre(1, 0, 1));
  EXPECT_THAT(data.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("t.tsv: 2 classes: a, b")));
  EXPECT_EQ(data.report.rows, 3);
  EXPECT_FALSE(options.has_scores());
}

TEST(ClassData, PairsAreReadWhenThereIsNoTextColumn) {
  const TestFiles files;
  PairDataOptions options = options_for(
      files.write("t.csv", "premise,sentence2,gold\nx,y,entailment\nz,w,not_entailment\n"));
  options.left = "premise";
  options.label = "gold";
  EXPECT_THAT(error_with(options), AllOf(HasSubstr("column 'sentence'"), HasSubstr("text: \"\"")));
  options.text = "";
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("x", "z"));
  EXPECT_THAT(data.right, ElementsAre("y", "w"));
  EXPECT_THAT(data.classes, ElementsAre(0, 1));
}

TEST(ClassData, ClassesFoundAreSortedAsNumbersWhereAllAre) {
  const TestFiles files;
  const struct {
    std::vector<std::string> labels, names;
  } cases[] = {
      {{"10", "9", "-1", "9"}, {"-1", "9", "10"}},
      {{"10", "9", "nine"}, {"10", "9", "nine"}},
      {{"1.5", "10", "2"}, {"1.5", "10", "2"}},
      {{"1", "01", "0"}, {"0", "01", "1"}},
  };
  for (const auto& c : cases) {
    const PairDataset data = read_pairs(options_for(files.write("t.tsv", rows_of(c.labels))));
    EXPECT_EQ(data.class_names, c.names);
    for (size_t i = 0; i < c.labels.size(); ++i) {
      EXPECT_EQ(data.class_names[static_cast<size_t>(data.classes[i])], c.labels[i]);
    }
  }
}

TEST(ClassData, ClassesGivenKeepTheirOrder) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write("t.tsv", rows_of({"no", "yes", "no"})));
  options.class_names = {"yes", "no", "maybe"};
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.classes, ElementsAre(1, 0, 1));
  EXPECT_THAT(data.class_names, ElementsAre("yes", "no", "maybe"));
  options.class_names = {"yes", "maybe"};
  EXPECT_THAT(error_with(options),
              HasSubstr("t.tsv:2: column 'label': expected one of the classes yes, maybe, found "
                        "'no'"));
  options.class_names = {"yes", "no", "yes"};
  EXPECT_THAT(error_with(options), HasSubstr("'yes' stands there twice"));
  EXPECT_THAT(error_with(options_for(files.write("t.tsv", rows_of({"a", " "})))),
              HasSubstr("t.tsv:3: column 'label': expected a class, found nothing"));
  EXPECT_THAT(error_with(options_for(files.write("t.tsv", rows_of({"a", ""})))),
              HasSubstr("t.tsv:3: column 'label': expected a class, found nothing"));
}

TEST(ClassData, RowsAreSkippedAndLimited) {
  const TestFiles files;
  PairDataOptions options =
      options_for(files.write("t.tsv", rows_of({"only here", "a", "b", "c", "d"})));
  options.skip = 1;
  options.limit = 2;
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("text 1", "text 2"));
  EXPECT_THAT(data.class_names, ElementsAre("a", "b"));
  options.skip = 5;
  EXPECT_THAT(error_with(options), HasSubstr("passes over all of its 5 rows"));
}

TEST(ClassData, SomeRowsOfEachClassAreDrawnBySeed) {
  const TestFiles files;
  PairDataOptions options =
      options_for(files.write("t.tsv", rows_of({"a", "a", "b", "a", "b", "a", "c", "b", "a"})));
  options.per_class = 2;
  std::set<std::vector<std::string>> draws;
  for (options.draw_seed = 1; options.draw_seed <= 20; ++options.draw_seed) {
    const PairDataset data = read_pairs(options);
    EXPECT_THAT(data.class_names, ElementsAre("a", "b", "c"));
    const auto count = [&](int32_t c) {
      return std::count(data.classes.begin(), data.classes.end(), c);
    };
    EXPECT_EQ(count(0), 2);
    EXPECT_EQ(count(1), 2);
    EXPECT_EQ(count(2), 1);                                           // all it has
    EXPECT_TRUE(std::is_sorted(data.left.begin(), data.left.end()));  // "text 0", "text 1", ...
    EXPECT_EQ(read_pairs(options).left, data.left);
    EXPECT_THAT(data.notes.back(), HasSubstr("5 of 9 rows drawn, 2 of each class at most"));
    draws.insert(data.left);
  }
  EXPECT_GT(draws.size(), 10u);  // of 30 that are possible
  options.per_class = 0;
  EXPECT_THAT(error_with(options), HasSubstr("draw_seed"));
}

TEST(ClassData, TextsOfATestSetAreLeftOutWithTheirClass) {
  const TestFiles files;
  PairDataOptions options = options_for(files.write(
      "t.tsv", "sentence\tlabel\nshort\ta\nA man is walking.\tb\none two three four\tc\n"));
  options.exclude = {files.write("test.txt", "a man is walking\n")};
  const PairDataset data = read_pairs(options);
  EXPECT_THAT(data.left, ElementsAre("short", "one two three four"));
  EXPECT_THAT(data.right, IsEmpty());
  EXPECT_THAT(data.classes, ElementsAre(0, 2));
  EXPECT_THAT(data.score, ElementsAre(1, 1));
}

TEST(ClassData, OptionsBelongToTheirFormat) {
  PairDataOptions options = options_for("t.tsv");
  options.score = "gold";
  options.group = "g";
  options.negatives = {"n"};
  EXPECT_THAT(error_with(options), HasSubstr("the format classes does not take: score, group, "
                                             "negatives;"));
  options = options_for("t.tsv");
  options.format = "table";
  options.text = "body";
  options.label = "gold";
  options.class_names = {"a"};
  EXPECT_THAT(error_with(options),
              HasSubstr("the format table does not take: text, label, class_names;"));
}

TEST(ClassData, OptionsAreReadFromARecipe) {
  PairDataOptions options;
  read_options(parse_config("{path: a.tsv, format: classes, text: \"\", label: gold, "
                            "class_names: [0, 1]}",
                            "r.yaml"),
               options);
  EXPECT_EQ(options.text, "");
  EXPECT_EQ(options.label, "gold");
  EXPECT_THAT(options.class_names, ElementsAre("0", "1"));
}

constexpr const char* kHeader = "sentence1\tsentence2\tlabel\n";

std::string write_table(const TestFiles& files, const std::string& rows) {
  return files.write("nli.tsv", kHeader + rows);
}

PairDataOptions nli_options(const std::string& path,
                            const std::vector<std::string>& class_names = {}) {
  PairDataOptions options;
  options.format = "nli";
  options.path = path;
  options.class_names = class_names;
  return options;
}

TEST(NliPairs, EachEntailedHypothesisMeetsAContradictedOne) {
  const TestFiles files;
  const PairDataset data = read_nli_pairs(nli_options(
      write_table(files,
                  "p\te1\tentailment\nq\te\tentailment\np\tc1\tcontradiction\np\tn\tneutral\n"
                  "p\te2\tentailment\nq\tn\tneutral\np\te3\tentailment\np\tc2\tcontradiction\n"
                  "r\tc\tcontradiction\nr\te\tentailment\n")));
  EXPECT_THAT(data.left, ElementsAre("p", "p", "p", "r"));
  EXPECT_THAT(data.right, ElementsAre("e1", "e2", "e3", "e"));
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("c1", "c2", "c1", "c")));
  EXPECT_THAT(data.score, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(data.group, IsEmpty());
  EXPECT_THAT(data.notes, ElementsAre(AllOf(HasSubstr("nli.tsv: 1 of 3 premises lack"),
                                            HasSubstr("4 triples"))));
}

TEST(NliPairs, LabelsMayBeNumbersAndColumnsHaveOtherNames) {
  const TestFiles files;
  const std::string path = files.write("nli.jsonl",
                                       "{\"premise\":\"p\",\"hypothesis\":\"e\",\"gold\":0}\n"
                                       "{\"premise\":\"p\",\"hypothesis\":\"n\",\"gold\":1}\n"
                                       "{\"premise\":\"p\",\"hypothesis\":\"c\",\"gold\":2}\n");
  PairDataOptions options = nli_options(path);
  options.left = "premise";
  options.right = "hypothesis";
  options.label = "gold";
  const PairDataset data = read_nli_pairs(options);
  EXPECT_THAT(data.right, ElementsAre("e"));
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("c")));
}

TEST(NliPairs, RowsWithoutALabelOrATextAreCounted) {
  const TestFiles files;
  const PairDataset data = read_nli_pairs(nli_options(write_table(
      files, "p\te\tentailment\np\tx\t-\np\ty\t-1\np\t\tcontradiction\np\tc\tcontradiction\n")));
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("c")));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("3 rows without a label or a text were not used")));
}

TEST(NliPairs, ALimitKeepsTheFirstTriples) {
  const TestFiles files;
  const std::string path = write_table(files, "p\ta\t0\np\tb\t0\np\tc\t2\nq\td\t0\nq\te\t2\n");
  PairDataOptions options = nli_options(path);
  options.limit = 1;
  EXPECT_THAT(read_nli_pairs(options).right, ElementsAre("a"));
  options.limit = 3;
  EXPECT_THAT(read_nli_pairs(options).right, ElementsAre("a", "b", "d"));
}

TEST(NliPairs, LabelsMayHaveOtherNames) {
  const TestFiles files;
  const std::string path = write_table(files, "p\ta\tGood\np\tb\tBad\np\tc\tPotential\n");
  const PairDataset data = read_nli_pairs(nli_options(path, {"Good", "Potential", "Bad"}));
  EXPECT_THAT(data.right, ElementsAre("a"));
  EXPECT_THAT(data.negatives[0], ElementsAre("b"));
  EXPECT_THAT(error_of([&] {
                read_nli_pairs(nli_options(path, {"Good", "Bad"}));
              }),
              HasSubstr("expected entailment, neutral and contradiction, found 2 names"));
  EXPECT_THAT(error_of([&] {
                read_nli_pairs(nli_options(path, {"Good", "Maybe", "Bad"}));
              }),
              HasSubstr("expected Good, Maybe, Bad (class_names), found 'Potential'"));
}

TEST(NliPairs, BadTablesAreErrors) {
  const TestFiles files;
  EXPECT_THAT(error_of([&] { read_nli_pairs(nli_options(write_table(files, "p\te\tEntails\n"))); }),
              HasSubstr("nli.tsv:2: column 'label': expected entailment, neutral or contradiction "
                        "(or 0, 1, 2), found 'Entails'"));
  EXPECT_THAT(
      error_of([&] { read_nli_pairs(nli_options(write_table(files, "p\te\t0\nq\tc\t2\n"))); }),
      AllOf(HasSubstr("no triple was found"), HasSubstr("2 of 2 premises")));
  EXPECT_THAT(error_of([&] {
                PairDataOptions options = nli_options(write_table(files, "p\te\t0\n"));
                options.label = "gold";
                read_nli_pairs(options);
              }),
              HasSubstr("no column 'gold'"));
}

TEST(NliPairsSlow, SnliYieldsTriples) {
  const std::string path = SIMILE_SOURCE_DIR "/../shared/data/snli_devtest/dev.tsv";
  if (!file_exists(path)) GTEST_SKIP() << "skipped: no ../shared";
  PairDataOptions options;
  options.path = path;
  options.format = "nli";
  const PairDataset data = read_pairs(options);
  EXPECT_GT(data.size(), 3000);
  EXPECT_EQ(data.report.rows, 9842);
}

}  // namespace
}  // namespace simile
