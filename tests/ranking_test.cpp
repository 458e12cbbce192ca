// SPDX-License-Identifier: Apache-2.0
// `simile evaluate` ranks the documents that `simile search` finds in an index of the same corpus.
// A search keeps equal scores in the order of the corpus; `--ties input` does the same in
// evaluation.
#include <set>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

// The lines of a TREC run without the run's name: query, Q0, document, rank, score.
std::multiset<std::string> lines_of(const std::string& run) {
  std::multiset<std::string> lines;
  std::istringstream stream(run);
  for (std::string line; std::getline(stream, line);) lines.insert(line.substr(0, line.rfind(' ')));
  return lines;
}

class RankingTest : public ShellTest {
 protected:
  // Both rank the whole corpus of the example for all its test queries.
  // `evaluated`: the model with its options, as an evaluation names the ranking of a search in
  // `mode`. `change` is run between building the index and searching it.
  void expect_one_ranking(const std::string& model, const std::string& mode = "--mode vector",
                          std::string evaluated = "", const std::string& change = "true") const {
    if (evaluated.empty()) evaluated = model;
    const Outcome outcome = shell(fmt::format(
        "set -e; F=$S/examples/faq; "
        "simile evaluate --model {2} --task ranking --queries $F/queries.tsv --corpus $F/corpus.tsv"
        " --qrels $F/qrels.test.tsv --depth 100 --ties input --predictions evaluated.trec; "
        "simile index build --model {0} --index ix --corpus $F/corpus.tsv; {3}; "
        "cut -d' ' -f1 evaluated.trec | sort -u >ids; "
        "awk -F'\t' 'NR==FNR {{wanted[$1]; next}} FNR==1 || $1 in wanted' ids $F/queries.tsv "
        ">q.tsv; "
        "simile search --index ix --model {0} --queries q.tsv --top-k 100 {1} --output found.trec; "
        "rm -r ix",
        model, mode, evaluated, change));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto expected = lines_of(read_file(path("evaluated.trec")));
    EXPECT_GT(expected.size(), 1000u);
    EXPECT_TRUE(expected == lines_of(read_file(path("found.trec")))) << model << " " << mode;
  }
};

TEST_F(RankingTest, EvaluationAndSearchRankAlikeToTheLastBit) {
  expect_one_ranking("simile-mini-3");
}

TEST_F(RankingTest, SoTheyDoByWordsAndByBoth) {
  const std::string model = "simile-mini-3-static";
  expect_one_ranking(model, "--mode lexical", "bm25");
  for (const std::string rule : {"cosine", "zsum", "rrf", "max"}) {
    const std::string options = "--hybrid-weight 0.4 --hybrid-rule " + rule;
    expect_one_ranking(model, options, fmt::format("hybrid:{} {}", model, options));
  }
}

TEST_F(RankingTest, WhatWasRemovedHasNoPartInTheScores) {
  // Words of the corpus and others, before the documents and behind them.
  const std::string change =
      "awk -F'\t' -v OFS='\t' 'NR>1 {$1 = \"x\" $1; $2 = $2 \" zebra\"} 1' $F/corpus.tsv "
      ">more.tsv; simile index add --index ix --corpus more.tsv; simile index delete --index ix "
      "$(awk 'NR>1 {print $1}' more.tsv)";
  const std::string model = "simile-mini-3-static";
  expect_one_ranking(model, "--mode lexical", "bm25", change);
  expect_one_ranking(model, "", "hybrid:" + model, change);
  expect_one_ranking(model, "", "hybrid:" + model, change + "; simile index merge --index ix");
}

class OtherModelTest : public RankingTest {
 protected:
  // A model that does not normalise its vectors itself.
  void make_model() const {
    shell(
        "cp -r $S/tests/golden/tiny-bert model && chmod -R u+w model && cd model && mkdir -p "
        "1_Pooling "
        "&& echo '{\"word_embedding_dimension\":32,\"pooling_mode_mean_tokens\":true}' "
        "> 1_Pooling/config.json && echo '["
        "{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models."
        "Transformer\"},"
        "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\","
        "\"type\":\"sentence_transformers.models.Pooling\"}]' > modules.json");
  }
};

TEST_F(OtherModelTest, SoTheyDoByEverySimilarity) {
  make_model();
  for (const char* similarity : {"cosine", "dot", "euclidean", "manhattan"}) {
    write("model/config_sentence_transformers.json",
          fmt::format("{{\"similarity_fn_name\":\"{}\"}}", similarity));
    expect_one_ranking("model");
    expect_one_ranking("model", "", "hybrid:model");
  }
}

TEST_F(OtherModelTest, QueriesAndDocumentsHaveTheirOwnPrompts) {
  make_model();
  const auto set_prompts = [this](const char* prompts) {
    write("model/config_sentence_transformers.json",
          fmt::format("{{\"prompts\":{{{}}}}}", prompts));
  };
  const auto evaluated = [this](const std::string& options, const std::string& prefix = "") {
    // `prefix` is put before the queries' texts.
    const Outcome outcome = shell(fmt::format(
        "F=$S/examples/faq; head -n 21 $F/qrels.test.tsv >qrels.tsv; awk -F'\t' -v OFS='\t' "
        "-v p='{}' 'NR>1 {{$2 = p $2}} 1' $F/queries.tsv >q.tsv; simile evaluate --model model "
        "--task ranking --queries q.tsv --corpus $F/corpus.tsv --qrels qrels.tsv --depth 100 "
        "--predictions run.trec {}",
        prefix, options));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_file(path("run.trec"));
  };
  set_prompts("\"query\":\"find \",\"corpus\":\"\"");
  expect_one_ranking("model");
  expect_one_ranking("model", "", "hybrid:model");
  const std::string with_roles = evaluated("");
  EXPECT_EQ(with_roles, evaluated("--prompt-name corpus", "find "));
  EXPECT_NE(with_roles, evaluated("--prompt-name query"));
}

TEST_F(RankingTest, CandidatesHaveTheScoresThatTheyHaveInTheWholeCorpus) {
  const Outcome outcome = shell(
      "set -e; F=$S/examples/faq; head -n 101 $F/qrels.test.tsv >qrels.tsv; "
      "for c in corpus judged; do simile evaluate --model simile-mini-3-static --task ranking "
      "--queries "
      "$F/queries.tsv "
      "--corpus $F/corpus.tsv --qrels qrels.tsv --depth 0 --candidates $c "
      "--predictions $c.trec; done; cut -d' ' -f1,3,5 corpus.trec | sort >all; "
      "cut -d' ' -f1,3,5 judged.trec | sort >some; test -s some; comm -23 some all");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("q"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace simile
