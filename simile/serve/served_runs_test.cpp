// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/served_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/report/detail/run_fixture_test.h"
#include "simile/serve/detail/serve_fixture_test.h"
#include "simile/serve/service.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

ServeClock::time_point soon() { return ServeClock::now() + std::chrono::minutes(1); }

class ServedRunsTest : public testing::Test {
 protected:
  ServedRunsTest() {
    files_.run("runs/faq", 7, 0.75, swapped_pairs(4));
    files_.run("runs/several/run-1", 1, 0.7, "");
    files_.run("runs/several/run-2", 2, 0.8, "");
    files_.write_in("runs/no run", "notes.txt", "-");
    files_.write_in("runs/.hidden", "run.json", "{}");
    files_.write_in("outside", "run.json", "{}");
    runs_ = std::make_unique<ServedRuns>(files_.path("runs"));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const ListedRun& run : runs_->list().runs) names.push_back(run.name);
    return names;
  }

  const RunFixture files_;
  std::unique_ptr<ServedRuns> runs_;
};

TEST_F(ServedRunsTest, ListsFoldersThatTrainingWrote) {
  EXPECT_THAT(names(), UnorderedElementsAre("faq", "several/run-1", "several/run-2"));
  files_.write_in("runs/new", "metrics.jsonl", "");
  const RunListing listing = runs_->list();
  ASSERT_EQ(listing.runs.size(), 4u);
  EXPECT_EQ(listing.left_out, 0);
  for (const ListedRun& run : listing.runs) EXPECT_EQ(run.finished, run.name != "new");
}

TEST_F(ServedRunsTest, ReadsCurvesRecipeAndResults) {
  const auto details = runs_->read("faq", soon());
  EXPECT_TRUE(details->run.finished);
  EXPECT_THAT(details->problems, testing::IsEmpty());
  EXPECT_EQ(details->log.steps, 2);
  EXPECT_EQ(details->log.training[0].name, "loss");
  EXPECT_EQ(details->files.seed, 7);
  EXPECT_EQ(details->files.reports.size(), 2u);
  EXPECT_EQ(runs_->read("faq", soon()), details);
  files_.write_in("runs/faq", "metrics.jsonl",
                  R"({"stage":"mse","step":9,"epoch":1,"loss":0.5}
{"stage":"mse","ste)");
  const auto changed = runs_->read("faq", soon());
  EXPECT_NE(changed->run.version, details->run.version);
  EXPECT_EQ(changed->log.steps, 9);
  EXPECT_THAT(changed->problems, testing::IsEmpty());
}

TEST_F(ServedRunsTest, OnlyNamesOfTheListingAreFound) {
  for (const char* name : {"", ".", "..", "../outside", "/etc", "several", "no run", ".hidden",
                           "faq/", "faq/../faq", "./faq", "several/run-3", "faq/predictions"}) {
    EXPECT_THAT(refusal_of(Refusal::kNotFound, [&] { runs_->read(name, soon()); }),
                HasSubstr("no such run"))
        << name;
  }
  EXPECT_THROW(runs_->read(std::string("faq\0", 4), soon()), RequestError);
}

TEST_F(ServedRunsTest, DamagedFilesAreToldAndTheOthersShown) {
  files_.write_in("runs/faq", "results.json", "{\"seconds\":");
  const auto details = runs_->read("faq", soon());
  ASSERT_EQ(details->problems.size(), 1u);
  EXPECT_THAT(details->problems[0], testing::StartsWith("faq/results.json"));
  EXPECT_EQ(details->log.steps, 2);
  EXPECT_THAT(details->files.recipe, HasSubstr("epochs"));
  files_.write_in("runs/faq", "metrics.jsonl", "\n{}\n[[[\n");
  files_.write_in("runs/faq", "run.json", std::string(300, '['));
  const auto worse = runs_->read("faq", soon());
  EXPECT_EQ(worse->problems.size(), 3u);
  for (const std::string& problem : worse->problems) {
    EXPECT_THAT(problem, Not(HasSubstr(files_.path("")))) << problem;
  }
}

TEST_F(ServedRunsTest, WhatIsNoRegularFileIsNotRead) {
  const std::string folder = files_.path("runs/pipe");
  std::filesystem::create_directories(folder);
  ASSERT_EQ(mkfifo((folder + "/metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(names(), Not(testing::Contains("pipe")));
  files_.write_in("runs/pipe", "run.json", "{}");
  EXPECT_EQ(runs_->read("pipe", soon())->log.steps, 0);
}

TEST_F(ServedRunsTest, FilesThatAreTooLargeAreToldNotRead) {
  const std::string log = files_.path("runs/faq/metrics.jsonl");
  std::filesystem::resize_file(log, kMostLogBytes + 1);  // holes
  const auto details = runs_->read("faq", soon());
  EXPECT_THAT(details->problems, ElementsAre(HasSubstr("are not read")));
  EXPECT_EQ(details->files.reports.size(), 2u);
}

TEST_F(ServedRunsTest, RunsAreFoundAtAnyDepth) {
  files_.run("runs/table/row/set/run-1", 1, 0.7, "");
  files_.run("runs/tune/trial-3", 1, 0.7, "");
  EXPECT_THAT(names(), UnorderedElementsAre("faq", "several/run-1", "several/run-2",
                                            "table/row/set/run-1", "tune/trial-3"));
  EXPECT_EQ(runs_->read("table/row/set/run-1", soon())->files.seed, 1);
}

TEST_F(ServedRunsTest, TheReportHasTheWorstErrors) {
  const std::string html = runs_->report({"faq"}, {}, soon());
  EXPECT_THAT(html, HasSubstr("<ol class=\"errors\">\n<li><p class=\"meta\">gold 4,"));
  EXPECT_THAT(html, Not(HasSubstr(files_.path(""))));
  EXPECT_THAT(runs_->report({"several/run-1"}, {}, soon()), HasSubstr("No predictions:"));
  HtmlReportOptions without;
  without.errors = 0;
  EXPECT_THAT(runs_->report({"faq"}, without, soon()), Not(HasSubstr("left 4")));
  files_.write_in("runs/faq", "predictions/test.tsv", "left\tright\n1\n");
  EXPECT_THAT(runs_->report({"faq"}, {}, soon()),
              HasSubstr("<p class=\"missing\">faq/predictions/test.tsv"));
}

TEST_F(ServedRunsTest, TheReportShowsRunsSideBySideWithTheirProblems) {
  files_.write_in("runs/several/run-2", "results.json", "{\"seconds\":");
  const std::string html = runs_->report({"faq", "several/run-2"}, {}, soon());
  EXPECT_THAT(
      html, AllOf(HasSubstr("<title>Simile report: faq, several/run-2</title>"), HasSubstr("75.00"),
                  HasSubstr("\"curve c1\""), HasSubstr("several/run-2/results.json"),
                  Not(HasSubstr(files_.path("")))));
  EXPECT_THAT(refusal_of(Refusal::kNotFound,
                         [&] {
                           runs_->report({"faq", "gone"}, {}, soon());
                         }),
              HasSubstr("no such run"));
}

TEST_F(ServedRunsTest, AFolderThatIsNoneIsRefused) {
  EXPECT_THROW(ServedRuns(files_.path("nowhere")), Error);
}

ServedModel model_with_runs(const std::string& folder) {
  ServedModel model;
  model.names = {"tiny"};
  model.encoder = tiny_encoder();
  model.runs = std::make_shared<ServedRuns>(folder);
  return model;
}

class RunRoutesTest : public ServedRunsTest {
 protected:
  Reply send(const std::string& method, const std::string& path, const std::string& body = "") {
    Call call;
    call.method = method;
    call.path = path;
    call.body = body;
    call.content_type = "application/json";
    call.deadline = soon();
    return service_.answer(call);
  }
  Reply get(const std::string& path) { return send("GET", path); }
  json read(const std::string& path) {
    const Reply reply = get(path);
    EXPECT_EQ(reply.status, 200) << path << reply.body;
    return json::parse(reply.body);
  }

  Service service_{model_with_runs(files_.path("runs")), {}, ApiKeys(), silent_events()};
};

TEST_F(RunRoutesTest, GiveWhatThePageShows) {
  EXPECT_EQ(read("/info")["runs"], true);
  EXPECT_EQ(read("/runs")["runs"].size(), 3u);
  const Reply run = get("/runs/faq");
  EXPECT_EQ(run.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(run.headers, testing::Contains(testing::Pair("Content-Security-Policy",
                                                           HasSubstr("default-src 'none'"))));
  EXPECT_THAT(
      run.body,
      AllOf(testing::StartsWith("<!DOCTYPE html>"), HasSubstr("<td class=\"number\">7</td>"),
            HasSubstr("&quot;epochs&quot;: 2"), HasSubstr("<desc>faq: 0.25 at step 2</desc>"),
            HasSubstr("<figcaption>test.spearman<"), HasSubstr("bm25")));
  EXPECT_THAT(get("/runs/several/run-2").body, HasSubstr("<td class=\"number\">2</td>"));
  EXPECT_EQ(get("/runs/several").status, 404);
  EXPECT_EQ(get("/runs/../outside").status, 404);
}

TEST_F(RunRoutesTest, ReportSeveralRunsAsAsked) {
  const Reply reply = send("POST", "/runs",
                           R"({"runs":["faq","several/run-1"],"curves":"main","errors":0,)"
                           R"("first_step":2,"smooth":5})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, AllOf(HasSubstr("faq: 0.25 at step 2; several/run-1: 0.25 at step 2"),
                                HasSubstr("data-x=\"2 3 "), Not(HasSubstr("learning rate")),
                                Not(HasSubstr("left 4"))));
  EXPECT_EQ(send("POST", "/runs", R"({"runs":["faq","gone"]})").status, 404);
  EXPECT_EQ(send("POST", "/runs", R"({"curves":"main"})").status, 422);
  EXPECT_EQ(send("POST", "/runs", R"({"runs":["faq"],"smooth":-1})").status, 422);
}

TEST_F(RunRoutesTest, CompareTwoRuns) {
  files_.run("runs/good", 2, 1 - 12.0 / 990, swapped_pairs(4));
  files_.run("runs/better", 3, 1, scored_pairs([](int i) { return i; }));
  const Reply reply = send("POST", "/runs/differences", R"({"a":"good","b":"better"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json evaluation = json::parse(reply.body)["evaluations"][0];
  EXPECT_EQ(evaluation["name"], "test");
  EXPECT_EQ(evaluation["examples"], 10);
  const json metric = evaluation["metrics"][0];
  EXPECT_EQ(metric["name"], "spearman");
  EXPECT_EQ(metric["is_fraction"], true);
  EXPECT_NEAR(metric["difference"].get<double>(), 12.0 / 990, 1e-6);
  ASSERT_EQ(metric.count("low"), 1u) << reply.body;
  EXPECT_LT(metric["low"].get<double>(), metric["high"].get<double>());
  const Reply without = send("POST", "/runs/differences", R"({"a":"faq","b":"several/run-1"})");
  EXPECT_EQ(json::parse(without.body)["evaluations"][0]["metrics"][0].count("low"), 0u);
  EXPECT_EQ(send("POST", "/runs/differences", R"({"a":"faq","b":"gone"})").status, 404);
  EXPECT_EQ(send("POST", "/runs/differences", R"({"a":"faq"})").status, 422);
  files_.write_in("runs/faq", "results.json", "{");
  const Reply damaged = send("POST", "/runs/differences", R"({"a":"faq","b":"better"})");
  EXPECT_EQ(damaged.status, 422);
  EXPECT_THAT(damaged.body, AllOf(HasSubstr("faq"), Not(HasSubstr(files_.path("")))));
}

TEST_F(RunRoutesTest, GiveTheWorstErrorsOfEachKind) {
  EXPECT_THAT(get("/runs/faq").body, HasSubstr("<p class=\"text\">left 4</p>"
                                               "<p class=\"text\">right text 4</p>"));
  files_.write_in("runs/faq", "results.json",
                  R"({"seconds":1,"reports":[
  {"task":"classification","name":"c","model":"own","examples":2,"metrics":{"accuracy":0.5}},
  {"task":"ranking","name":"r","model":"own","examples":2,"metrics":{"map":0.5}}]})");
  files_.write_in("runs/faq", "predictions/c.tsv",
                  "text\tgold\tpredicted\tprobability\none\ta\tb\t0.75\ntwo\ta\ta\t0.9\n");
  files_.write_in("runs/faq", "predictions/r.trec", "1 Q0 a 1 0.5 x\n");
  files_.write_in("runs/faq", "predictions/r.queries.tsv",
                  "query_id\tquery\tmap\tfirst_relevant\ttop_id\ttop_text\trelevant_id\t"
                  "relevant_text\n1\twho\t0.25\t4\ta\tText a\tb\tText b\n");
  EXPECT_THAT(get("/runs/faq").body,
              AllOf(HasSubstr("predicted <b>b</b>"), HasSubstr("<b>query 1</b> who"),
                    HasSubstr("first relevant document at rank 4")));
}

}  // namespace
}  // namespace simile
