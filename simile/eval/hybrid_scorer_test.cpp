// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/hybrid_scorer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/task.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Texts = std::vector<std::string>;
using Candidates = std::vector<std::vector<int64_t>>;
using Json = nlohmann::json;

FusionOptions options(double weight, const std::string& rule = "zsum") {
  FusionOptions options;
  options.weight = weight;
  options.rule = rule;
  return options;
}

HybridScorer hybrid_of(EmbeddingScorer::Embed embed, const FusionOptions& fusion = options(0.4),
                       Similarity similarity = Similarity::kCosine) {
  return HybridScorer("hybrid:m", std::make_shared<Bm25Scorer>(),
                      std::make_shared<EmbeddingScorer>("m", std::move(embed), similarity), fusion);
}

// The vector of a text is (1, 0) where it begins with 'a', else (0, 1).
Matrix<float> first_letter(const Texts& texts) {
  Matrix<float> embeddings(static_cast<int64_t>(texts.size()), 2);
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    embeddings.at(i, texts[static_cast<size_t>(i)][0] == 'a' ? 0 : 1) = 1;
  }
  return embeddings;
}

TEST(HybridScorer, RanksALiteralCorpus) {
  // "ash" finds the second document alone; its vector is that of the first and the second.
  HybridScorer scorer = hybrid_of(first_letter);
  const auto rankings = scorer.rank({"ash"}, {"apple", "ash", "birch", "birch"}, {}, 0);
  ASSERT_EQ(rankings[0].size(), 4u);
  // Words: one of four is s, the others 0: z = sqrt(3) and -1 / sqrt(3). Vectors: two of four
  // are 1.
  const double found = std::sqrt(3.0), other = -1 / std::sqrt(3.0);
  EXPECT_EQ(rankings[0][0].document, 1);
  EXPECT_NEAR(rankings[0][0].score, 0.4 + 0.6 * found, 1e-12);
  EXPECT_EQ(rankings[0][1].document, 0);
  EXPECT_NEAR(rankings[0][1].score, 0.4 + 0.6 * other, 1e-12);
  EXPECT_EQ(rankings[0][2].document, 2);  // equal scores in order of position
  EXPECT_EQ(rankings[0][3].document, 3);
  EXPECT_NEAR(rankings[0][2].score, -0.4 + 0.6 * other, 1e-12);
  EXPECT_EQ(rankings[0][3].score, rankings[0][2].score);
}

TEST(HybridScorer, AWordThatNoDocumentHasLeavesTheVectors) {
  HybridScorer scorer = hybrid_of(first_letter);
  const auto rankings = scorer.rank({"alder"}, {"birch", "apple"}, {}, 1);
  ASSERT_EQ(rankings[0].size(), 1u);
  EXPECT_EQ(rankings[0][0].document, 1);
  EXPECT_NEAR(rankings[0][0].score, 0.4, 1e-12);
  EXPECT_TRUE(scorer.rank({"alder"}, {}, {}, 0)[0].empty());
  EXPECT_TRUE(scorer.rank({}, {"birch"}, {}, 0).empty());
  EXPECT_TRUE(scorer.score_pairs({}, {}).empty());
}

void expect_ranking(const Ranking& ranking, const std::vector<double>& expected,
                    const std::vector<int64_t>& documents, double tolerance) {
  ASSERT_EQ(ranking.size(), expected.size());
  for (size_t i = 0; i < ranking.size(); ++i) {
    const auto place = std::find(documents.begin(), documents.end(), ranking[i].document);
    ASSERT_NE(place, documents.end());
    EXPECT_NEAR(ranking[i].score, expected[static_cast<size_t>(place - documents.begin())],
                tolerance);
    EXPECT_GE(ranking[i > 0 ? i - 1 : 0].score, ranking[i].score);
  }
}

// Against tests/golden/hybrid.json, which tools/golden/hybrid.py computes from the definitions.
TEST(HybridScorer, AgreesWithTheDefinitions) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/hybrid.json");
  const Json golden = Json::parse(file).at("rankings");
  const auto look_up = [&](const Texts& texts) {
    Matrix<float> embeddings(static_cast<int64_t>(texts.size()), 5);
    for (size_t i = 0; i < texts.size(); ++i) {
      // Questions are alike, and so are the others: 3 and 9 of the texts of the spread, so that
      // 78 of 132 cosines of two different ones are 1, the others 0.
      const bool asks = texts[i].back() == '?';
      std::vector<float> row = {asks ? 1.0f : 0.0f, asks ? 0.0f : 1.0f, 0, 0, 0};
      if (golden["vectors"].contains(texts[i])) golden["vectors"][texts[i]].get_to(row);
      std::copy(row.begin(), row.end(), embeddings.row(static_cast<int64_t>(i)));
    }
    return embeddings;
  };
  const Texts corpus = golden["corpus"], queries = golden["queries"];
  const Candidates candidates = golden["candidates"];
  std::vector<int64_t> all;
  for (size_t d = 0; d < corpus.size(); ++d) all.push_back(static_cast<int64_t>(d));
  for (const char* rule : {"zsum", "rrf", "max", "cosine"}) {
    HybridScorer scorer = hybrid_of(look_up, options(golden["weight"], rule));
    const auto whole = scorer.rank(queries, corpus, {}, 0);
    const auto some = scorer.rank(queries, corpus, candidates, 0);
    const Json& expected = golden["rules"][rule];
    for (size_t q = 0; q < queries.size(); ++q) {
      expect_ranking(whole[q], expected["whole"][q], all, 1e-5);
      expect_ranking(some[q], expected["some"][q], candidates[q], 1e-5);
    }
  }
  const auto pairs = hybrid_of(look_up).score_pairs(golden["left"], golden["right"]);
  const std::vector<double> expected = golden["pairs"];
  for (size_t i = 0; i < pairs.size(); ++i) EXPECT_NEAR(pairs[i], expected[i], 1e-6);
}

Matrix<float> random_embeddings(const Texts& texts) {
  Matrix<float> embeddings(static_cast<int64_t>(texts.size()), 13);
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    RandomStream stream(7, texts[static_cast<size_t>(i)]);
    for (int64_t d = 0; d < embeddings.cols; ++d) {
      embeddings.at(i, d) = static_cast<float>(stream.normal());
    }
  }
  return embeddings;
}

struct RandomSet {
  Texts queries, corpus;
  RandomSet() {
    const char* words[] = {"red", "blue", "fish", "bird", "sings", "old", "stone", "river"};
    for (size_t i = 0; i < 70; ++i) {
      queries.push_back(std::string(words[i % 8]) + " " + words[i * i % 7]);
    }
    for (size_t i = 0; i < 300; ++i) {
      corpus.push_back(queries[i % 70] + " " + words[i * 3 % 5] + " " + std::to_string(i % 280));
    }
  }
};

bool are_equal(const std::vector<Ranking>& a, const std::vector<Ranking>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Ranking& x, const Ranking& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& u, const auto& v) {
      return u.document == v.document && u.score == v.score;
    });
  });
}

TEST(HybridScorer, HeldScoresAreTheSameBits) {
  Texts corpus, queries = {"alder birch", "cedar", "elm apple", "fir"};
  for (const char* first : {"alder", "birch", "cedar", "elm", "apple"}) {
    for (const char* second : {"birch", "fig", "alder"}) {
      corpus.push_back(std::string(first) + " " + second);
    }
  }
  for (const char* rule : {"zsum", "rrf", "max", "cosine"}) {
    HybridScorer scorer = hybrid_of(random_embeddings, options(0.3, rule));
    const auto plain = scorer.score_hybrid(queries, corpus);
    const auto held = scorer.score_hybrid(queries, corpus);
    held->hold(1, 2);
    for (const double weight : {0.0, 0.35, 1.0}) {
      plain->set_weight(weight);
      held->set_weight(weight);
      for (const auto& [first, count] : {std::pair{0, 4}, std::pair{1, 2}, std::pair{2, 1}}) {
        std::vector<double> a(static_cast<size_t>(count) * corpus.size()), b = a;
        plain->score(first, count, a.data());
        held->score(first, count, b.data());
        EXPECT_EQ(a, b) << rule << ", weight " << weight << ", queries from " << first;
      }
    }
  }
}

TEST(HybridScorer, RanksAlikeForAnyNumberOfThreadsAndQueries) {
  const RandomSet set;
  const int threads = thread_count();
  for (const char* rule : {"zsum", "rrf", "max", "cosine"}) {
    HybridScorer scorer = hybrid_of(random_embeddings, options(0.4, rule));
    set_thread_count(1);
    const auto one = scorer.rank(set.queries, set.corpus, {}, 50);
    set_thread_count(2);
    EXPECT_TRUE(are_equal(scorer.rank(set.queries, set.corpus, {}, 50), one)) << rule;
    EXPECT_TRUE(are_equal(scorer.rank({set.queries[33]}, set.corpus, {}, 50), {one[33]})) << rule;
    auto deep = scorer.rank(set.queries, set.corpus, {}, 0);
    for (Ranking& ranking : deep) {
      ASSERT_EQ(ranking.size(), set.corpus.size());
      ranking.resize(50);
    }
    EXPECT_TRUE(are_equal(deep, one)) << rule;
  }
  set_thread_count(threads);
}

std::vector<int64_t> order_of(const Ranking& ranking) {
  std::vector<int64_t> documents;
  for (const RankedDocument& document : ranking) documents.push_back(document.document);
  return documents;
}

TEST(HybridScorer, TheWholeWeightOnOneSideRanksAsThatSide) {
  const RandomSet set;
  EmbeddingScorer vectors("m", random_embeddings);
  Bm25Scorer words;
  const auto by_vectors = vectors.rank(set.queries, set.corpus, {}, 0);
  const auto by_words = words.rank(set.queries, set.corpus, {}, 0);
  const auto all_vectors =
      hybrid_of(random_embeddings, options(1)).rank(set.queries, set.corpus, {}, 0);
  const auto all_words =
      hybrid_of(random_embeddings, options(0)).rank(set.queries, set.corpus, {}, 0);
  for (size_t q = 0; q < set.queries.size(); ++q) {
    EXPECT_EQ(order_of(all_vectors[q]), order_of(by_vectors[q]));
    std::vector<int64_t> found = order_of(all_words[q]);
    found.resize(by_words[q].size());  // the others score 0
    EXPECT_EQ(found, order_of(by_words[q]));
  }
}

// By default: 0.875 of the cosine, as a part of the spread, and 0.125 of BM25 as a part of the
// highest.
TEST(HybridScorer, ByDefaultWordsAddToTheCosine) {
  // The vector of a text is (1, 0) where it is short, else (0.6, 0.8): the texts of the spread have
  // cosines of 1, which is none, so the cosine stays as it is.
  const auto embed = [](const Texts& texts) {
    Matrix<float> vectors(static_cast<int64_t>(texts.size()), 2, 0.6f);
    for (int64_t i = 0; i < vectors.rows; ++i) {
      const bool is_short = texts[static_cast<size_t>(i)].size() < 6;
      vectors.at(i, 0) = is_short ? 1 : 0.6f;
      vectors.at(i, 1) = is_short ? 0 : 0.8f;
    }
    return vectors;
  };
  HybridScorer scorer = hybrid_of(embed, FusionOptions());
  EXPECT_THAT(scorer.notes(), ElementsAre("bm25 and m, cosine with 0.875 of the vectors"));
  const auto rankings = scorer.rank({"ash"}, {"birches", "ash trees", "oak"}, {}, 0);
  ASSERT_EQ(rankings[0].size(), 3u);
  EXPECT_EQ(rankings[0][0].document, 2);
  EXPECT_NEAR(rankings[0][0].score, 0.875, 1e-6);
  EXPECT_EQ(rankings[0][1].document, 1);
  EXPECT_NEAR(rankings[0][1].score, 0.875 * 0.6 + 0.125, 1e-6);
  EXPECT_NEAR(rankings[0][2].score, 0.875 * 0.6, 1e-6);
}

// Cosines of 0.3 c + 0.7, as of models whose cosines all are high, rank as those of c do; so do dot
// products of vectors that are 9 times as long.
TEST(HybridScorer, ByDefaultTheSpreadOfCosinesDoesNotMatter) {
  const RandomSet set;
  const auto narrow = [](const Texts& texts) {
    Matrix<float> wide = random_embeddings(texts);
    normalise_rows(wide.values.data(), wide.rows, wide.cols);
    Matrix<float> vectors(wide.rows, wide.cols + 1, std::sqrt(0.7f));
    for (int64_t i = 0; i < wide.rows; ++i) {
      for (int64_t d = 0; d < wide.cols; ++d) vectors.at(i, d) = std::sqrt(0.3f) * wide.at(i, d);
    }
    return vectors;
  };
  const auto longer = [](const Texts& texts) {
    Matrix<float> vectors = random_embeddings(texts);
    normalise_rows(vectors.values.data(), vectors.rows, vectors.cols);
    for (float& value : vectors.values) value *= 9;
    return vectors;
  };
  const auto wide = hybrid_of(random_embeddings, {}).rank(set.queries, set.corpus, {}, 20);
  const auto rank = [&](EmbeddingScorer::Embed embed, Similarity similarity) {
    return hybrid_of(std::move(embed), {}, similarity).rank(set.queries, set.corpus, {}, 20);
  };
  const auto cosines = rank(narrow, Similarity::kCosine), dots = rank(longer, Similarity::kDot);
  for (size_t q = 0; q < set.queries.size(); ++q) {
    EXPECT_EQ(order_of(cosines[q]), order_of(wide[q]));
    EXPECT_EQ(order_of(dots[q]), order_of(wide[q]));
  }
}

TEST(HybridScorer, TakesEverySimilarityButForTheRuleMax) {
  const RandomSet set;
  for (const Similarity similarity :
       {Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    EXPECT_EQ(hybrid_of(random_embeddings, {}, similarity)
                  .rank({set.queries[0]}, set.corpus, {}, 7)[0]
                  .size(),
              7u);
    HybridScorer max = hybrid_of(random_embeddings, options(0.5, "max"), similarity);
    EXPECT_THAT(error_of([&] { max.rank({set.queries[0]}, set.corpus, {}, 7); }),
                HasSubstr("takes cosines"));
  }
}

TEST(HybridScorer, SaysWhatItIsAndHasNoHeads) {
  HybridScorer scorer = hybrid_of(first_letter, options(0.25, "rrf"));
  EXPECT_EQ(scorer.name(), "hybrid:m");
  EXPECT_THAT(scorer.notes(), ElementsAre("bm25 and m, rrf with 0.25 of the vectors"));
  EXPECT_THAT(error_of([&] { scorer.run_head("", {"a"}, {}); }),
              AllOf(HasSubstr("hybrid:m has no heads"), HasSubstr("name m alone")));
  EXPECT_THROW(hybrid_of(first_letter, options(1.5)), Error);
  EXPECT_THROW(hybrid_of(first_letter, options(0.5, "sum")), Error);
}

TEST(HybridModel, IsWhatStandsBehindThePrefix) {
  EXPECT_EQ(hybrid_model("hybrid:words:mini"), "words:mini");
  EXPECT_EQ(hybrid_model("hybrid:a/b"), "a/b");
  EXPECT_EQ(hybrid_model("bm25"), "");
  EXPECT_EQ(hybrid_model("hybrids/x"), "");
  EXPECT_EQ(hybrid_name("mini"), "hybrid:mini");
  for (const char* wrong : {"hybrid:", "hybrid", "hybrid:bm25", "hybrid:hybrid:mini"}) {
    EXPECT_THAT(error_of([&] { hybrid_model(wrong); }),
                AllOf(HasSubstr(wrong), HasSubstr("hybrid:simile-mini-3")));
  }
}

// Each query finds the right document by a word, and vectors (first_letter) that put all the others
// before it.
struct DevSet {
  const TestFiles files;
  EvaluationOptions options;

  DevSet() {
    std::string queries = "id\ttext\n", corpus = "id\ttext\n";
    for (int i = 0; i < 8; ++i) {
      queries += fmt::format("q{0}\tapple topic{0}\n", i);
      corpus += fmt::format("d{0}\tb topic{0}\nx{0}\ta other{0}\n", i);
    }
    options.task = "ranking";
    options.metrics = {"mrr", "map"};
    options.ties = "input";
    options.ranking.queries = files.write("q.tsv", queries);
    options.ranking.corpus = files.write("c.tsv", corpus);
    options.ranking.qrels = judge("test.tsv", 0, 4);
    options.dev = judge("dev.tsv", 4, 8);
  }
  std::string judge(const std::string& name, int begin, int end) const {
    std::string qrels;
    for (int i = begin; i < end; ++i) qrels += fmt::format("q{0} 0 d{0} 1\n", i);
    return files.write(name, qrels);
  }
};

TEST(HybridScorer, TheWeightIsChosenOnDev) {
  const DevSet set;
  // By words 1 of 16 documents scores, z = sqrt(15) and -1 / sqrt(15); by vectors 8 of 16, z = 1
  // and -1. The right one is first for w < 0.674, and ninth above.
  HybridScorer hybrid = hybrid_of(first_letter, options(0.9));
  const Report report = evaluate(set.options, hybrid);
  EXPECT_EQ(report.metric("mrr"), 1);
  EXPECT_EQ(report.examples, 4);
  EXPECT_THAT(
      report.notes,
      ElementsAre("bm25 and m, zsum with 0.65 of the vectors, chosen on 4 queries of dev (mrr "
                  "100.00; 90 % of samples of them choose 0.65 to 0.65)"));
  EvaluationOptions without = set.options;
  without.dev = "";
  const Report untold = evaluate(without, hybrid);
  EXPECT_EQ(untold.metric("mrr"), 1.0 / 9);
  EXPECT_THAT(untold.notes, ElementsAre("bm25 and m, zsum with 0.9 of the vectors"));
  EvaluationOptions judged = set.options;  // one candidate a query: every weight does
  judged.candidates = "judged";
  EXPECT_THAT(evaluate(judged, hybrid).notes[0], HasSubstr("zsum with 0.9 of the vectors, chosen"));
  // Scorers that are not hybrids get no notes.
  Bm25Scorer bm25;
  EXPECT_TRUE(evaluate(set.options, bm25).notes.empty());
}

TEST(HybridScorer, DevIsCutIntoTheFoldsOfTheSet) {
  DevSet set;
  set.options.ranking.qrels = set.judge("all.tsv", 0, 8);
  set.options.ranking.folds.folds = 4;
  set.options.ranking.folds.part = "test";
  HybridScorer hybrid = hybrid_of(first_letter, options(0.9));
  for (const std::string& dev : {set.options.ranking.qrels, set.judge("some.tsv", 0, 8)}) {
    set.options.dev = dev;
    for (const int64_t fold : {3, 0}) {
      set.options.ranking.folds.fold = fold;
      const Report report = evaluate(set.options, hybrid);
      EXPECT_EQ(report.examples, 2);
      EXPECT_THAT(report.notes.back(), HasSubstr("chosen on 2 queries of dev"));
    }
  }
  // The part that others choose on has none left to be chosen on.
  set.options.ranking.folds.part = "dev";
  EXPECT_THAT(error_of([&] { load_task(set.options); }), HasSubstr("stands in dev"));
}

TEST(HybridScorer, DevMayNotBeTested) {
  DevSet set;
  set.options.dev = set.judge("both.tsv", 3, 8);
  EXPECT_THAT(error_of([&] { load_task(set.options); }), HasSubstr("'q3' stands in dev"));
  set.options.dev_skip = 1;
  EXPECT_EQ(error_of([&] { load_task(set.options); }), "");
  set.options.dev_skip = 9;
  EXPECT_THAT(error_of([&] { load_task(set.options); }), HasSubstr("both.tsv"));
  set.options.dev_skip = 0;
  set.options.dev = set.files.write("unknown.tsv", "q9 0 d1 1\n");
  EXPECT_THAT(error_of([&] { load_task(set.options); }), HasSubstr("'q9' is not in"));
}

constexpr int64_t kWeights = 21;

TEST(HybridWeight, WeightsAreTwentiethsFromNoughtToOne) {
  const std::vector<double> weights = hybrid_weights();
  ASSERT_EQ(weights.size(), static_cast<size_t>(kWeights));
  EXPECT_EQ(weights[0], 0);
  EXPECT_EQ(weights[8], 0.4);
  EXPECT_EQ(weights[20], 1);
}

TEST(HybridWeight, OneThatIsBestForEveryQueryIsTaken) {
  Matrix<double> values(7, kWeights, 0.25);
  for (int64_t q = 0; q < values.rows; ++q) values.at(q, 13) = 0.5;
  const WeightChoice choice = choose_hybrid_weight(values, 0.4);
  EXPECT_EQ(choice.weight, 0.65);
  EXPECT_EQ(choice.votes.low, 0.65);
  EXPECT_EQ(choice.votes.high, 0.65);
  EXPECT_DOUBLE_EQ(choice.value, 0.5);
}

TEST(HybridWeight, WhereAllAreAlikeThePreferredOneIsTaken) {
  EXPECT_EQ(choose_hybrid_weight(Matrix<double>(3, kWeights, 0.7), 0.4).weight, 0.4);
  EXPECT_EQ(choose_hybrid_weight(Matrix<double>(3, kWeights, 0.7), 0.93).weight, 0.95);
  // The same three numbers, so the same mean, in another order.
  Matrix<double> orders(3, kWeights, 0);
  const double numbers[] = {0.1, 0.7, 1.0 / 3};
  for (int64_t q = 0; q < 3; ++q) {
    for (int64_t w = 0; w < kWeights; ++w) orders.at(q, w) = numbers[(q + w) % 3];
  }
  const WeightChoice choice = choose_hybrid_weight(orders, 0.4);
  EXPECT_NEAR(choice.weight, 0.4, 0.051);
}

// Half of the queries want 0.2, the others 0.8, a little more: the best on all is 0.8, but by
// chance, and samples say so.
TEST(HybridWeight, AFewQueriesDoNotDecideAlone) {
  Matrix<double> values(40, kWeights, 0);
  for (int64_t q = 0; q < values.rows; ++q) {
    const int64_t wanted = q % 2 == 0 ? 4 : 16;
    values.at(q, wanted) = wanted == 4 ? 0.5 : 0.51;
  }
  const WeightChoice choice = choose_hybrid_weight(values, 0.4);
  EXPECT_GT(choice.weight, 0.35);
  EXPECT_LT(choice.weight, 0.7);
  EXPECT_EQ(choice.votes.low, 0.2);
  EXPECT_EQ(choice.votes.high, 0.8);
}

TEST(HybridWeight, IsTheSameForAnyNumberOfThreads) {
  Matrix<double> values(80, kWeights);
  RandomStream stream(3, "values");
  for (double& value : values.values) value = stream.uniform();
  const int threads = thread_count();
  set_thread_count(1);
  const WeightChoice one = choose_hybrid_weight(values, 0.4);
  set_thread_count(2);
  const WeightChoice two = choose_hybrid_weight(values, 0.4);
  set_thread_count(threads);
  EXPECT_EQ(one.weight, two.weight);
  EXPECT_EQ(one.votes.low, two.votes.low);
  EXPECT_EQ(one.votes.high, two.votes.high);
  EXPECT_EQ(one.value, two.value);
}

TEST(HybridWeight, NoQueriesAreAnError) {
  EXPECT_THROW(choose_hybrid_weight(Matrix<double>(0, kWeights), 0.4), Error);
}

}  // namespace
}  // namespace simile
