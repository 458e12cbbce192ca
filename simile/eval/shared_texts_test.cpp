// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/shared_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/eval/embedding_scorer.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/task.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

// Asks for texts and does nothing else.
class TextTask : public Task {
 public:
  TextTask(Texts left, Texts right) : left_(std::move(left)), right_(std::move(right)) {}
  Report evaluate(Scorer&, const std::string&, Predictions*) const override { return {}; }
  Texts metric_names() const override { return {}; }
  Texts warnings() const override { return {}; }
  TestTexts texts() const override {
    TestTexts texts;
    texts.left = &left_;
    texts.right = right_.empty() ? nullptr : &right_;
    return texts;
  }

 private:
  Texts left_, right_;
};

// A text is embedded as its length and its first byte.
class Embedder {
 public:
  EmbedTexts embed() {
    return [this](const Texts& texts) {
      calls.push_back(texts);
      Matrix<float> vectors(static_cast<int64_t>(texts.size()), 2);
      for (size_t i = 0; i < texts.size(); ++i) {
        vectors.at(static_cast<int64_t>(i), 0) = static_cast<float>(texts[i].size());
        vectors.at(static_cast<int64_t>(i), 1) = static_cast<float>(texts[i][0]);
      }
      return vectors;
    };
  }
  std::vector<Texts> calls;
};

TEST(SharedTexts, AreThoseOfSeveralTasks) {
  const TextTask dev({"who", "what"}, {"a", "b", "b"}), test({"who", "where"}, {"b", "a", "c"}),
      classes({"where", "where"}, {});
  const SharedTexts shared({&dev, &test, &classes});
  EXPECT_EQ(shared.size(), 4);
  std::vector<int64_t> places;
  for (const char* text : {"who", "a", "b", "where"}) places.push_back(shared.place(text));
  std::sort(places.begin(), places.end());
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 3));
  for (const char* text : {"what", "c", "", "nowhere"}) EXPECT_LT(shared.place(text), 0) << text;
  EXPECT_EQ(SharedTexts({&dev}).size(), 0);
  EXPECT_EQ(SharedTexts({&dev}, 2).size(), 4);
  EXPECT_EQ(SharedTexts({}).size(), 0);
}

TEST(SharedTexts, AreEmbeddedOnceAndOthersEachTime) {
  const TextTask one({"b", "ccc", "dd"}, {}), other({"dd", "b"}, {});
  const auto shared = std::make_shared<const SharedTexts>(std::vector<const Task*>{&one, &other});
  Embedder plain, counted;
  const EmbedTexts once = embed_shared_once(counted.embed(), shared);
  for (const Texts& texts : std::vector<Texts>{
           {"a", "b"}, {"b"}, {"ccc", "b", "a", "dd"}, {"dd", "e", "b"}, {"dd", "b"}, {}}) {
    EXPECT_EQ(once(texts).values, plain.embed()(texts).values);
  }
  EXPECT_THAT(counted.calls,
              ElementsAre(Texts{"a", "b"}, Texts{"ccc", "a", "dd"}, Texts{"e"}, IsEmpty()));
}

TEST(SharedTexts, ScorersGiveTheSameWithThem) {
  const Texts corpus = {"red", "green", "blue", "red"};
  const TextTask dev({"r", "green"}, corpus), test({"bl"}, corpus);
  const auto shared = std::make_shared<const SharedTexts>(std::vector<const Task*>{&dev, &test});
  Embedder embedder;
  EmbeddingScorer plain("plain", embedder.embed());
  const auto vectors = std::make_shared<EmbeddingScorer>("once", embedder.embed());
  HybridScorer hybrid("hybrid:once", make_lexical_scorer("bm25"), vectors);
  hybrid.embed_once(shared);
  for (const Texts& queries : {Texts{"r", "green"}, Texts{"bl"}}) {
    const auto expected = plain.rank(queries, corpus, {}, 0);
    embedder.calls.clear();
    const auto found = vectors->rank(queries, corpus, {}, 0);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t q = 0; q < found.size(); ++q) {
      for (size_t i = 0; i < corpus.size(); ++i) {
        EXPECT_EQ(found[q][i].document, expected[q][i].document);
        EXPECT_EQ(found[q][i].score, expected[q][i].score);
      }
    }
  }
  EXPECT_THAT(embedder.calls, ElementsAre(Texts{"bl"}));
  // Texts of pairs are embedded as documents without a prompt of their own are.
  vectors->score_pairs({"red"}, {"blue"});
  EXPECT_EQ(embedder.calls.size(), 1U);
}

TEST(SharedTexts, AreEmbeddedOnceForAModelAndItsHybrid) {
  const Texts corpus = {"red", "green", "blue", "red"}, queries = {"r", "bl"};
  const TextTask task(queries, corpus);
  Embedder embedder, alone;
  const auto vectors = std::make_shared<EmbeddingScorer>("model", embedder.embed());
  vectors->embed_once(std::make_shared<const SharedTexts>(std::vector<const Task*>{&task}, 2));
  HybridScorer hybrid("hybrid:model", make_lexical_scorer("bm25"), vectors);
  hybrid.embed_once(std::make_shared<const SharedTexts>(std::vector<const Task*>{&task}));
  HybridScorer other("hybrid:other", make_lexical_scorer("bm25"),
                     std::make_shared<EmbeddingScorer>("other", alone.embed()));
  vectors->rank(queries, corpus, {}, 0);
  const auto found = hybrid.rank(queries, corpus, {}, 0);
  const auto expected = other.rank(queries, corpus, {}, 0);
  for (size_t q = 0; q < queries.size(); ++q) {
    for (size_t i = 0; i < corpus.size(); ++i) {
      EXPECT_EQ(found[q][i].document, expected[q][i].document);
      EXPECT_EQ(found[q][i].score, expected[q][i].score);
    }
  }
  EXPECT_THAT(embedder.calls,
              ElementsAre(Texts{"r", "bl", "red", "green", "blue"}, spread_texts()));
}

TEST(SharedTexts, AreKeptForEachPromptApart) {
  const Texts corpus = {"red", "green"};
  const TextTask dev({"r"}, corpus), test({"r"}, corpus);
  Embedder plain, documents;
  EmbeddingScorer scorer("prompted", plain.embed(), Similarity::kDot, {nullptr, documents.embed()});
  scorer.embed_once(std::make_shared<const SharedTexts>(std::vector<const Task*>{&dev, &test}));
  scorer.rank({"r"}, corpus, {}, 0);
  scorer.score_pairs({"red"}, {"green"});
  scorer.rank({"r"}, corpus, {}, 0);
  EXPECT_THAT(documents.calls, ElementsAre(Texts{"r", "red", "green"}));
  EXPECT_THAT(plain.calls, ElementsAre(Texts{"red", "green"}));
}

}  // namespace
}  // namespace simile
