// SPDX-License-Identifier: Apache-2.0
#include "simile/report/html_report.h"

#include <gmock/gmock.h>

#include "simile/report/detail/html.h"
#include "simile/report/detail/run_fixture_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Html, EscapesAndShortens) {
  EXPECT_EQ(escape_html("<b a=\"x\">&'</b>"), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;");
  EXPECT_EQ(escape_html(std::string("a\0b\x07\n\xFF", 6)), "a\uFFFDb\uFFFD\n\uFFFD");
  EXPECT_EQ(escape_shortened("häuser", 2), "hä…");
  EXPECT_EQ(escape_shortened("häuser", 6), "häuser");
  EXPECT_EQ(escape_shortened("<<<", 2), "&lt;&lt;…");
}

TEST(HtmlReport, ShowsRunsSideBySideAndNeedsNothingElse) {
  const RunFixture files;
  const std::string a = files.run("a", 1, 0.5, swapped_pairs(3));
  files.run("b/run-1", 1, 0.6, swapped_pairs(1));
  files.run("b/run-2", 2, 0.8, swapped_pairs(2));
  const std::string html = html_report({a, files.path("b")}, {});
  EXPECT_THAT(html, AllOf(HasSubstr("<h3>test <small>sts, 10 examples"),
                          HasSubstr("<td class=\"number\">50.00</td>"),
                          HasSubstr("<strong>70.00</strong> \u00b1 14.14"),
                          HasSubstr("<th scope=\"row\">bm25</th><td class=\"number\">12.50</td>"),
                          HasSubstr("b run-2"), HasSubstr("(2 seeds)")));
  for (const char* part : {"loss", "gradient norm", "learning rate", "test.spearman",
                           "test: left texts", "test: right texts"}) {
    EXPECT_THAT(html, HasSubstr(std::string("<figcaption>") + part)) << part;
  }
  EXPECT_EQ(count(html, "<polyline"), 4 * 3);
  EXPECT_EQ(count(html, "<tr class=\"baseline\">"), 1);
  // Only the recipes' names differ.
  EXPECT_THAT(html, AllOf(HasSubstr("<code>name</code>"), Not(HasSubstr("<code>seed</code>"))));
  // Pairs 3 and 4 changed places in the first run.
  EXPECT_THAT(html, HasSubstr("<p class=\"text\">left 3</p><p class=\"text\">right text 3</p>"));
  EXPECT_THAT(html,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<link")), Not(HasSubstr("src=")),
                    Not(HasSubstr("@import")), Not(HasSubstr("url("))));
  EXPECT_EQ(count(html, "http"), count(html, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(HtmlReport, OfSeveralSeedsTogetherWithBm25ShowsTheMean) {
  const RunFixture files;
  for (const int seed : {1, 2}) {
    const std::string folder = fmt::format("b/run-{}", seed);
    files.run(folder, seed, 0.6, "");
    const std::string report =
        R"({{"task":"sts","name":"test","model":"{}","examples":10,"metrics":{{"spearman":{}}}}})";
    files.write_in(folder, "results.json",
                   fmt::format("{{\"reports\":[{},{}]}}", fmt::format(report, "own", 0.25),
                               fmt::format(report, "hybrid:own", 0.25 * seed)));
  }
  EXPECT_THAT(html_report({files.path("b")}, {}),
              HasSubstr("<th scope=\"row\">hybrid:own</th>"
                        "<td class=\"number\"><strong>37.50</strong> \u00b1 17.68</td>"));
}

TEST(HtmlReport, EscapesAllThatComesFromFiles) {
  const RunFixture files;
  const std::string evil = "<script>alert(1)</script>";
  std::string pairs = swapped_pairs(3);
  pairs.replace(pairs.find("left 3"), 6, evil);
  files.run("x<y", 1, 0.5, pairs);
  files.write_in("x<y", "run.json",
                 "{\"name\":\"" + evil + "\",\"environment\":{\"" + evil + "\":\"" + evil + "\"}}");
  files.write_in("x<y", "metrics.jsonl",
                 "{\"stage\":\"<a>\",\"step\":1,\"loss\":1,\"" + evil +
                     "\":2}\n{\"stage\":\"<b>\",\"step\":1,\"loss\":1}\n");
  const std::string html = html_report({files.path("x<y")}, {});
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;alert(1)"),
                          Not(HasSubstr("x<y")), HasSubstr("&lt;b&gt;</text>")));
}

TEST(HtmlReport, TheVerdictStandsBelowTheRunsWithWhatWentWrong) {
  const RunFixture files;
  const std::string a = files.run("a", 1, 0.5, "");
  EXPECT_THAT(html_report({a}, {}), Not(HasSubstr("verdict:")));
  files.keep_start("a");
  EXPECT_THAT(html_report({a}, {}),
              AllOf(HasSubstr("<p class=\"missing\"><span"),
                    HasSubstr("verdict: test &lt;spearman&gt; 50 -&gt; 50</p>"),
                    HasSubstr("<li>a rate &lt; 0</li>")));
}

TEST(HtmlReport, ARunInProgressIsShownAsFarAsItIs) {
  const RunFixture files;
  files.write_in("new", "run.json", "{\"seed\":3}");
  EXPECT_THAT(
      html_report({files.path("new")}, {}),
      AllOf(HasSubstr("not finished: no metrics.jsonl, results.json"), HasSubstr("No results yet"),
            HasSubstr("No metrics.jsonl"), HasSubstr("No predictions")));
  files.write_in("new", "metrics.jsonl", "{\"stage\":\"s\",\"step\":1,\"loss\":1}\n{\"stage");
  EXPECT_THAT(html_report({files.path("new")}, {}),
              AllOf(HasSubstr("not finished: no results.json"), HasSubstr("<circle")));
  files.write_in("other", "notes.txt", "");
  EXPECT_THAT(error_of([&] { html_report({files.path("other")}, {}); }), HasSubstr("is not a run"));
  EXPECT_THAT(error_of([] { html_report({}, {}); }), HasSubstr("at least one run"));
}

TEST(HtmlReport, TheNameOfASetDoesNotChangeTheUnitOfItsMetric) {
  const RunFixture files;
  files.write_in(
      "r", "metrics.jsonl",
      R"({"stage":"s","step":2,"epoch":1.0,"evaluation":"loss-set","metrics":{"spearman":0.75}})"
      "\n");
  EXPECT_THAT(html_report({files.path("r")}, {}), HasSubstr(": 75 at 2<"));
}

TEST(HtmlReport, OptionsChooseAndSmoothCurves) {
  const RunFixture files;
  std::string log;
  for (const int step : {1, 2, 3, 4}) {
    log += fmt::format(R"({{"stage":"s","step":{},"loss":{},"learning_rate":0.5}})"
                       "\n",
                       step, step % 2);
  }
  files.write_in("r", "metrics.jsonl",
                 log + R"({"stage":"s","step":4,"evaluation":"dev","metrics":{"map":0.5,"mrr":0.5}}
)");
  HtmlReportOptions options;
  options.curves = "main";
  options.smooth = 1;
  const std::string html = html_report({files.path("r")}, options);
  EXPECT_THAT(html, AllOf(HasSubstr("<figcaption>loss<"), HasSubstr("<figcaption>dev.map<"),
                          Not(HasSubstr("learning rate")), Not(HasSubstr("dev.mrr"))));
  EXPECT_THAT(html, HasSubstr("data-x=\"0 4 58 468\" data-y=\"0 1.0"));  // the ends stay
  options.first_step = 2;
  options.last_step = 3;
  EXPECT_THAT(html_report({files.path("r")}, options), HasSubstr("<desc>r: 1 at step 3</desc>"));
}

TEST(HtmlReport, AFolderOfRunsShowsAllOfThem) {
  const RunFixture files;
  files.run("runs/a", 1, 0.5, "");
  files.run("runs/table/row/run-1", 1, 0.6, "");
  EXPECT_THAT(html_report({files.path("runs")}, {}),
              AllOf(HasSubstr("<title>Simile report: a, table/row</title>"), HasSubstr("60.00")));
}

TEST(HtmlReport, OfTheRecipesShowsWhatDiffers) {
  const RunFixture files;
  files.write_in("a", "run.json", R"({"seed":1,"stages":[{"loss":{"name":"mse"},"epochs":2}]})");
  files.write_in("b", "run.json",
                 R"({"seed":1,"stages":[{"loss":{"name":"bsc"},"epochs":2},{"epochs":3}]})");
  EXPECT_THAT(
      html_report({files.path("a"), files.path("b")}, {}),
      AllOf(HasSubstr("<code>stages.0.loss.name</code></th><td>mse</td><td>bsc</td>"),
            HasSubstr("<code>stages.1</code></th><td>\u2013</td><td>{&quot;epochs&quot;:3}"),
            Not(HasSubstr("<code>seed")), Not(HasSubstr("<code>stages.0.epochs"))));
  EXPECT_THAT(html_report({files.path("a"), files.path("a")}, {}),
              HasSubstr("The recipes are the same"));
}

TEST(HtmlReport, ErrorsOfRankingsAndClassesHaveTheirTexts) {
  const RunFixture files;
  files.run("r", 1, 0.5, "");
  files.write_in("r", "results.json",
                 R"({"reports":[{"task":"ranking","name":"faq","model":"m","examples":2,"metrics":
{"map":0.5}},{"task":"classification","name":"mood","model":"m","examples":1,"metrics":{"accuracy":0}}]})");
  files.write_in(
      "r", "predictions/faq.queries.tsv",
      "query_id\tquery\tmap\tfirst_relevant\ttop_id\ttop_text\trelevant_id\trelevant_text\n"
      "q1\thow do I pay\t0.1\t10\td1\tno answer\td2\tby card\n"
      "q2\teasy\t1\t1\td3\tyes\td3\tyes\n"
      "q3\tlost\t0\t0\td1\tno answer\t\t\n");
  files.write_in("r", "predictions/mood.tsv",
                 "text\tgold\tpredicted\tprobability\nwhat a day\tgood\tbad\t0.875\n");
  const std::string html = html_report({files.path("r")}, {});
  EXPECT_THAT(html, AllOf(HasSubstr("first relevant document at rank 10"),
                          HasSubstr("<b>query q1</b> how do I pay"), HasSubstr("<b>top d1</b>"),
                          HasSubstr("<b>relevant d2</b> by card"),
                          HasSubstr("no relevant document found"), Not(HasSubstr("query q2"))));
  EXPECT_THAT(html, HasSubstr("gold <b>good</b>, predicted <b>bad</b> with probability 0.875"));
  EXPECT_LT(html.find("query q3"), html.find("query q1"));
  HtmlReportOptions options;
  options.errors = 1;
  EXPECT_THAT(html_report({files.path("r")}, options), Not(HasSubstr("query q1")));
}

}  // namespace
}  // namespace simile
