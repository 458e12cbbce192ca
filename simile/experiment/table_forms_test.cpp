// SPDX-License-Identifier: Apache-2.0
// A table as text, Markdown and a drawing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/experiment/detail/judgement.h"
#include "simile/experiment/reproduction.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TableCell filled_cell(const std::vector<double>& values) {
  TableCell cell;
  cell.values = values;
  for (size_t i = 0; i < values.size(); ++i) cell.seeds.push_back(static_cast<int64_t>(i) + 1);
  cell.folders.assign(values.size(), "run");
  return cell;
}

// The paper has figures for the first column alone.
Reproduction two_rows() {
  Reproduction result;
  result.table.name = "own";
  result.table.columns = {{"MAP", "faq", {"test.map"}, 100}, {"MRR", "faq", {"test.mrr"}, 100}};
  TableRow first, second, bm25;
  first.label = "a | b";
  first.paper = {10.0, std::nullopt};
  second.label = "second";
  second.paper = {12.0, std::nullopt};
  bm25.label = "BM25";
  bm25.baseline = "bm25";
  bm25.paper.resize(2);
  result.table.rows = {first, second, bm25};
  TableCell failed;
  failed.problem = "out of luck";
  failed.has_failed = true;
  TableCell baseline = filled_cell({0.1});
  baseline.folders.clear();
  result.cells = {{filled_cell({0.5, 0.6}), filled_cell({0.7})},
                  {filled_cell({0.8, 0.9}), failed},
                  {baseline, baseline}};
  return result;
}

TEST(TableForms, AColumnHasThePapersFiguresWhereThereAreSome) {
  const Reproduction result = two_rows();
  EXPECT_THAT(result.to_markdown(),
              AllOf(HasSubstr("|  | MAP, paper | MAP, ours | MRR |\n| --- | --- | --- | --- |\n"),
                    HasSubstr("| a \\| b | 10.00 | 55.00 ± 7.07 (2) | 70.00 (1) |\n"),
                    HasSubstr("| second | 12.00 | 85.00 ± 7.07 (2) | failed: out of luck |\n"),
                    HasSubstr("| BM25 |  | 10.00 | 10.00 |\n")));
  EXPECT_THAT(result.to_markdown(),
              HasSubstr("The figures of each seed:\n\n| seed: figure | MAP | MRR |\n"
                        "| --- | --- | --- |\n| a \\| b | 1: 50.0000, 2: 60.0000 | 1: 70.0000 |\n"
                        "| second | 1: 80.0000, 2: 90.0000 |  |\n\nMade by"));
  EXPECT_THAT(result.to_text(), AllOf(HasSubstr("        MAP                      MRR\n"),
                                      HasSubstr("        paper  ours              ours\n"),
                                      HasSubstr("a | b   10.00  55.00 ± 7.07 (2)  70.00 (1)\n")));
  EXPECT_THAT(result.to_json(), HasSubstr("\"failed\": true"));
}

TEST(TableForms, IntervalsStandBehindTheirFigures) {
  Reproduction result = two_rows();
  result.asked = "own";
  result.options.intervals = true;
  result.cells[0][0].interval = Interval{0.51, 0.59};
  result.table.best_of_seeds = true;
  result.cells[0][0].best = 0.6;
  result.cells[0][1].without_interval = "a run has no predictions of 'test'";
  EXPECT_THAT(
      result.to_markdown(),
      AllOf(
          HasSubstr("finished) [95 % interval over the test examples], best: the seed that is best "
                    "on dev, as the paper's figures are.\n"),
          HasSubstr(
              "| a \\| b | 10.00 | 55.00 ± 7.07 (2) [51.00, 59.00], best 60.00 | 70.00 (1) |\n"),
          HasSubstr("- a | b, MRR: no interval: a run has no predictions of 'test'\n"),
          HasSubstr("--intervals`")));
  EXPECT_THAT(result.to_json(), HasSubstr("\"interval\": {"));
  EXPECT_THAT(two_rows().to_json(), Not(HasSubstr("\"interval\"")));
}

TEST(TableForms, ClaimsStandInAMatrixWithTheirCorrectedVerdicts) {
  Reproduction result = two_rows();
  result.table.best_of_seeds = true;
  result.cells[0][0].best = 0.6;
  result.table.claims = {{"Second wins", "second", "a | b"}};
  JudgedClaim on_map, on_mrr;
  on_map.seeds = on_mrr.seeds = 2;
  on_map.difference = 0.3;
  on_map.t_test = TTest{9, 1, 0.01};
  on_map.permutation = PermutationTest{0.5, 4, true};
  on_map.interval = Interval{0.2, 0.4};
  on_mrr.difference = -0.1;
  on_mrr.column = 1;
  JudgedClaim unjudged;
  unjudged.claim = 1;
  unjudged.remark = "no seed was finished by both rows";
  result.table.claims.push_back({"BM25 wins", "BM25", "second"});
  result.table.claims.push_back({"BM25 loses", "second", "BM25"});
  result.claims = {on_map, on_mrr, unjudged, unjudged, unjudged};
  result.claims[3].column = 1;
  result.claims[4].claim = 2;
  std::vector<Reproduction> tables = {result};
  judge_claims(tables);
  EXPECT_THAT(
      tables[0].to_markdown(),
      AllOf(HasSubstr("| 55.00 ± 7.07 (2), best 60.00 |"),
            HasSubstr("p corrected for 1 test (Benjamini-Hochberg)"),
            HasSubstr("| claim | MAP | MRR |\n| --- | --- | --- |\n"
                      "| Second wins | +30.00 [+20.00, +40.00] **holds** | -10.00 undecided |\n\n"),
            HasSubstr("\n\nUndecided, because no seed was finished by both rows: BM25 wins; BM25 "
                      "loses (MAP).\n"),
            HasSubstr("corrected 0.0100 (Benjamini-Hochberg), 0.0100 (Holm)")));
  const std::string text = tables[0].to_text();
  EXPECT_THAT(text, HasSubstr("Undecided, because no seed was finished by both rows: BM25 wins;"));
  EXPECT_THAT(text, Not(HasSubstr("BM25 loses (MAP): ")));  // no line of its own
}

TEST(TableForms, AClaimSaysThatLowerIsBetter) {
  Reproduction result = two_rows();
  result.asked = "own";
  result.options.device = "cuda";
  result.table.claims = {{"Second wins", "second", "a | b"}};
  JudgedClaim judged;
  judged.seeds = 2;
  judged.difference = -0.3;
  result.claims = {judged};
  EXPECT_THAT(result.to_text(), HasSubstr("Second wins (MAP): -30.00, 2 seeds\n"));
  EXPECT_THAT(result.to_json(), Not(HasSubstr("\"better\"")));
  result.claims[0].better = Better::kLower;
  EXPECT_THAT(result.to_text(), HasSubstr("Second wins (MAP): -30.00, 2 seeds; lower is better\n"));
  EXPECT_THAT(result.to_json(),
              AllOf(HasSubstr("\"better\": \"lower\""),
                    HasSubstr("\"command\": \"simile reproduce own --device cuda --runs 0\"")));
}

TEST(TableForms, ADrawingShowsRowsAgainstTheMeanOfRows) {
  Reproduction result = two_rows();
  result.table.title = "a \"title\"";
  const std::string svg = result.to_svg();
  EXPECT_THAT(svg, HasSubstr("aria-label=\"a &quot;title&quot;\">"));
  // 10 and 12 less 11; 55 and 85 less 70; BM25, at 10, lies beyond them.
  EXPECT_THAT(svg, AllOf(HasSubstr("means: paper 11, ours 70"), HasSubstr("<title>paper 10<"),
                         HasSubstr("<title>ours 55.000 ± 7.071<"), HasSubstr("← 10"),
                         Not(HasSubstr("<title>ours 10.000"))));
}

TEST(TableForms, TheOrderOfFewRowsIsNotDecided) {
  const Reproduction result = two_rows();
  JudgedOrder order;
  order.rows = 4;
  order.tau = 1;
  order.p = 1.0 / 12;
  order.same = 6;
  EXPECT_EQ(
      order_line(result, order),
      "MAP: the paper's order of rows: 4 rows are too few to decide (Kendall's tau +1.00, p = "
      "0.0833); 6 of 6 pairs stand as in the paper (0 of them with p < 0.05), 0 the other way (0)");
  order.rows = 5;
  order.p = 1.0 / 60;
  order.verdict = ClaimVerdict::kHolds;
  EXPECT_THAT(order_line(result, order),
              HasSubstr("rows: holds (Kendall's tau +1.00, p = 0.0167)"));
}

}  // namespace
}  // namespace simile
