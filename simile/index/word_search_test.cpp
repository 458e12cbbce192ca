// SPDX-License-Identifier: Apache-2.0
// The search by words against a plain computation of all scores by the formula of BM25.
#include "simile/index/detail/word_search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "simile/core/random.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

namespace fs = std::filesystem;

std::map<std::string, int> counted(const std::string& text) {
  std::map<std::string, int> counts;  // in the order of bytes
  for (const std::string& word : split_words(text)) ++counts[word];
  return counts;
}

// The scores of all texts.
std::vector<double> plain_scores(const std::string& query, const std::vector<std::string>& texts) {
  std::vector<std::map<std::string, int>> documents;
  std::vector<double> lengths;
  double mean = 0;
  for (const std::string& text : texts) {
    documents.push_back(counted(text));
    lengths.push_back(static_cast<double>(split_words(text).size()));
    mean += lengths.back();
  }
  const auto N = static_cast<double>(texts.size());
  mean /= N;
  std::vector<double> scores(texts.size());
  for (const auto& [word, in_query] : counted(query)) {
    double df = 0;
    for (const auto& document : documents) df += static_cast<double>(document.count(word));
    const double idf = std::log(1 + (N - df + 0.5) / (df + 0.5));
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto found = documents[i].find(word);
      if (found == documents[i].end()) continue;
      const double tf = found->second;
      const double length = mean > 0 ? lengths[i] / mean : 0;
      const auto weight = static_cast<float>(idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * length)));
      scores[i] += in_query * static_cast<double>(weight);
    }
  }
  return scores;
}

class WordSearchTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  // A segment of these texts without the rows of `removed`.
  void add(const std::vector<std::string>& texts, const std::set<size_t>& removed) {
    const IndexedModel model{"f", "m", 1, VectorMetric::kInnerProduct};
    std::vector<Document> documents;
    std::vector<VectorKey> keys;
    std::vector<int64_t> removed_keys;
    for (size_t i = 0; i < texts.size(); ++i) {
      documents.push_back({std::to_string(next_key_), texts[i]});
      if (removed.count(i) != 0) {
        removed_keys.push_back(next_key_);
      } else {
        texts_.push_back(texts[i]);
        rows_.push_back((static_cast<int64_t>(segments_.size()) << kGraphShift) +
                        static_cast<int64_t>(i));
      }
      keys.push_back({next_key_++, 0});
    }
    const int64_t number = static_cast<int64_t>(segments_.size()) + 1;
    SegmentSink sink(folder_, model, number);
    sink.add(documents, Matrix<float>(static_cast<int64_t>(texts.size()), 1), keys);
    const SegmentRow row = sink.finish().at(0);
    segments_.emplace_back(std::make_shared<const Segment>(segment_path(folder_, number),
                                                           segment_kind(model, number), row),
                           removed_keys, nullptr);
  }

  // Compares all results of a query.
  void expect_as_plain(const std::string& query, const std::vector<char>* allowed) const {
    const std::vector<double> expected = plain_scores(query, texts_);
    const auto N = static_cast<int64_t>(texts_.size());
    const WordSearch search(segments_);
    ASSERT_EQ(search.documents(), N);
    const WordQuery words = search.prepare(query);
    std::vector<double> scores(texts_.size());
    search.score_all(words, scores.data());
    ASSERT_EQ(scores, expected);
    EXPECT_EQ(search.highest(words), *std::max_element(expected.begin(), expected.end()));

    std::vector<int64_t> places, some;
    for (int64_t place = 0; place < N; ++place) {
      const auto at = static_cast<size_t>(place);
      if (place % 3 == 1) some.push_back(rows_[at]);
      ASSERT_EQ(search.place(rows_[at]), place);
      if (expected[at] > 0 && (allowed == nullptr || (*allowed)[at] != 0)) places.push_back(place);
    }
    std::vector<double> of_some(some.size(), -1);
    search.score(words, some, of_some.data());
    for (size_t i = 0; i < some.size(); ++i) ASSERT_EQ(of_some[i], expected[3 * i + 1]);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
      return expected[static_cast<size_t>(a)] > expected[static_cast<size_t>(b)];
    });
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{10}, int64_t{100}, N + 5}) {
      const std::vector<WordHit> hits = search.best(words, k, allowed);
      ASSERT_EQ(hits.size(), std::min(static_cast<size_t>(k), places.size())) << query << " " << k;
      for (size_t i = 0; i < hits.size(); ++i) {
        const auto at = static_cast<size_t>(places[i]);
        ASSERT_EQ(hits[i].row, rows_[at]) << query << " " << k << " " << i;
        ASSERT_EQ(hits[i].score, expected[at]);
      }
    }
  }

  const std::string folder_ = testing::TempDir() + "simile_word_search_" + std::to_string(getpid());
  std::vector<LiveSegment> segments_;
  std::vector<std::string> texts_;  // of the live documents
  std::vector<int64_t> rows_;
  int64_t next_key_ = 1;
};

// Words by Zipf's law: "w0" is in most texts, most others in few.
std::string random_text(RandomStream& stream, uint64_t most) {
  std::string text;
  for (uint64_t left = stream.below(most + 1); left > 0; --left) {
    text += fmt::format("w{} ", static_cast<int>(std::pow(1000.0, stream.uniform())) - 1);
  }
  return text;
}

TEST_F(WordSearchTest, IsTheFormulaToTheBitWhateverTheSegments) {
  for (uint64_t round = 0; round < 12; ++round) {
    RandomStream stream(round, "word search");
    TearDown();
    segments_.clear();
    texts_.clear();
    rows_.clear();
    const uint64_t segments = 1 + stream.below(4);
    for (uint64_t s = 0; s < segments; ++s) {
      // A segment whose documents are longer than others has another mean length.
      const uint64_t rows = 1 + stream.below(s == 0 ? 700 : 90), most = stream.below(60);
      std::vector<std::string> texts;
      std::set<size_t> removed;
      for (uint64_t i = 0; i < rows; ++i) {
        const bool is_twin = !texts.empty() && stream.below(4) == 0;  // equal scores
        texts.push_back(is_twin ? texts[stream.below(texts.size())] : random_text(stream, most));
        if (round % 2 == 1 && stream.below(5) == 0) removed.insert(i);
      }
      removed.erase(0);
      add(texts, removed);
    }
    for (int i = 0; i < 6; ++i) {
      std::vector<char> allowed(texts_.size());
      const uint64_t share = 1 + stream.below(30);
      for (char& one : allowed) one = stream.below(share) == 0 ? 1 : 0;
      const std::string query = random_text(stream, i < 3 ? 3 : 30) + (i == 5 ? "w0 unknown" : "");
      expect_as_plain(query, i % 2 == 0 ? nullptr : &allowed);
    }
  }
}

TEST_F(WordSearchTest, CountsLengthsAndQueriesOfAnySize) {
  std::string often, many;
  for (int i = 0; i < 3000; ++i) {
    often += "w0 w1 w0 ";
    many += fmt::format("w{} ", i);
  }
  std::vector<std::string> texts = {often, "", "w0", "w0 w1", many, "w5 w5 w5 w5 w5 w5 w5 w5 w6"};
  for (int i = 0; i < 300; ++i) texts.push_back(fmt::format("w{} w0 w{}", i, i % 7));
  add(texts, {3});
  add({"w1", often + many}, {});
  for (const std::string& query : {std::string("w0"), std::string("w5 w1"), many, often}) {
    expect_as_plain(query, nullptr);
  }
}

TEST_F(WordSearchTest, WithoutWordsNothingIsFound) {
  add({"", "?!"}, {});
  expect_as_plain("w0", nullptr);
  expect_as_plain("", nullptr);
}

}  // namespace
}  // namespace simile::detail
