// SPDX-License-Identifier: Apache-2.0
#include "simile/data/nli_pairs.h"

#include <gmock/gmock.h>

#include "simile/core/file.h"
#include "simile/data/detail/test_files.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHeader = "sentence1\tsentence2\tlabel\n";

std::string write_table(const TestFiles& files, const std::string& rows) {
  return files.write("nli.tsv", kHeader + rows);
}

TEST(NliPairs, EachEntailedHypothesisMeetsAContradictedOne) {
  const TestFiles files;
  const PairDataset data = read_nli_pairs(
      {write_table(files,
                   "p\te1\tentailment\nq\te\tentailment\np\tc1\tcontradiction\np\tn\tneutral\n"
                   "p\te2\tentailment\nq\tn\tneutral\np\te3\tentailment\np\tc2\tcontradiction\n"
                   "r\tc\tcontradiction\nr\te\tentailment\n")},
      {}, 0);
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
  const PairDataset data = read_nli_pairs({path}, {"premise", "hypothesis", "gold"}, 0);
  EXPECT_THAT(data.right, ElementsAre("e"));
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("c")));
}

TEST(NliPairs, RowsWithoutALabelOrATextAreCounted) {
  const TestFiles files;
  const PairDataset data = read_nli_pairs(
      {write_table(
          files, "p\te\tentailment\np\tx\t-\np\ty\t-1\np\t\tcontradiction\np\tc\tcontradiction\n")},
      {}, 0);
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre("c")));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("3 rows without a label or a text were not used")));
}

TEST(NliPairs, ALimitKeepsTheFirstTriples) {
  const TestFiles files;
  const std::string path = write_table(files, "p\ta\t0\np\tb\t0\np\tc\t2\nq\td\t0\nq\te\t2\n");
  EXPECT_THAT(read_nli_pairs({path}, {}, 1).right, ElementsAre("a"));
  EXPECT_THAT(read_nli_pairs({path}, {}, 3).right, ElementsAre("a", "b", "d"));
}

TEST(NliPairs, LabelsMayHaveOtherNames) {
  const TestFiles files;
  const std::string path = write_table(files, "p\ta\tGood\np\tb\tBad\np\tc\tPotential\n");
  const NliColumns columns = {"sentence1", "sentence2", "label", {"Good", "Potential", "Bad"}};
  const PairDataset data = read_nli_pairs({path}, columns, 0);
  EXPECT_THAT(data.right, ElementsAre("a"));
  EXPECT_THAT(data.negatives[0], ElementsAre("b"));
  const NliColumns two = {"sentence1", "sentence2", "label", {"Good", "Bad"}};
  EXPECT_THAT(error_of([&] { read_nli_pairs({path}, two, 0); }), HasSubstr("expected three"));
  const NliColumns other = {"sentence1", "sentence2", "label", {"Good", "Maybe", "Bad"}};
  EXPECT_THAT(error_of([&] { read_nli_pairs({path}, other, 0); }),
              HasSubstr("expected Good, Maybe, Bad (class_names), found 'Potential'"));
}

TEST(NliPairs, BadTablesAreErrors) {
  const TestFiles files;
  EXPECT_THAT(error_of([&] { read_nli_pairs({write_table(files, "p\te\tEntails\n")}, {}, 0); }),
              HasSubstr("nli.tsv:2: column 'label': expected entailment, neutral or contradiction "
                        "(or 0, 1, 2), found 'Entails'"));
  EXPECT_THAT(error_of([&] { read_nli_pairs({write_table(files, "p\te\t0\nq\tc\t2\n")}, {}, 0); }),
              AllOf(HasSubstr("no triple was found"), HasSubstr("2 of 2 premises")));
  EXPECT_THAT(
      error_of([&] {
        read_nli_pairs({write_table(files, "p\te\t0\n")}, {"sentence1", "sentence2", "gold"}, 0);
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
