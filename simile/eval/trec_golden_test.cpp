// SPDX-License-Identifier: Apache-2.0
// Runs scored by their judgements, against tests/golden/trec_runs.json: random ones with many ties,
// for which tools/golden/trec_runs.py computes trec_eval's result of each query. SIMILE_TREC_RUNS
// names another such file, with as many runs as one likes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/data/detail/packed_files_test.h"
#include "simile/eval/ranking_task.h"

namespace simile {
namespace {

using Json = nlohmann::json;
constexpr double kTolerance = 1e-9;

std::string join_lines(const Json& lines) {
  std::string text;
  for (const Json& line : lines) text += line.get<std::string>() + "\n";
  return text;
}

Json read_golden() {
  const char* other = std::getenv("SIMILE_TREC_RUNS");
  std::ifstream file(other != nullptr ? other : SIMILE_SOURCE_DIR "/tests/golden/trec_runs.json");
  return Json::parse(file);
}

TEST(TrecGolden, EveryMeasureOfEveryQueryIsThatOfTrecEval) {
  const TestFiles files;
  const Json golden = read_golden();
  const auto metrics = parse_ranking_metrics(golden["metrics"].get<std::vector<std::string>>());
  int64_t queries = 0;
  for (const Json& c : golden["cases"]) {
    const std::string run = files.write("run.trec", join_lines(c["run"]));
    const std::string qrels = files.write("qrels.trec", join_lines(c["qrels"]));
    const RankingScores scores =
        score_rankings(judge_run(run, qrels, TieBreak::kTrecEval), metrics);
    ASSERT_EQ(scores.queries.size(), c["values"].size()) << c["run"];
    std::vector<double> sums(metrics.size());
    for (size_t q = 0; q < scores.queries.size(); ++q, ++queries) {
      const Json& values = c["values"].at(scores.queries[q]);
      for (size_t m = 0; m < metrics.size(); ++m) {
        ASSERT_NEAR(scores.per_query[q][m], values[m].get<double>(), kTolerance)
            << metrics[m].name() << " of " << scores.queries[q] << " in " << c.dump();
        sums[m] += values[m].get<double>();
      }
    }
    const Report report = evaluate_run(run, qrels, metrics, TieBreak::kTrecEval);
    for (size_t m = 0; m < metrics.size(); ++m) {
      ASSERT_NEAR(report.metrics[m].second, sums[m] / static_cast<double>(scores.queries.size()),
                  kTolerance);
    }
  }
  RecordProperty("queries", std::to_string(queries));
  EXPECT_GT(queries, 60);
}

}  // namespace
}  // namespace simile
