// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Report, JsonHoldsFractionsInOrder) {
  Report report;
  report.task = "sts";
  report.model = "m\"x";
  report.examples = 1379;
  report.metrics = {{"spearman", 0.7312}, {"pearson", 0.5}};
  EXPECT_EQ(report.to_json(),
            "{\"task\":\"sts\",\"model\":\"m\\\"x\",\"examples\":1379,"
            "\"metrics\":{\"spearman\":0.7312,\"pearson\":0.5}}");
  report.name = "stsb";
  report.notes = {"a note"};
  EXPECT_THAT(report.to_json(), HasSubstr("{\"task\":\"sts\",\"name\":\"stsb\",\"model\""));
  EXPECT_THAT(report.to_json(), HasSubstr(",\"notes\":[\"a note\"]}"));
  report.model = "\xFF";
  EXPECT_THAT(report.to_json(), HasSubstr("\xEF\xBF\xBD"));
}

TEST(Report, IsReadBackFromItsJson) {
  Report report;
  report.task = "pairs";
  report.name = "dev";
  report.model = "m";
  report.examples = 3;
  report.metrics = {{"f1", 0.1}, {"ap", std::nan("")}, {"accuracy", 1}};
  report.notes = {"a \"note\""};
  const Report back = parse_report(report.to_json(), "r.json");
  EXPECT_EQ(back.task + " " + back.name + " " + back.model, "pairs dev m");
  EXPECT_EQ(back.examples, 3);
  EXPECT_THAT(back.metrics, ElementsAre(Pair("f1", 0.1), Pair("accuracy", 1)));
  EXPECT_EQ(back.notes, report.notes);
  EXPECT_THROW(parse_report("[1]", "r.json"), Error);
}

TEST(Report, AMeanHasTheMetricsThatAllHave) {
  Report a, b;
  a.task = b.task = "pairs";
  a.model = b.model = "m";
  a.examples = 10;
  b.examples = 30;
  a.metrics = {{"f1", 0.25}, {"mcc", 0.5}, {"threshold", 0.1}};
  b.metrics = {{"threshold", 0.3}, {"f1", 0.75}};
  const Report mean = mean_report({a, b});
  EXPECT_EQ(mean.name, "mean");
  EXPECT_EQ(mean.examples, 40);
  EXPECT_THAT(mean.metrics, ElementsAre(Pair("f1", 0.5)));
  EXPECT_THAT(mean.notes, ElementsAre("mean of 2 sets"));
}

TEST(Report, TableSetsModelsSideBySideTimesHundred) {
  const Report mini{"pairs", "mrpc", "mini", 10, {{"f1", 0.81234}, {"threshold", 0.654321}}, {}};
  const Report bm25{"pairs", "mrpc", "bm25", 10, {{"f1", 1}, {"ap", 0.5}}, {"threshold: oracle"}};
  const Report other{"sts", "", "mini", 3, {{"spearman", -0.1}}, {}};
  EXPECT_EQ(to_table({mini, bm25, other}),
            "mrpc (pairs, 10 examples)\n"
            "                mini     bm25\n"
            "  f1           81.23   100.00\n"
            "  threshold   0.6543        -\n"
            "  ap               -    50.00\n"
            "  bm25: threshold: oracle\n"
            "\n"
            "sts (3 examples)\n"
            "               mini\n"
            "  spearman   -10.00\n");
  EXPECT_EQ(to_table({}), "");
}

TEST(Report, ClassesConfusedStandBelowTheTable) {
  Report report{"classification", "", "mini", 7, {{"accuracy", 5.0 / 7}}, {"a note"}};
  report.confusion.classes = {"no", "perhaps"};
  report.confusion.counts = Matrix<int64_t>(2, 2);
  report.confusion.counts.values = {1, 2, 0, 4};
  EXPECT_THAT(report.to_json(), HasSubstr("},\"confusion\":{\"classes\":[\"no\",\"perhaps\"],"
                                          "\"matrix\":[[1,2],[0,4]]},\"notes\":[\"a note\"]}"));
  EXPECT_EQ(to_table({report}),
            "classification (7 examples)\n"
            "               mini\n"
            "  accuracy    71.43\n"
            "  mini: a note\n"
            "  mini: gold classes in rows, predicted ones in columns\n"
            "                 no  perhaps\n"
            "    no            1        2\n"
            "    perhaps       0        4\n");
  report.confusion = {std::vector<std::string>(21, "c"), Matrix<int64_t>(21, 21)};
  EXPECT_THAT(to_table({report}), ::testing::Not(HasSubstr("gold classes")));
}

TEST(Report, AFigureIsNamedByItsEvaluationAndMetric) {
  const auto parts = [](const std::string& name) {
    const FigureName figure = split_figure_name(name);
    return std::make_pair(figure.evaluation, figure.metric);
  };
  EXPECT_THAT(parts("test.spearman"), Pair("test", "spearman"));
  EXPECT_THAT(parts("loss.all.more"), Pair("loss", "all.more"));
  EXPECT_THAT(parts("test."), Pair("test", ""));
  EXPECT_THAT(parts(".map"), Pair("", "map"));
  EXPECT_THAT(parts("test"), Pair("test", ""));
}

TEST(Report, AMetricIsFoundByNameOrAnErrorNamesThoseThereAre) {
  const Report report{"sts", "", "m", 3, {{"spearman", 0.25}}, {}};
  EXPECT_EQ(report.metric("spearman"), 0.25);
  try {
    report.metric("spearmann");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'spearman'?"));
  }
}

}  // namespace
}  // namespace simile
