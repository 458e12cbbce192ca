// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/model/embedding_store.h"
#include "simile/model/safetensors.h"
#include "simile/report/detail/run_fixture_test.h"
#include "simile/report/run_log.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Report report_of(const std::string& model, double spearman) {
  Report report;
  report.task = "sts";
  report.name = "test";
  report.model = model;
  report.examples = 10;
  report.metrics = {{"spearman", spearman}, {"pearson", std::nan("")}};
  report.notes = {"a \"note\""};
  return report;
}

constexpr const char* kRecipe = R"({"name":"small","seed":7})";

TEST(RunFolder, WhatIsWrittenIsReadBack) {
  const TestFiles files;
  const std::string path = files.path("run");
  {
    RunFolder folder(path, false, false);
    folder.write_run(kRecipe);
    StepResult step;
    step.objective = "nli";
    step.loss = 2;
    step.values = {{"temperature", 0.5}};
    folder.log_evaluation("one", 0, 0, report_of("small", 0.25));
    folder.log_step("one", 1, 0.5, step);
    folder.flush_metrics();
    Verdict verdict;
    verdict.start_kept = 1;
    verdict.causes = {"a \"cause\""};
    folder.write_results({report_of("small", 0.75), report_of("bm25", 0.5)}, 12.5, verdict);
  }
  const RunSet set = read_run_set(path);
  ASSERT_EQ(set.runs.size(), 1u);
  const RunFiles& run = set.runs[0];
  EXPECT_EQ(run.seed, 7);
  EXPECT_THAT(run.recipe, HasSubstr("\"small\""));
  EXPECT_THAT(run.environment, AllOf(Contains(Key("simile")), Contains(Key("revision"))));
  EXPECT_EQ(run.seconds, 12.5);
  EXPECT_THAT(run.missing, IsEmpty());
  EXPECT_EQ(run.verdict.line, Verdict().to_line());
  EXPECT_EQ(run.verdict.start_kept, 1);
  EXPECT_THAT(run.verdict.causes, ElementsAre("a \"cause\""));
  EXPECT_EQ(set.verdict.line, run.verdict.line);
  ASSERT_EQ(run.reports.size(), 2u);
  EXPECT_EQ(run.reports[0].model, "small");
  EXPECT_EQ(run.reports[0].examples, 10);
  EXPECT_THAT(run.reports[0].metrics, ElementsAre(Pair("spearman", 0.75)));
  EXPECT_THAT(run.reports[0].notes, ElementsAre("a \"note\""));
  const RunLog log = read_run_log(join_path(path, "metrics.jsonl"));
  ASSERT_EQ(log.evaluations.size(), 1u);  // what is not finite has no curve
  EXPECT_EQ(log.evaluations[0].name, "test.spearman");
  std::vector<std::string> names;
  for (const Curve& curve : log.training) names.push_back(curve.name);
  EXPECT_THAT(names,
              ElementsAre("loss (nli)", "gradient_norm", "learning_rate", "temperature (nli)"));
}

TEST(RunFolder, SeveralSeedsAreReadBackInTheirOrder) {
  const TestFiles files;
  const std::string path = files.path("runs");
  const RunFolder folder(path, false, false);
  std::vector<SeedResult> runs;
  for (const int64_t seed : {4, 5}) {
    const RunFolder own(folder.seed_path(seed - 3), false, false);
    own.write_results({report_of("small", 0.1)}, 1);
    runs.push_back({seed, {report_of("small", 0.1)}, 0.1, {}});
  }
  Verdict both;
  both.runs = 2;
  folder.write_results(runs, 1, {report_of("mean", 0.1)}, both);
  const RunSet set = read_run_set(path);
  ASSERT_EQ(set.runs.size(), 2u);
  EXPECT_EQ(set.runs[0].seed, 4);
  EXPECT_EQ(set.runs[1].seed, 5);
  EXPECT_EQ(set.runs[1].verdict.line, "");
  EXPECT_EQ(set.verdict.line, both.to_line());
  EXPECT_THAT(read_file(join_path(path, "results.json")), HasSubstr("\"best\": \"run-2\""));
  EXPECT_THAT(error_of([&] { folder.check_resume(false); }), HasSubstr("several seeds"));
}

TEST(RunFolder, FoldsAreReadBackAndNoneIsTheBest) {
  const TestFiles files;
  const std::string path = files.path("runs");
  const RunFolder folder(path, false, false);
  std::vector<SeedResult> runs;
  for (const int64_t fold : {0, 1}) {
    const RunFolder own(folder.seed_path(fold + 1), false, false);
    own.write_results({report_of("small", 0.1)}, 1);
    runs.push_back({7, {report_of("small", 0.1)}, {}, fold});
  }
  Verdict both;
  both.runs = 2;
  folder.write_results(runs, std::nullopt, {report_of("mean", 0.1)}, both);
  const RunSet set = read_run_set(path);
  ASSERT_EQ(set.runs.size(), 2u);
  EXPECT_EQ(set.runs[1].seed, 7);
  EXPECT_EQ(set.runs[1].fold, 1);
  EXPECT_STREQ(set.unit(), "folds");
  EXPECT_THAT(read_file(join_path(path, "results.json")), Not(HasSubstr("\"best\"")));
}

TEST(RunFolder, ARunIsNeitherSharedNorReplacedUnasked) {
  const TestFiles files;
  const std::string path = files.path("run");
  {
    const RunFolder folder(path, false, false);
    folder.write_run(kRecipe);
    EXPECT_THAT(error_of([&] { RunFolder again(path, true, false); }),
                HasSubstr("another process is training"));
  }
  EXPECT_THAT(error_of([&] { RunFolder again(path, false, false); }),
              HasSubstr("already holds a run"));
  RunFolder again(path, false, true);
  again.flush_metrics();
  again.remove_old_run();
  EXPECT_FALSE(file_exists(join_path(path, "metrics.jsonl")));
  EXPECT_TRUE(file_exists(join_path(path, "run.json")));  // until write_run() replaces it
}

TEST(RunFolder, FilesOfOthersAreNotReplacedUnasked) {
  const TestFiles files;
  const std::string path = files.path("other"), results = join_path(path, "results.json");
  make_folders(path);
  write_file_atomic(results, "mine");
  EXPECT_THAT(error_of([&] { RunFolder run(path, false, false); }), HasSubstr("results.json"));
  EXPECT_EQ(read_file(results), "mine");
  EXPECT_EQ(error_of([&] { RunFolder run(path, false, true); }), "");
  const std::string model = files.path("models");
  make_folders(join_path(model, "model"));
  write_file_atomic(join_path(model, "model/notes.txt"), "mine");
  EXPECT_THAT(error_of([&] { RunFolder run(model, false, true); }), HasSubstr("holds other files"));
}

TEST(RunFolder, NoOutputReplacesAPartOfARun) {
  const TestFiles files;
  const std::string path = files.path("run");
  const RunFolder folder(path, false, false);
  const std::string results = join_path(path, "results.json");
  write_file_atomic(results, "{}");
  EXPECT_EQ(error_of([&] { check_no_part_of_run(results); }), "");  // no run is there yet
  folder.write_run(kRecipe);
  EXPECT_THAT(error_of([&] { check_no_part_of_run(results); }), HasSubstr("would be replaced"));
  EXPECT_THAT(error_of([&] { check_no_part_of_run(join_path(path, "run.json")); }),
              HasSubstr("would be replaced"));
  EXPECT_EQ(error_of([&] { check_no_part_of_run(join_path(path, "page.html")); }), "");
}

TEST(RunFolder, ARunThatWasReplacedWritesNothing) {
  const TestFiles files;
  const std::string path = files.path("run");
  const RunFolder older(path, false, false);
  older.write_run(kRecipe);
  std::filesystem::remove_all(path);
  const RunFolder newer(path, false, false);
  EXPECT_THAT(error_of([&] { older.write_run(kRecipe); }),
              HasSubstr("was removed, renamed or replaced while this run trained in it"));
  EXPECT_FALSE(file_exists(join_path(path, "run.json")));
  newer.write_run(kRecipe);
}

TEST(RunFolder, HalfWrittenFilesAreRemovedWhereverTheyAreAndNeverListed) {
  const TestFiles files;
  const std::string path = files.path("run");
  RunFolder(path, false, false).write_run(kRecipe);
  std::filesystem::create_directories(path + "/predictions/hybrid");
  std::filesystem::create_directories(path + "/model.tmp-12/heads");
  std::filesystem::create_directories(path + "/own");
  for (const char* name : {"predictions/hybrid/dev.trec.tmp-30715", "states/a.safetensors.tmp-3",
                           "run.json.tmp-7", "own/notes.tmp-1"}) {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    files.write(std::string("run/") + name, "half");
  }
  const RunFolder folder(path, true, false);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) left.push_back(entry.path().lexically_relative(path));
  }
  EXPECT_THAT(left, UnorderedElementsAre("run.json", "lock", "own/notes.tmp-1"));
  EXPECT_FALSE(folder_exists(path + "/model.tmp-12"));
  files.write("run/predictions/dev.tsv.tmp-9", "of a process that is killed later");
  folder.write_results({report_of("small", 0.5)}, 1);
  EXPECT_THAT(read_file(path + "/results.json"), Not(HasSubstr("tmp-9")));
}

TEST(RunFolder, LinesAfterASavedStateAreCut) {
  const TestFiles files;
  RunFolder folder(files.path("run"), false, false);
  folder.log_step("one", 1, 0.5, {});
  const LogMark mark = folder.flush_metrics();
  folder.log_step("one", 2, 1.0, {});
  EXPECT_GT(folder.flush_metrics().bytes, mark.bytes);
  EXPECT_TRUE(folder.has_metrics(mark));
  folder.cut_metrics(mark.bytes);
  EXPECT_EQ(folder.flush_metrics().bytes, mark.bytes);
  EXPECT_EQ(folder.flush_metrics().hash, mark.hash);
}

class RunCheckTest : public ::testing::Test, protected RunFixture {};

TEST_F(RunCheckTest, EveryFileToGoOnFromIsVerified) {
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { check_run(path("r")); }), HasSubstr("run.json"));
  for (const std::string folder : {"r", "r/run-1"}) {
    for (const char* name : {"states", "stages", "teachers", "mined", "model"}) {
      make_folders(path(folder + "/" + name));
    }
    const float numbers[] = {1, 2, 3, 4};
    for (const char* name : {"states/0000-1", "states/0000-2", "stages/first"}) {
      write_sealed_tensors(path(folder + "/" + name + ".safetensors"), {{"a", {4}, numbers}},
                           {{"recipe", "{}"}});
    }
    write(folder + "/metrics.jsonl", "a line\nmore");
    const detail::Json mark = {{"metrics_bytes", 7}, {"metrics_hash", hash_bytes("a line\n")}};
    write_sealed_tensors(path(folder + "/states/0000-3.safetensors"), {{"a", {4}, numbers}},
                         {{"state", mark.dump()}});
    EmbeddingStoreWriter vectors(path(folder + "/teachers/f.npy"), 2, 2);
    vectors.append(Matrix<float>(2, 2, 0.5f));
    vectors.finish("f");
    detail::Json mined = {{"fingerprint", "f"}, {"negatives", {{1, 2}}}};
    mined[detail::kSeal] = detail::seal_of(mined);
    write(folder + "/mined/s.0.0.json", mined.dump());
    write(folder + "/model/config.json", "{\"a\":1}");
    write_checksums(path(folder + "/model"));
  }
  write("r/run.json", "{}");
  const RunCheck found = check_run(path("r"));
  EXPECT_EQ(found.states, 6);
  EXPECT_EQ(found.stages, 2);
  EXPECT_EQ(found.teachers, 2);
  EXPECT_EQ(found.mined, 2);
  EXPECT_EQ(found.model, 2);
  for (const char* name : {"states/0000-2.safetensors", "stages/first.safetensors",
                           "teachers/f.npy", "mined/s.0.0.json", "model/config.json"}) {
    const std::string file = std::string("r/run-1/") + name, whole = read_file(path(file));
    std::string damaged = whole;
    damaged[damaged.size() - 3] = static_cast<char>(damaged[damaged.size() - 3] ^ 1);
    write(file, damaged);
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { check_run(path("r")); }), HasSubstr(name));
    write(file, whole);
  }
  for (const char* log : {"b line\nmore", "a line"}) {
    write("r/run-1/metrics.jsonl", log);
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { check_run(path("r")); }),
                HasSubstr("metrics.jsonl' is damaged"));
  }
}

TEST_F(RunCheckTest, ResultsAreVerifiedWithWhatTheyAreOf) {
  make_folders(path("r/predictions/hybrid"));
  {
    RunFolder folder(path("r"), false, true);
    folder.write_run("{}");
    folder.log_step("s", 1, 0.5, {});
    EXPECT_EQ(check_run(path("r")).results, 0);  // still going
    write("r/predictions/dev.tsv", "left\tright\tgold\tscore\n");
    write("r/predictions/hybrid/dev.tsv", "left\n");
    Report report;
    report.task = "sts";
    report.metrics = {{"spearman", 0.1}, {"pearson", std::nan("")}};
    folder.write_results({report}, 1.25);
  }
  EXPECT_EQ(check_run(path("r")).results, 4);
  for (const char* name :
       {"results.json", "metrics.jsonl", "predictions/dev.tsv", "predictions/hybrid/dev.tsv"}) {
    const std::string file = std::string("r/") + name, whole = read_file(path(file));
    std::string damaged = whole;
    damaged[damaged.size() - 4] = static_cast<char>(damaged[damaged.size() - 4] ^ 1);
    write(file, damaged);
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { check_run(path("r")); }), HasSubstr(name));
    write(file, whole);
  }
  {
    RunFolder folder(path("r"), true, false);  // resumed from an earlier state
    folder.cut_metrics(0);
  }
  EXPECT_EQ(check_run(path("r")).results, 0);
}

}  // namespace
}  // namespace simile
