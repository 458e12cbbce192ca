// SPDX-License-Identifier: Apache-2.0
// `simile report` as a user runs it, and the page as a browser draws it.
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReportTest : public ShellTest {};
class ReportSlow : public ShellTest {};

TEST_F(ReportTest, WritesOnePageOfSeveralRuns) {
  run("a", 1, 0.5, swapped_pairs(3));
  run("b", 1, 0.6, swapped_pairs(4));
  const Outcome outcome = shell("simile report a b --output report.html");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(read_file(path("report.html")),
              AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<title>Simile report: a, b</title>"),
                    HasSubstr("60.00"), HasSubstr("</html>")));
  EXPECT_THAT(shell("simile report a --output - --errors 0").out, StartsWith("<!DOCTYPE html>"));
}

TEST_F(ReportTest, MistakesAreOneMessageAndWriteNothing) {
  write_in("other", "notes.txt", "");
  run("a", 1, 0.5, "");
  expect_error("simile report a other --output report.html", 3, "'other' is not a run");
  EXPECT_FALSE(file_exists(path("report.html")));
  expect_error("simile report a", 2, "--output");
  write_in("a", "metrics.jsonl", "{}\n{}\n");
  expect_error("simile report a --output report.html", 3, "metrics.jsonl:1");
}

// Counts pixels of the colours of the first two runs on a light page, with and without the curves;
// the swatches before the names have the colours too.
TEST_F(ReportSlow, ABrowserDrawsTheCurvesOfEachRun) {
  if (!has_program("chromium")) GTEST_SKIP() << "skipped: no chromium";
  if (!has_program("python3")) GTEST_SKIP() << "skipped: no python3";
  run("a", 1, 0.5, swapped_pairs(3));
  run("b", 1, 0.6, swapped_pairs(4));
  const Outcome drawn = shell(R"(
sed -i 's/:2.0/:3.5/; s/:0.5/:0.9/; s/0.001/0.002/; s/0.75/0.5/' b/metrics.jsonl
simile report a b --output full.html && sed 's/<polyline[^>]*>//g' full.html > bare.html || exit 1
for page in full bare; do
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir=$PWD/profile \
    --window-size=1000,1500 --screenshot=$page.png file://$PWD/$page.html >chromium.log 2>&1 ||
    { cat chromium.log >&2; exit 1; }
  python3 $S/tests/count_colours.py $page.png 0072b2 d55e00 || exit 1
done)");
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  int full_a = 0, full_b = 0, bare_a = 0, bare_b = 0;
  ASSERT_EQ(std::sscanf(drawn.out.c_str(), "%d %d %d %d", &full_a, &full_b, &bare_a, &bare_b), 4)
      << drawn.out;
  EXPECT_GT(bare_a, 100) << drawn.out;
  EXPECT_GT(bare_b, 100) << drawn.out;
  EXPECT_GT(full_a, bare_a + 500) << drawn.out;
  EXPECT_GT(full_b, bare_b + 500) << drawn.out;
}

}  // namespace
}  // namespace simile
