// SPDX-License-Identifier: Apache-2.0
// Search by vectors and words from candidates, beside the same search of all documents.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_graph.h"
#include "simile/index/detail/sqlite.h"
#include "simile/neighbours/detail/planted_vectors_test.h"

namespace simile {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kHybridD = 12;
constexpr int64_t kDocuments = 3000;

// Words as in a language: the n-th is about as frequent as 1 / n.
std::string rare_and_common(RandomStream& stream, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("w{} ", static_cast<int64_t>(std::pow(2000.0, stream.uniform())));
  }
  return text;
}

class HybridSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_hybrid_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Documents [begin, begin + count) of a corpus, many of which share words and some all of them.
  std::vector<Document> documents(int64_t begin, int64_t count, bool splits) const {
    std::vector<Document> made;
    for (int64_t i = begin; i < begin + count; ++i) {
      RandomStream stream(static_cast<uint64_t>(i % 2500), "document");
      Document document{fmt::format("d{}", i), rare_and_common(stream, 12),
                        fmt::format(R"({{"percent":{},"n":{}}})", i % 100, i)};
      if (splits && i % 3 == 0) {
        const auto size = static_cast<int64_t>(document.text.size());
        document.passages = {{0, size / 2}, {size / 3, size}};
      }
      made.push_back(std::move(document));
    }
    return made;
  }

  static Matrix<float> vectors(int64_t begin, int64_t count) {
    static const Matrix<float> all = detail::planted_vectors(8000, kHybridD, 200, 0.5);
    Matrix<float> some(count, kHybridD);
    std::copy_n(all.row(begin), count * kHybridD, some.values.begin());
    for (int64_t i = 0; i < count; ++i) {
      float square = 0;
      for (int64_t d = 0; d < kHybridD; ++d) square += some.row(i)[d] * some.row(i)[d];
      for (int64_t d = 0; d < kHybridD; ++d) some.row(i)[d] /= std::sqrt(square);
    }
    return some;
  }

  static Matrix<float> vectors_of(const std::vector<Document>& documents, int64_t begin) {
    int64_t count = 0;
    for (const Document& document : documents) count += document.vectors();
    return vectors(begin, count);
  }

  void build(const std::string& approximate = "never", bool splits = false,
             StoredNumber numbers = StoredNumber::kFp32,
             const SearchSettings& settings = {}) const {
    IndexedModel model{"f", "m", kHybridD, VectorMetric::kInnerProduct};
    model.vectors = numbers;
    model.spread = 0.8;
    if (splits) model.passages = {16, 4};
    SearchSettings with = settings;
    with.approximate.approximate = approximate;
    IndexBuilder builder(folder_, model, true, with);
    const std::vector<Document> all = documents(0, kDocuments, splits);
    builder.add(all, vectors_of(all, 0));
    builder.commit();
  }

  SearchIndex open() const {
    return SearchIndex::open(folder_, "f", "m", SearchIndex::Access::kWrite);
  }

  // Removals, updates and additions, which are in segments of their own.
  static void change(SearchIndex& index, const HybridSearchTest& test, bool splits) {
    std::vector<std::string> gone;
    for (int64_t i = 0; i < kDocuments; i += 7) gone.push_back(fmt::format("d{}", i));
    index.remove(gone);
    const std::vector<Document> added = test.documents(kDocuments, 300, splits);
    index.add(added, vectors_of(added, 5000));
    const std::vector<Document> updated = test.documents(20, 6, splits);
    index.add(updated, vectors_of(updated, 6000));
  }

  static SearchQueries queries(const std::string& filter, int64_t count = 24) {
    SearchQueries queries;
    queries.vectors = vectors(7000, count);
    for (int64_t i = 0; i < count; ++i) {
      RandomStream stream(static_cast<uint64_t>(i), "query");
      queries.texts.push_back(i == 0 ? "absent"
                                     : rare_and_common(stream, 1 + static_cast<int>(i % 9)));
    }
    if (!filter.empty()) queries.filter = MetadataFilter(filter);
    return queries;
  }

  std::string folder_;
};

const char* const kSelections[] = {"", "percent = 7", "percent < 10", "percent < 50", "n > 99999"};

std::vector<SearchSettings> fusions() {
  return {{"hybrid", {0, "cosine"}}, {"hybrid", {0.4, "cosine"}}, {"hybrid", {0.875, "cosine"}},
          {"hybrid", {1, "cosine"}}, {"hybrid", {0.7, "max"}},    {"hybrid", {0.5, "zsum"}}};
}

void expect_equal(const SearchHit& hit, const SearchHit& expected) {
  EXPECT_EQ(hit.id, expected.id);
  EXPECT_EQ(hit.text, expected.text);
  EXPECT_EQ(hit.score, expected.score);
  EXPECT_EQ(hit.by_vector, expected.by_vector);
  EXPECT_EQ(hit.by_words, expected.by_words);
}

// All rules and filters, against a score of every document.
void expect_exhaustive(const SearchIndex& index, SearchQueries queries) {
  for (const SearchSettings& settings : fusions()) {
    for (const int64_t top_k : {3, 40}) {
      SCOPED_TRACE(fmt::format("{} {} {}", settings.fusion.rule, settings.fusion.weight, top_k));
      queries.exact = false;
      const auto found = index.search(queries, top_k, settings);
      queries.exact = true;
      const auto all = index.search(queries, top_k, settings);
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(found[i].size(), all[i].size());
        for (size_t j = 0; j < all[i].size(); ++j) expect_equal(found[i][j], all[i][j]);
      }
    }
  }
}

TEST_F(HybridSearchTest, FindsWhatAScoreOfEveryDocumentFindsToTheBit) {
  for (const bool splits : {false, true}) {
    for (const StoredNumber numbers :
         {StoredNumber::kFp32, StoredNumber::kFp16, StoredNumber::kInt8}) {
      SCOPED_TRACE(fmt::format("{} {}", splits, number_name(numbers)));
      build("never", splits, numbers);
      SearchIndex index = open();
      expect_exhaustive(index, queries(""));
      change(index, *this, splits);
      for (const char* filter : kSelections) {
        SCOPED_TRACE(filter);
        expect_exhaustive(index, queries(filter, 8));
      }
    }
  }
}

// The share of the exhaustive hits that are found; those have the same scores.
double agreement(const SearchIndex& index, SearchQueries queries, const SearchSettings& settings) {
  const auto found = index.search(queries, 10, settings);
  queries.exact = true;
  const auto all = index.search(queries, 10, settings);
  size_t good = 0, wanted = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(found[i].size(), all[i].size());
    std::map<std::string, SearchHit> expected;
    for (const SearchHit& hit : all[i]) expected.emplace(hit.id, hit);
    for (const SearchHit& hit : found[i]) {
      const auto same = expected.find(hit.id);
      if (same == expected.end()) continue;
      expect_equal(hit, same->second);
      ++good;
    }
    wanted += all[i].size();
  }
  return wanted == 0 ? 1 : static_cast<double>(good) / static_cast<double>(wanted);
}

TEST_F(HybridSearchTest, AGraphFindsNearlyAllOfThemAndTellsIt) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "skipped: takes minutes under ThreadSanitizer";
#endif
  for (const bool splits : {false, true}) {
    build("always", splits);
    SearchIndex index = open();
    ASSERT_TRUE(index.info().graph);
    EXPECT_GE(index.info().graph->agreement, 0.99);
    for (const bool changed : {false, true}) {
      if (changed) change(index, *this, splits);
      for (const char* filter : kSelections) {
        for (const SearchSettings& settings : fusions()) {
          SCOPED_TRACE(fmt::format("{} {} '{}' {} {}", splits, changed, filter,
                                   settings.fusion.rule, settings.fusion.weight));
          EXPECT_GE(agreement(index, queries(filter), settings), 0.97);
        }
      }
    }
  }
}

TEST_F(HybridSearchTest, AGraphThatDisagreedIsNotWalked) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "skipped: takes minutes under ThreadSanitizer";
#endif
  build("always");
  {
    detail::Database store(detail::documents_path(folder_), detail::Database::Access::kWrite);
    detail::Transaction transaction(store, detail::Transaction::Kind::kWrite);
    StoreState state = detail::read_state(store);
    state.graph->agreed = 10000;
    state.graph->fused_breadth = 0;
    store.execute("UPDATE graph SET agreed = 10000, fused_breadth = 0");
    detail::write_state(store, state);
    transaction.commit();
  }
  SearchIndex index = open();
  ASSERT_TRUE(index.info().graph.has_value());
  EXPECT_EQ(index.info().graph->agreement, 1);
  expect_exhaustive(index, queries("percent < 50"));
  check_index(folder_);
}

TEST_F(HybridSearchTest, AnIndexSearchedByWordsGetsNoGraphByItself) {
  StoreState state;
  state.segments = {{1, 1, 60000, 60000, ""}};
  SearchSettings settings;
  EXPECT_TRUE(detail::needs_graph(state, settings));
  settings.mode = "lexical";
  EXPECT_FALSE(detail::needs_graph(state, settings));
  settings.approximate.approximate = "always";
  EXPECT_TRUE(detail::needs_graph(state, settings));
}

// The scan says so, also where candidates would hide it.
TEST_F(HybridSearchTest, TheRuleMaxTakesCosinesAlone) {
  IndexBuilder builder(folder_, {"f", "m", kHybridD, VectorMetric::kInnerProduct});
  Matrix<float> long_vectors = vectors(0, kDocuments);
  for (float& value : long_vectors.values) value *= 3;
  builder.add(documents(0, kDocuments, false), long_vectors);
  builder.commit();
  try {
    open().search(queries(""), 10, {"hybrid", {0.5, "max"}});
    ADD_FAILURE() << "searched";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("the rule max takes cosines"));
  }
}

}  // namespace
}  // namespace simile
