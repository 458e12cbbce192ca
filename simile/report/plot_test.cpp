// SPDX-License-Identifier: Apache-2.0
#include "simile/report/plot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <regex>

#include "simile/report/detail/run_fixture_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Plot, TicksAreRoundNumbers) {
  EXPECT_THAT(axis_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(axis_ticks(3, 17, 3), ElementsAre(5, 10, 15));
  const std::vector<double> small = axis_ticks(0.00012, 0.00019, 4);
  ASSERT_EQ(small.size(), 4u);
  EXPECT_NEAR(small[0], 0.00012, 1e-12);
  EXPECT_NEAR(small[3], 0.00018, 1e-12);
  EXPECT_THAT(axis_ticks(4, 4, 5), ElementsAre(4));
  EXPECT_THAT(axis_ticks(1, std::nextafter(1.0, 2.0), 5), ElementsAre(1));
  EXPECT_LE(axis_ticks(1, 1 + 1e-8, 5).size(), 20u);
  EXPECT_LE(axis_ticks(0, 1, 1000).size(), 20u);
}

TEST(Plot, ValuesThatDifferByRoundingAloneAreALevelLine) {
  Plot plot;
  plot.last_x = 1;
  plot.lines.push_back({"a", {{0, 0.7}, {1, std::nextafter(0.7, 1.0)}}, 0, false});
  const std::string svg = plot_to_svg(plot);
  EXPECT_LE(count(svg, "class=\"grid\""), 20);
  EXPECT_GE(count(svg, "class=\"grid\""), 2);
}

TEST(Plot, DrawsWhatIsFinite) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Plot plot;
  plot.title = "a<b";
  plot.x_label = "step";
  plot.marks = {{5, "second & last"}};
  plot.lines = {{"one", {{0, 1}, {5, kNan}, {10, 3}}, 0, false}, {"two", {{3, 2}}, 9, true}};
  const std::string svg = plot_to_svg(plot);
  EXPECT_THAT(svg, AllOf(HasSubstr("aria-label=\"a&lt;b\""), HasSubstr("second &amp; last"),
                         HasSubstr("\"curve c0\""), HasSubstr("\"curve c1\""),
                         HasSubstr("two: 2 at 3"), Not(HasSubstr("nan"))));
  EXPECT_EQ(count(svg, "<polyline"), 2);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1);  // the ninth series repeats a colour
  // From the left edge to the right one; the higher value is drawn higher.
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(svg, match, std::regex("points=\"58.0,([0-9.]+) 468.0,([0-9.]+)\"")));
  EXPECT_GT(std::stod(match[1]), std::stod(match[2]));
  plot.lines = {{"rate", {{0, 0}, {1, 1e-4}}, 0, false}};
  EXPECT_THAT(plot_to_svg(plot),
              AllOf(HasSubstr(">5e-5<"), HasSubstr(">1e-4<"), Not(HasSubstr("second"))));
  EXPECT_EQ(plot_to_svg({}), "");
  plot.lines = {{"none", {{1, kNan}}, 0, false}};
  EXPECT_EQ(plot_to_svg(plot), "");
}

TEST(Plot, AxesHaveTicksOfTheirKind) {
  const PlotAxis logarithm{1e-4, 1e-2, 0, 100, true};
  EXPECT_NEAR(logarithm.place(1e-3), 50, 1e-9);
  const std::string ticks = draw_x_ticks(logarithm, 0, 4, "axis", 5);
  EXPECT_EQ(count(ticks, "<line"), 5);
  EXPECT_THAT(ticks, AllOf(HasSubstr(">3e-4<"), HasSubstr(">1e-2<")));
  const PlotAxis names{0, 1, 0, 100, false, {"a", "<b>"}};
  EXPECT_NEAR(names.place(1), 75, 1e-9);
  EXPECT_THAT(draw_y_ticks(names, 0, 50, 5), AllOf(HasSubstr(">a<"), HasSubstr(">&lt;b&gt;<")));
}

TEST(Plot, ADocumentIsWellFormedWhateverItsTitle) {
  EXPECT_THAT(svg_document(10, 20, "a \"b\" & <c>", svg_text(1, 2, "end", "'d'")),
              AllOf(HasSubstr("aria-label=\"a &quot;b&quot; &amp; &lt;c&gt;\">"),
                    HasSubstr(">&#39;d&#39;</text>\n</svg>")));
}

TEST(Histogram, BarsHoldAllValues) {
  Histogram histogram{"lengths", "words", {}};
  EXPECT_EQ(histogram_to_svg(histogram), "");
  histogram.values = {0, 1, 1, 3};
  const std::string svg = histogram_to_svg(histogram);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>0: 1</title>"), HasSubstr("<title>1: 2</title>"),
                         HasSubstr("<title>3: 1</title>")));
  EXPECT_EQ(count(svg, "<rect"), 3);
  histogram.values = {0, 100, 239};
  EXPECT_THAT(histogram_to_svg(histogram), AllOf(HasSubstr("<title>0 to 9: 1</title>"),
                                                 HasSubstr("<title>230 to 239: 1</title>")));
}

}  // namespace
}  // namespace simile
