// SPDX-License-Identifier: Apache-2.0
// BM25 and a model together, `hybrid:MODEL`, as a user runs it.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/index/score_fusion.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kFaq =
    "simile evaluate --quiet --task ranking --queries $S/examples/faq/queries.tsv "
    "--corpus $S/examples/faq/corpus.tsv --qrels $S/examples/faq/qrels.test.tsv ";

class HybridTest : public ShellTest {
 protected:
  using Scores = std::map<std::string, std::map<std::string, double>>;  // query, document

  Scores read_run(const std::string& file) const {
    Scores scores;
    std::istringstream stream(read_file(path(file)));
    std::string query, q0, document, tag;
    int64_t rank = 0;
    double score = 0;
    while (stream >> query >> q0 >> document >> rank >> score >> tag) {
      scores[query][document] = score;
    }
    return scores;
  }

  double map_of(const Json& reports, const std::string& model) const {
    for (const Json& report : reports) {
      if (report["model"] == model) return report["metrics"]["map"];
    }
    ADD_FAILURE() << "no report of " << model;
    return 0;
  }
};

// By the definition, from what the program gives for each alone.
double standardise(double score, const std::map<std::string, double>& scores, double documents) {
  double sum = 0, squares = 0;
  for (const auto& [document, value] : scores) sum += value;
  const double mean = sum / documents;
  for (const auto& [document, value] : scores) squares += (value - mean) * (value - mean);
  squares += (documents - static_cast<double>(scores.size())) * mean * mean;  // not found: 0
  return squares == 0 ? 0 : (score - mean) / std::sqrt(squares / documents);
}

TEST_F(HybridTest, AddsWhatTheProgramGivesForEachAlone) {
  for (const std::string model : {"bm25", "words:simile-mini-3", "hybrid:words:simile-mini-3"}) {
    const std::string rule = model[0] == 'h' ? " --hybrid-rule zsum --hybrid-weight 0.5" : "";
    const Outcome outcome = shell(fmt::format("{} --model {}{} --depth 0 --predictions {}.trec",
                                              kFaq, model, rule, model.substr(0, 5)));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  const Scores words = read_run("bm25.trec"), vectors = read_run("words.trec");
  const Scores hybrid = read_run("hybri.trec");
  ASSERT_EQ(hybrid.size(), 439u);
  for (const auto& [query, scores] : hybrid) {
    const std::map<std::string, double>& of_vectors = vectors.at(query);
    const auto found = words.find(query);
    const auto of_words = found == words.end() ? std::map<std::string, double>() : found->second;
    const auto documents = static_cast<double>(of_vectors.size());
    ASSERT_EQ(scores.size(), of_vectors.size());
    for (const auto& [document, score] : scores) {
      const double word = of_words.count(document) > 0 ? of_words.at(document) : 0;
      ASSERT_NEAR(score,
                  0.5 * standardise(of_vectors.at(document), of_vectors, documents) +
                      0.5 * standardise(word, of_words, documents),
                  1e-9)
          << query << " " << document;
    }
  }
}

// 0.875 of the cosine as a share of the model's spread, which is 1 less the mean cosine of two of
// spread_texts() for a model without prompts, and 0.125 of BM25 as a share of the highest.
TEST_F(HybridTest, ByDefaultWordsAddToTheCosine) {
  std::string words = "simile similarity --json --model simile-mini-3-static";
  for (const std::string& text : spread_texts()) words += " \"" + text + "\"";
  const Json pairs = Json::parse(shell(words).out);
  double spread = 1;
  for (const Json& pair : pairs) spread -= pair["score"].get<double>() / 66;
  EXPECT_EQ(pairs.size(), 66U);
  for (const std::string model : {"bm25", "simile-mini-3-static", "hybrid:simile-mini-3-static"}) {
    const Outcome outcome = shell(fmt::format("{} --model {} --depth 0 --predictions {}.trec", kFaq,
                                              model, model.substr(0, 5)));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  Scores words_of = read_run("bm25.trec"), vectors = read_run("simil.trec");
  const Scores hybrid = read_run("hybri.trec");
  ASSERT_EQ(hybrid.size(), 439u);
  for (const auto& [query, scores] : hybrid) {
    double highest = 0;
    for (const auto& [document, score] : words_of[query]) highest = std::max(highest, score);
    for (const auto& [document, score] : scores) {
      const double word = highest > 0 ? words_of[query][document] / highest : 0;
      ASSERT_NEAR(score, 0.875 * vectors[query][document] / spread + 0.125 * word, 1e-6)
          << query << " " << document;
    }
  }
}

// A strong encoder may be as good alone; what is added by default costs it little.
TEST_F(HybridTest, IsAheadOfWordsAndNearTheModelOnTheShippedExample) {
  const Outcome outcome =
      shell(kFaq + "--model bm25 --model simile-mini-3 --model hybrid:simile-mini-3 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json reports = Json::parse(outcome.out);
  const double hybrid = map_of(reports, "hybrid:simile-mini-3");
  EXPECT_GT(hybrid, map_of(reports, "bm25"));
  EXPECT_GT(hybrid, map_of(reports, "simile-mini-3") - 0.02);
  EXPECT_EQ(reports[2]["notes"][0], "bm25 and simile-mini-3, cosine with 0.875 of the vectors");
}

// The warning counts the texts that are embedded together.
TEST_F(HybridTest, AModelAndItsHybridEmbedEachTextOnce) {
  std::string cut;
  for (int i = 0; i < 1000; ++i) cut += " fox";
  write("c.tsv", "id\ttext\nd1\ta dog\nd2\ta cat\nd3\t" + cut + "\n");
  write("q.tsv", "id\ttext\nq1\tthe dog\nq2\tthe cat\n");
  write("r.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t1\nq2\td2\t1\n");
  const Outcome outcome = shell(
      "simile evaluate --quiet --json --task ranking --queries q.tsv --corpus c.tsv --qrels r.tsv "
      "--model hybrid:$M --model bm25 --model $M --model hybrid:$M");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).size(), 4U);
  const std::string warning = "1 of 5 texts were cut";
  EXPECT_THAT(outcome.err, HasSubstr(warning));
  EXPECT_EQ(outcome.err.find(warning), outcome.err.rfind(warning));
}

TEST_F(HybridTest, RanksAlikeOnAnyNumberOfThreads) {
  const std::string rank = kFaq + "--model hybrid:words:simile-mini-3 --depth 100 ";
  EXPECT_EQ(shell(rank + "--threads 1 --predictions a.trec && " + rank +
                  "--threads 2 --predictions b.trec && cmp a.trec b.trec")
                .code,
            0);
}

TEST_F(HybridTest, RuleAndWeightAreAskedFor) {
  const std::string base = kFaq + "--json --model hybrid:words:simile-mini-3 ";
  const Outcome rrf = shell(base + "--hybrid-rule rrf --hybrid-weight 0.5");
  EXPECT_THAT(rrf.out, HasSubstr("bm25 and words:simile-mini-3, rrf with 0.5 of the vectors"));
  const Outcome dev = shell(base + "--dev $S/examples/faq/qrels.dev.tsv");
  EXPECT_EQ(dev.code, 0) << dev.err;
  EXPECT_THAT(dev.out, HasSubstr("chosen on 439 queries of dev (map"));
  EXPECT_EQ(shell(base + "--dev $S/examples/faq/qrels.dev.tsv --threads 1").out, dev.out);
  const Outcome none =
      shell(kFaq + "--model words:simile-mini-3 --dev $S/examples/faq/qrels.dev.tsv");
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("no --model is one"));
}

TEST_F(HybridTest, PairsAndTaskFilesAreScored) {
  write("pairs.tsv",
        "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\nfox\tthe fox\t4\n");
  write("tasks.yaml",
        "tasks:\n  - {task: sts, name: graded, data: pairs.tsv}\n"
        "  - {task: pairs, name: binary, data: pairs.tsv, score_offset: 1, score_scale: 4, "
        "filter: [score != 4]}\n");
  const Outcome outcome = shell(
      "simile evaluate --model hybrid:$M --task tasks.yaml --hybrid-weight 0.3 --json && "
      "simile evaluate --model hybrid:$M --task sts --data pairs.tsv --predictions h.tsv && "
      "simile evaluate --model bm25 --task sts --data pairs.tsv --predictions b.tsv && "
      "simile compare b.tsv h.tsv --samples 50");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\"name\":\"graded\""), HasSubstr("\"name\":\"binary\""),
                    HasSubstr("cosine with 0.3 of the vectors"), HasSubstr("B: h.tsv")));
}

TEST_F(HybridTest, MistakesAreOneMessage) {
  write("texts.txt", "hello\n");
  write("pairs.tsv", "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\n");
  const std::string sts = " --task sts --data pairs.tsv";
  expect_error("simile evaluate --model hybrid:" + sts, 2, "names no model");
  expect_error("simile evaluate --model hybrid" + sts, 2, "names no model");
  expect_error("simile evaluate --model hybrid:bm25" + sts, 2, "the vectors of a model");
  expect_error("simile evaluate --model hybrid:hybrid:$M" + sts, 2, "the vectors of a model");
  expect_error("simile evaluate --model hybrid:nowhere" + sts, 3, "nowhere");
  expect_error("simile evaluate --hybrid-weight 1.5 --model hybrid:$M" + sts, 2, "1.5 is more");
  expect_error("simile evaluate --hybrid-weight -1 --model hybrid:$M" + sts, 2, "-1 is less");
  expect_error("simile evaluate --hybrid-rule sum --model hybrid:$M" + sts, 2, "sum");
  expect_error("simile evaluate --model hybrid:$M --task ranking --queries q.tsv --qrels r.tsv", 2,
               "'corpus' is missing");
  // Commands that score no whole set.
  expect_error("simile similarity --model hybrid:$M hello world", 2, "takes a model alone");
  expect_error("simile encode --model hybrid:simile-mini-3 --input texts.txt", 2,
               "takes a model alone, such as 'simile-mini-3'");
  expect_error("simile index build --model hybrid:$M --index ix --corpus texts.txt", 2,
               "takes a model alone");
  expect_error("simile mine --model hybrid:$M --data pairs.tsv --output t.tsv", 2,
               "takes a model alone");
}

#ifdef SIMILE_WITH_TRAINING
TEST_F(HybridTest, ARunIsComparedWithItselfTogetherWithBm25) {
  write("pairs.tsv",
        "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\nfox\tthe fox\t4\n");
  write("recipe.yaml", R"(
model: MODEL
stages: {objectives: {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}, steps: 2}
tests: {name: test, task: sts, data: pairs.tsv}
data_checks: off
baselines: [untrained, hybrid, hybrid:untrained]
)");
  const Outcome trained = shell(
      "sed -i \"s#MODEL#$M#\" recipe.yaml; simile train recipe.yaml "
      "--output run");
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, AllOf(HasSubstr("hybrid:run"), HasSubstr("hybrid:zero-shot")));
  const Outcome compared = shell("simile compare run hybrid:run --samples 50");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("B: hybrid:run"), HasSubstr("test (sts, 3 examples)")));
  expect_error("simile train recipe.yaml --output x hybrid_weight=2", 2, "between 0 and 1");
  expect_error("simile train recipe.yaml --output x model=hybrid:simile-mini-3", 2,
               "takes a model alone");
}

TEST_F(HybridTest, EverySearchTakesTheWeightThatTrainingChoseOnDev) {
  write("pairs.tsv", "sentence1\tsentence2\nhello there\thello you\n");
  write("recipe.yaml", R"(
model: MODEL
stages: {objectives: {data: {path: pairs.tsv, score: ""}, loss: bsc, batch_size: 1}, steps: 1}
tests: {name: test, task: ranking, queries: EX/queries.tsv, corpus: EX/corpus.tsv, metrics: [map],
        qrels: EX/qrels.test.tsv, dev: EX/qrels.dev.tsv}
data_checks: off
)");
  const Outcome trained = shell(
      "sed -i \"s#MODEL#simile-mini-3-static#; s#EX/#$S/examples/faq/#g\" recipe.yaml; "
      "simile train --json recipe.yaml --output run");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json written = Json::parse(read_file(path("run/model/search.json")));
  const double chosen = written["hybrid_weight"];
  EXPECT_GT(chosen, 0);
  EXPECT_NE(chosen, 0.875);  // the default, which says nothing
  EXPECT_EQ(written["hybrid_rule"], "cosine");
  const std::string weight = fmt::format("vectors and words, cosine, weight {:g}", chosen);
  EXPECT_THAT(trained.err, HasSubstr("run/model searches by " + weight + ", chosen on dev"));
  // A weight given by hand wins, and dev chooses the same again.
  const std::string evaluate = kFaq + "--json --model hybrid:run/model ";
  const std::string note = fmt::format("cosine with {:g} of the vectors", chosen);
  EXPECT_THAT(shell(evaluate).out, HasSubstr("run/model, " + note));
  EXPECT_THAT(shell(evaluate + "--hybrid-weight 0.25").out, HasSubstr("cosine with 0.25 of"));
  EXPECT_THAT(shell(evaluate + "--hybrid-rule zsum").out,
              HasSubstr(fmt::format("zsum with {:g} of the vectors", chosen)));
  EXPECT_THAT(shell(evaluate + "--dev $S/examples/faq/qrels.dev.tsv").out,
              HasSubstr(note + ", chosen on 439 queries of dev"));
  const std::string build =
      "simile index build --corpus $S/examples/faq/corpus.tsv --model run/model ";
  const auto weight_of = [&](const std::string& index) -> double {
    return Json::parse(shell("simile index info --json --index " + index).out)["hybrid_weight"];
  };
  EXPECT_THAT(shell(build + "--index taken").err, HasSubstr("taken searches by " + weight));
  EXPECT_EQ(weight_of("taken"), chosen);
  EXPECT_EQ(shell(build + "--index given --hybrid-weight 0.25").code, 0);
  EXPECT_EQ(weight_of("given"), 0.25);
  EXPECT_EQ(shell("simile check --model run/model").code, 0);
  EXPECT_THAT(shell(build + "--index by-words --hybrid-weight 0").err,
              HasSubstr("by-words searches by words only"));
  EXPECT_THAT(shell("simile index settings --index by-words --hybrid-weight 1").err,
              HasSubstr("by-words searches by vectors only"));
  shell("sed -i 's/cosine/rrf/' run/model/search.json");
  expect_error(build + "--index damaged", 3, "remove it: searches then take the default weight");
}
#endif

}  // namespace
}  // namespace simile
