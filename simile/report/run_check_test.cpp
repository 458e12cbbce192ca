// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/checksums.h"
#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/sealed_json.h"
#include "simile/model/embedding_store.h"
#include "simile/model/safetensors.h"
#include "simile/report/detail/run_fixture_test.h"
#include "simile/report/run_folder.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(found.states, 4);
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
