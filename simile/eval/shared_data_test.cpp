// SPDX-License-Identifier: Apache-2.0
// Real sets beside the checkout, where they are there: row counts as published, baselines that are
// sane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "simile/core/file.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/task.h"

namespace simile {
namespace {

const std::string kData = SIMILE_SOURCE_DIR "/../shared/data/";

#define SKIP_WITHOUT_SHARED() \
  if (!folder_exists(kData)) GTEST_SKIP() << "skipped: no ../shared"

PairDataset read_set(const std::string& name) {
  PairDataOptions options;
  options.path = kData + name;
  return read_pairs(options);
}

EvaluationOptions ranking_set(const std::string& name, const std::string& split) {
  EvaluationOptions options;
  options.task = "ranking";
  options.name = name + " " + split;
  options.ranking.queries = kData + name + "/queries.tsv";
  options.ranking.corpus = kData + name + "/corpus.tsv";
  options.ranking.qrels = kData + name + "/qrels." + split + ".tsv";
  return options;
}

std::vector<Report> evaluate_baselines(const EvaluationOptions& options) {
  const auto task = load_task(options);
  Bm25Scorer bm25;
  TfidfScorer tfidf;
  std::vector<Report> reports = {task->evaluate(bm25), task->evaluate(tfidf)};
  std::cout << to_table(reports);
  return reports;
}

TEST(SharedDataSlow, RowsAreAsPublished) {
  SKIP_WITHOUT_SHARED();
  const std::pair<const char*, int64_t> sets[] = {
      {"stsb/train.tsv", 5749}, {"stsb/dev.tsv", 1500},   {"stsb/test.tsv", 1379},
      {"mrpc/train.tsv", 4076}, {"mrpc/test.tsv", 1725},  {"cqa_a/train.tsv", 7195},
      {"cqa_a/dev.tsv", 2440},  {"cqa_a/test.tsv", 3150}, {"pfcc_s/train.pairs.tsv", 800},
  };
  for (const auto& set : sets) {
    const PairDataset data = read_set(set.first);
    EXPECT_EQ(data.size(), set.second) << set.first;
    EXPECT_EQ(data.report.replaced_bytes, 0) << set.first;
  }
}

TEST(SharedDataSlow, ClassesAreAsPublished) {
  SKIP_WITHOUT_SHARED();
  const struct {
    const char* file;
    const char* text;
    int64_t rows;
    std::vector<std::string> classes;
  } sets[] = {
      {"sst5/train.tsv", "sentence", 8544, {"0", "1", "2", "3", "4"}},
      {"sst5/dev.tsv", "sentence", 1101, {"0", "1", "2", "3", "4"}},
      {"cfimdb/train.tsv", "sentence", 1707, {"0", "1"}},
      {"cfimdb/dev.tsv", "sentence", 245, {"0", "1"}},
      {"rte/train.tsv", "", 2490, {"entailment", "not_entailment"}},
      {"snli_devtest/dev.tsv", "", 9842, {"contradiction", "entailment", "neutral"}},
  };
  for (const auto& set : sets) {
    PairDataOptions options;
    options.format = "classes";
    options.path = kData + set.file;
    options.text = set.text;
    const PairDataset data = read_pairs(options);
    EXPECT_EQ(data.size(), set.rows) << set.file;
    EXPECT_EQ(data.right.empty(), options.text != "") << set.file;
    EXPECT_EQ(data.class_names, set.classes) << set.file;
  }
}

TEST(SharedDataSlow, RankingSetsAreComplete) {
  SKIP_WITHOUT_SHARED();
  const RankingData data = read_ranking_data(ranking_set("pfcc_s", "test").ranking);
  EXPECT_EQ(data.query_ids.size(), 999);
  EXPECT_EQ(data.document_ids.size(), 10381);
  EXPECT_EQ(pairs_from_ranking(data).size(), 216);
}

TEST(SharedDataSlow, BaselinesOnStsAreSane) {
  SKIP_WITHOUT_SHARED();
  for (const char* split : {"dev", "test"}) {
    EvaluationOptions options;
    options.data = kData + "stsb/" + split + ".tsv";
    options.name = std::string("stsb ") + split;
    for (const Report& report : evaluate_baselines(options)) {
      EXPECT_GT(report.metric("spearman"), 0.4) << report.model;
      EXPECT_LT(report.metric("spearman"), 0.8) << report.model;
    }
  }
}

TEST(SharedDataSlow, BaselinesOnPairsAreSane) {
  SKIP_WITHOUT_SHARED();
  EvaluationOptions options;
  options.task = "pairs";
  options.name = "mrpc test";
  options.data = kData + "mrpc/test.tsv";
  options.dev = kData + "mrpc/train.tsv";
  for (const Report& report : evaluate_baselines(options)) {
    EXPECT_GT(report.metric("accuracy"), 0.65) << report.model;
    EXPECT_GT(report.metric("f1"), 0.78) << report.model;
  }
}

TEST(SharedDataSlow, BaselinesOnRankingAreSane) {
  SKIP_WITHOUT_SHARED();
  EvaluationOptions options = ranking_set("pfcc_s", "test");
  options.metrics = {"map", "mrr", "has_positive@1", "has_positive@5", "has_positive@50"};
  for (const Report& report : evaluate_baselines(options)) {
    EXPECT_EQ(report.examples, 199);
    EXPECT_GT(report.metric("has_positive@1"), 0.3) << report.model;
    EXPECT_GT(report.metric("has_positive@50"), 0.7) << report.model;
    EXPECT_GE(report.metric("mrr"), report.metric("has_positive@1")) << report.model;
  }
}

TEST(SharedDataSlow, JudgedCandidatesAreSane) {
  SKIP_WITHOUT_SHARED();
  EvaluationOptions options = ranking_set("cqa_a", "test");
  options.candidates = "judged";
  options.metrics = {"map", "mrr", "p@1"};
  for (const Report& report : evaluate_baselines(options)) {
    EXPECT_GT(report.metric("map"), 0.4) << report.model;
    EXPECT_LT(report.metric("map"), 0.9) << report.model;
  }
}

}  // namespace
}  // namespace simile
