// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

std::vector<int64_t> documents_of(const Ranking& ranking) {
  std::vector<int64_t> documents;
  for (const RankedDocument& document : ranking) documents.push_back(document.document);
  return documents;
}

TEST(BestDocuments, KeepsTheBestAndTiesByPosition) {
  for (const int64_t depth : {0, 1, 3, 5, 9}) {
    const double scores[] = {1, 5, 5, -2, 5};
    Ranking found;
    for (const int64_t d : {4, 2, 0, 3, 1}) found.push_back({d, scores[d]});
    std::vector<int64_t> expected = {1, 2, 4, 0, 3};
    if (depth > 0) expected.resize(static_cast<size_t>(std::min<int64_t>(depth, 5)));
    EXPECT_EQ(documents_of(best_documents(found, depth)), expected) << depth;
  }
}

// A text "x y" is its own embedding {x, y}.
Matrix<float> read_numbers(const Texts& texts) {
  Matrix<float> embeddings(static_cast<int64_t>(texts.size()), 2);
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    std::sscanf(texts[static_cast<size_t>(i)].c_str(), "%f %f", embeddings.row(i),
                embeddings.row(i) + 1);
  }
  return embeddings;
}

TEST(EmbeddingScorer, LiteralCasesOfEverySimilarity) {
  const struct {
    Similarity similarity;
    double score, ranking_score;
  } cases[] = {{Similarity::kCosine, 0.6, 0.6},
               {Similarity::kDot, 6, 6},
               {Similarity::kEuclidean, -std::sqrt(17.0), -17},
               {Similarity::kManhattan, -5, -5}};
  for (const auto& c : cases) {
    EmbeddingScorer scorer("m", read_numbers, c.similarity);
    const auto scores = scorer.score_pairs({"2 0", "0 0"}, {"3 4", "0 0"});
    EXPECT_NEAR(scores[0], c.score, 1e-12);
    EXPECT_EQ(scores[1], 0);
    const auto rankings = scorer.rank({"2 0"}, {"0 0", "3 4"}, {{1}}, 0);
    EXPECT_NEAR(rankings[0][0].score, c.ranking_score, 1e-6);
  }
}

TEST(EmbeddingScorer, EncodesEachDistinctTextOnce) {
  std::vector<Texts> calls;
  EmbeddingScorer scorer("m", [&](const Texts& texts) {
    calls.push_back(texts);
    return read_numbers(texts);
  });
  scorer.score_pairs({"1 0", "1 0", "0 1"}, {"0 1", "1 1", "0 1"});
  scorer.rank({"1 0"}, {"1 0", "0 1", "0 1"}, {}, 2);
  EXPECT_THAT(calls, ElementsAre(ElementsAre("1 0", "0 1", "1 1"), ElementsAre("1 0", "0 1")));
}

TEST(EmbeddingScorer, OfACorpusOnlyCandidatesAreEmbedded) {
  std::vector<Texts> calls;
  EmbeddingScorer scorer("m", [&](const Texts& texts) {
    calls.push_back(texts);
    return read_numbers(texts);
  });
  const Texts queries = {"1 0", "0 1", "1 1"}, corpus = {"9 9", "0 2", "2 0", "9 9", "0 2", "3 3"};
  const auto ranked = scorer.rank(queries, corpus, {{4, 2, 1}, {}, {5, 2}}, 2);
  EXPECT_THAT(calls, ElementsAre(ElementsAre("1 0", "0 1", "1 1", "0 2", "2 0", "3 3")));
  ASSERT_EQ(ranked.size(), 3u);
  EXPECT_THAT(documents_of(ranked[0]), ElementsAre(2, 1));  // 1 and 4 tie
  EXPECT_THAT(documents_of(ranked[1]), ElementsAre());
  EXPECT_THAT(documents_of(ranked[2]), ElementsAre(5, 2));
  EXPECT_EQ(scorer.rank(queries, corpus, {{}, {}, {}}, 2).size(), 3u);
  EXPECT_EQ(calls.size(), 1u);
}

TEST(EmbeddingScorer, QueriesAndDocumentsMayBeEmbeddedInTheirOwnWay) {
  const auto swap = [](const Texts& texts) {
    Matrix<float> embeddings = read_numbers(texts);
    for (int64_t i = 0; i < embeddings.rows; ++i) {
      std::swap(embeddings.at(i, 0), embeddings.at(i, 1));
    }
    return embeddings;
  };
  const struct {
    EmbeddingScorer::Retrieval retrieval;
    std::vector<int64_t> ranking;
  } cases[] = {{{swap, nullptr}, {1, 0}}, {{swap, swap}, {0, 1}}, {{nullptr, swap}, {0, 1}}};
  for (const auto& c : cases) {
    EmbeddingScorer scorer("m", read_numbers, Similarity::kDot, c.retrieval);
    EXPECT_THAT(scorer.score_pairs({"1 0"}, {"1 0"}), ElementsAre(1));
    EXPECT_EQ(documents_of(scorer.rank({"1 0"}, {"1 0", "0 1"}, {}, 0)[0]), c.ranking);
  }
}

TEST(EmbeddingScorer, BrokenEmbeddingsAreErrors) {
  EmbeddingScorer infinite("m", [](const Texts& texts) {
    return Matrix<float>(static_cast<int64_t>(texts.size()), 2, INFINITY);
  });
  EXPECT_THROW(infinite.score_pairs({"a"}, {"b"}), Error);
  EXPECT_THROW(infinite.rank({"a"}, {"b"}, {}, 0), Error);
  EmbeddingScorer short_of_rows("m", [](const Texts&) { return Matrix<float>(1, 2); });
  EXPECT_THROW(short_of_rows.score_pairs({"a"}, {"b"}), Error);
}

Matrix<float> random_embeddings(const Texts& texts) {
  Matrix<float> embeddings(static_cast<int64_t>(texts.size()), 37);
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    RandomStream stream(7, texts[static_cast<size_t>(i)]);
    for (int64_t d = 0; d < embeddings.cols; ++d) {
      embeddings.at(i, d) = static_cast<float>(stream.normal());
    }
  }
  return embeddings;
}

TEST(EmbeddingScorer, EqualVectorsHaveCosinesThatTie) {
  EmbeddingScorer scorer("m", random_embeddings);
  Texts texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i));
  for (const double cosine : scorer.score_pairs(texts, texts)) EXPECT_EQ(cosine, 1);
  EmbeddingScorer zeros(
      "m", [](const Texts& some) { return Matrix<float>(static_cast<int64_t>(some.size()), 2); });
  EXPECT_THAT(zeros.score_pairs({"a"}, {"a"}), ElementsAre(0));
}

TEST(EmbeddingScorer, TheScanFindsWhatAFullSortFindsForAnyNumberOfThreads) {
  Texts queries, corpus;
  for (int i = 0; i < 40; ++i) queries.push_back("q" + std::to_string(i));
  for (int i = 0; i < 500; ++i) corpus.push_back("d" + std::to_string(i % 450));  // some twice
  const int threads = thread_count();
  for (const Similarity similarity :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    EmbeddingScorer scorer("m", random_embeddings, similarity);
    set_thread_count(1);
    const auto all = scorer.rank(queries, corpus, {}, 0);
    const auto one = scorer.rank(queries, corpus, {}, 10);
    set_thread_count(2);
    const auto two = scorer.rank(queries, corpus, {}, 10);
    for (size_t q = 0; q < queries.size(); ++q) {
      ASSERT_EQ(all[q].size(), corpus.size());
      for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(one[q][i].document, all[q][i].document);
        EXPECT_EQ(one[q][i].score, all[q][i].score);
        EXPECT_EQ(two[q][i].document, one[q][i].document);
        EXPECT_EQ(two[q][i].score, one[q][i].score);
      }
      const Texts ten(10, queries[q]);
      Texts found;
      for (size_t i = 0; i < 10; ++i) {
        found.push_back(corpus[static_cast<size_t>(one[q][i].document)]);
      }
      const auto exact = scorer.score_pairs(ten, found);
      for (size_t i = 0; i < 10; ++i) {
        const bool squared = similarity == Similarity::kEuclidean;
        EXPECT_NEAR(one[q][i].score, squared ? -exact[i] * exact[i] : exact[i], 2e-4);
      }
    }
  }
  set_thread_count(threads);
}

TEST(EmbeddingScorer, AnIndexOfTheSameVectorsRanksAlikeToTheLastBit) {
  Texts queries, corpus;
  for (int i = 0; i < 40; ++i) queries.push_back("q" + std::to_string(i));
  for (int i = 0; i < 500; ++i) corpus.push_back("d" + std::to_string(i % 450));  // some twice
  std::vector<Document> documents;
  for (size_t i = 0; i < corpus.size(); ++i) documents.push_back({std::to_string(i), corpus[i]});
  const std::string folder =
      testing::TempDir() + "simile_scorer_test_" + std::to_string(getpid()) + "_index";
  const std::vector<std::vector<int64_t>> candidates(queries.size(), {499, 3, 250, 7});
  for (const Similarity similarity :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    Matrix<float> rows = random_embeddings(corpus), wanted = random_embeddings(queries);
    if (similarity == Similarity::kCosine) {
      normalise_rows(rows.values.data(), rows.rows, rows.cols);
      normalise_rows(wanted.values.data(), wanted.rows, wanted.cols);
    }
    IndexBuilder builder(folder, {"f", "m", rows.cols, ranking_metric(similarity)});
    builder.add(documents, rows);
    builder.commit();
    const auto found = SearchIndex::open(folder, "f", "m").search(wanted, 500);
    EmbeddingScorer scorer("m", random_embeddings, similarity);
    const auto ranked = scorer.rank(queries, corpus, {}, 0);
    const auto some = scorer.rank(queries, corpus, candidates, 0);
    for (size_t q = 0; q < queries.size(); ++q) {
      std::map<int64_t, double> score_of;
      for (size_t i = 0; i < 500; ++i) {
        ASSERT_EQ(std::to_string(ranked[q][i].document), found[q][i].id);
        ASSERT_EQ(ranked[q][i].score, found[q][i].score);
        score_of[ranked[q][i].document] = found[q][i].score;
      }
      ASSERT_EQ(some[q].size(), 4u);
      for (const RankedDocument& document : some[q]) {
        EXPECT_EQ(document.score, score_of[document.document]);
      }
    }
  }
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HeadOutput output_of(const std::string& kind, std::vector<std::string> classes, int64_t columns,
                     std::vector<float> logits) {
  HeadOutput output{kind, std::move(classes), Matrix<float>(0, columns)};
  output.logits.rows = static_cast<int64_t>(logits.size()) / columns;
  output.logits.values = std::move(logits);
  return output;
}

TEST(HeadOutput, ClassesAreMadeProbableBySoftmax) {
  const HeadOutput output =
      output_of("classes", {"a", "b", "c"}, 3, {0, std::log(2.f), 0, 1000, 0, 1000});
  const Matrix<double> p = class_probabilities(output, 2);
  EXPECT_NEAR(p.at(0, 0), 0.25, 1e-7);
  EXPECT_NEAR(p.at(0, 1), 0.5, 1e-7);
  EXPECT_DOUBLE_EQ(p.at(1, 0), 0.5);
  EXPECT_DOUBLE_EQ(p.at(1, 1), 0);
}

TEST(HeadOutput, AProbabilityIsThatOfTheSecondClass) {
  const float z = std::log(3.f);
  const HeadOutput output = output_of("probability", {}, 1, {z, -z, 0, -800});
  EXPECT_THAT(head_classes(output), ElementsAre("0", "1"));
  const Matrix<double> p = class_probabilities(output, 4);
  const std::vector<double> scores = head_scores(output, 4);
  const double expected[] = {0.75, 0.25, 0.5, 0};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(p.at(i, 1), expected[i], 1e-7);
    EXPECT_NEAR(p.at(i, 0), 1 - expected[i], 1e-7);
    EXPECT_EQ(scores[static_cast<size_t>(i)], p.at(i, 1));
  }
  EXPECT_THAT(head_classes(output_of("probability", {"no", "yes"}, 1, {})),
              ElementsAre("no", "yes"));
}

TEST(HeadOutput, PairsAreScoredByOneNumberOrByTwoClasses) {
  EXPECT_THAT(head_scores(output_of("score", {}, 1, {-2.5, 4}), 2), ElementsAre(-2.5, 4));
  const HeadOutput two = output_of("classes", {"no", "yes"}, 2, {0, std::log(4.f)});
  EXPECT_NEAR(head_scores(two, 1)[0], 0.8, 1e-7);
}

TEST(HeadOutput, WhatAHeadDoesNotGiveIsAnError) {
  const HeadOutput score = output_of("score", {}, 1, {1});
  const HeadOutput three = output_of("classes", {"a", "b", "c"}, 3, {1, 2, 3});
  EXPECT_THAT(error_of([&] { head_classes(score); }), HasSubstr("found one that gives score"));
  EXPECT_THAT(error_of([&] { head_scores(three, 1); }),
              HasSubstr("one with 3 classes; evaluate it with the task classification"));
  EXPECT_THAT(error_of([&] { class_probabilities(three, 2); }),
              HasSubstr("expected logits of 2 x 3 of a head that gives classes, found 1 x 3"));
  EXPECT_THAT(error_of([&] {
                head_scores(output_of("score", {}, 1, {1, NAN}), 2);
              }),
              HasSubstr("example 1 (from 0) are not finite"));
}

}  // namespace
}  // namespace simile
