// SPDX-License-Identifier: Apache-2.0
#include "simile/data/class_data.h"

#include <gmock/gmock.h>

#include "simile/data/detail/test_files.h"
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

}  // namespace
}  // namespace simile
