// SPDX-License-Identifier: Apache-2.0
// An index that is changed again and again, by itself or while others search in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/index/detail/index_setup_test.h"

namespace simile {
namespace {

using detail::PlainIndex;
using detail::vectors_of_texts;
namespace fs = std::filesystem;

constexpr int64_t kD = 6;

class IndexChangesTest : public testing::Test {
 protected:
  IndexChangesTest() { fs::remove_all(folder_); }
  ~IndexChangesTest() override { fs::remove_all(folder_); }

  void build(VectorMetric metric, const std::vector<Document>& documents = {}) const {
    IndexBuilder builder(folder_, {"f", "m", kD, metric});
    if (!documents.empty()) builder.add(documents, vectors_of_texts(documents, kD));
    builder.commit();
  }

  SearchIndex open(SearchIndex::Access access = SearchIndex::Access::kRead) const {
    return SearchIndex::open(folder_, "f", "m", access);
  }

  const std::string folder_ = testing::TempDir() + "simile_index_changes_" +
                              std::to_string(getpid()) +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

// All documents with their vectors, and the hits of one array of them, to the bit.
void expect_equal(const SearchIndex& index, const PlainIndex& plain, VectorMetric metric) {
  const std::vector<Document> documents = plain.documents();
  const Matrix<float> rows = vectors_of_texts(documents, kD);
  const Matrix<float> queries = vectors_of_texts({{"", "one"}, {"", "two"}, {"", "three"}}, kD);
  const auto wanted =
      exact_search(rows.values.data(), rows.rows, queries.values.data(), 3, kD, 20, metric);
  const auto found = index.search(queries, 20);
  size_t next = 0;
  index.for_each([&](const Document& document, int64_t, const float* vector) {
    ASSERT_LT(next, documents.size());
    ASSERT_EQ(document.id, documents[next].id);
    ASSERT_EQ(document.text, documents[next].text);
    ASSERT_TRUE(std::equal(vector, vector + kD, rows.row(static_cast<int64_t>(next++))));
  });
  ASSERT_EQ(next, documents.size());
  ASSERT_EQ(index.info().count, rows.rows);
  for (size_t q = 0; q < 3; ++q) {
    ASSERT_EQ(found[q].size(), wanted[q].size());
    for (size_t i = 0; i < found[q].size(); ++i) {
      const Document& document = documents[static_cast<size_t>(wanted[q][i].id)];
      ASSERT_EQ(found[q][i].id, document.id);
      ASSERT_EQ(found[q][i].text, document.text);
      ASSERT_EQ(found[q][i].score, wanted[q][i].score);
    }
  }
}

TEST_F(IndexChangesTest, AnyChangesLeaveWhatOneArrayOfAllDocumentsWouldFind) {
  std::mt19937 random(3);
  const auto below = [&](unsigned count) { return random() % count; };
  for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                    VectorMetric::kAbsoluteDistance}) {
    PlainIndex plain;
    build(metric);
    SearchIndex index = open(SearchIndex::Access::kWrite);
    const SearchIndex reader = open();
    for (int round = 0; round < 60; ++round) {
      const unsigned kind = below(20);
      if (kind == 0) {
        index.merge();
      } else if (kind < 5) {
        std::vector<std::string> ids;
        for (const Document& document : plain.documents()) {
          if (below(kind == 1 ? 2 : 30) == 0) ids.push_back(document.id);
        }
        plain.remove(ids);
        EXPECT_EQ(index.remove(ids), static_cast<int64_t>(ids.size()));
      } else {
        std::vector<Document> documents;
        const unsigned count = kind < 15 ? 1 + below(4) : 200 + below(400);
        for (unsigned i = 0; i < count; ++i) {
          // Texts of which some are alike, so that scores are.
          documents.push_back({fmt::format("d{}", (round * 7 + i * 3) % 3000),
                               fmt::format("text {}", below(2000))});
        }
        int64_t replaced = 0;
        for (const Document& document : documents) replaced += plain.has(document.id) ? 1 : 0;
        plain.add(documents);
        EXPECT_EQ(index.add(documents, vectors_of_texts(documents, kD)), replaced);
      }
      ASSERT_NO_FATAL_FAILURE(expect_equal(reader, plain, metric)) << "round " << round;
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(open(), plain, metric));
    const IndexCheck check = check_index(folder_);
    EXPECT_EQ(check.info.count, static_cast<int64_t>(plain.documents().size()));
    EXPECT_TRUE(check.unused_files.empty());
  }
}

TEST_F(IndexChangesTest, ALargeIndexHasSegmentsOf65536Vectors) {
  std::vector<Document> documents;
  for (int i = 0; i < 70000; ++i) documents.push_back({std::to_string(i), ""});
  SearchSettings exact;
  exact.approximate.approximate = "never";  // a graph takes minutes under sanitizers
  IndexBuilder builder(folder_, {"f", "m", 1, VectorMetric::kInnerProduct}, true, exact);
  Matrix<float> vectors(70000, 1);
  for (int i = 0; i < 70000; ++i) vectors.at(i, 0) = static_cast<float>(i);
  builder.add(documents, vectors);
  documents.resize(3);
  builder.add(documents, Matrix<float>(3, 1, 1e6f));
  builder.commit();
  SearchIndex index = open(SearchIndex::Access::kWrite);
  const auto search = [&] {
    std::vector<std::string> ids;
    const auto found = index.search(Matrix<float>(1, 1, 1.0f), 5);
    for (const SearchHit& hit : found[0]) ids.push_back(hit.id);
    return ids;
  };
  const std::vector<std::string> wanted = {"0", "1", "2", "69999", "69998"};
  EXPECT_EQ(search(), wanted);
  EXPECT_EQ(index.info().segments, 2);
  EXPECT_EQ(index.info().removed, 0);
  index.merge();
  EXPECT_EQ(search(), wanted);
  EXPECT_EQ(index.info().segments, 2);
  EXPECT_EQ(check_index(folder_).info.count, 70000);
  index.remove({"69999"});
  index.merge();  // leaves the first segment alone
  EXPECT_EQ(search()[3], "69998");
  EXPECT_EQ(check_index(folder_).info.removed, 0);
}

// Searches see both documents of a change or none, with several writers.
TEST_F(IndexChangesTest, SearchesSeeWholeChangesAndGoOnDuringThem) {
  const auto pair = [](int writer, int version) {
    return std::vector<Document>{
        {fmt::format("left {}", writer), fmt::format("{} {}", writer, version)},
        {fmt::format("right {}", writer), fmt::format("{} {}", writer, version)}};
  };
  build(VectorMetric::kInnerProduct, pair(0, 0));
  {
    SearchIndex index = open(SearchIndex::Access::kWrite);
    index.add(pair(1, 0), vectors_of_texts(pair(1, 0), kD));
  }
  std::atomic<int> writing{2};
  std::atomic<int> searches{0};
  std::vector<std::thread> threads;
  SearchIndex shared = open(SearchIndex::Access::kWrite);
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      SearchIndex own = open(SearchIndex::Access::kWrite);
      SearchIndex& index = writer == 0 ? shared : own;
      for (int version = 1; version <= 40; ++version) {
        const std::vector<Document> documents = pair(writer, version);
        index.add(documents, vectors_of_texts(documents, kD));
        if (version % 10 == 0) index.merge();
      }
      --writing;
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      const SearchIndex own = open();
      const SearchIndex& index = reader == 0 ? shared : own;
      do {
        const auto found = index.search(Matrix<float>(1, kD, 1.0f), 10)[0];
        std::map<std::string, std::string> texts;
        for (const SearchHit& hit : found) texts[hit.id] = hit.text;
        EXPECT_EQ(texts.size(), 4u);
        EXPECT_EQ(texts["left 0"], texts["right 0"]);
        EXPECT_EQ(texts["left 1"], texts["right 1"]);
        ++searches;
      } while (writing > 0);
    });
  }
  while (writing > 0) EXPECT_EQ(check_index(folder_).info.count, 4);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(searches, 40);
  EXPECT_EQ(check_index(folder_).info.count, 4);
}

TEST_F(IndexChangesTest, CopiesAreOneGenerationEachWhileTheIndexIsChangedAndMerged) {
  const auto pair = [](int version) {
    return std::vector<Document>{{"left", fmt::format("{}", version)},
                                 {"right", fmt::format("{}", version)}};
  };
  const std::string copy = folder_ + "_copy";
  build(VectorMetric::kInnerProduct, pair(0));
  std::atomic<bool> writing{true};
  std::thread writer([&] {
    SearchIndex index = open(SearchIndex::Access::kWrite);
    for (int version = 1; version <= 60; ++version) {
      index.add(pair(version), vectors_of_texts(pair(version), kD));
      if (version % 3 == 0) index.merge();
    }
    writing = false;
  });
  int copies = 0;
  for (bool more = true; more; ++copies) {
    more = writing;
    const IndexInfo info = copy_index(folder_, copy);
    const IndexCheck check = check_index(copy);
    EXPECT_EQ(check.info.generation, info.generation);
    EXPECT_EQ(check.info.count, 2);
    EXPECT_TRUE(check.unused_files.empty());
    SearchIndex index = SearchIndex::open(copy, "f", "m", SearchIndex::Access::kWrite);
    EXPECT_EQ(index.find("left")->text, index.find("right")->text);
    EXPECT_EQ(index.add({{"more", "text"}}, Matrix<float>(1, kD, 1.0f)), 0);
    fs::remove_all(copy);
  }
  writer.join();
  EXPECT_GT(copies, 1);
}

TEST_F(IndexChangesTest, ACopyNeedsANewPlaceAndAWholeIndex) {
  const std::string copy = folder_ + "_copy";
  build(VectorMetric::kInnerProduct, {{"a", "b"}});
  copy_index(folder_, copy);
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { copy_index(folder_, copy); }),
            "'" + copy + "' is there already; give the name of a new folder");
  fs::remove_all(copy);
  fs::resize_file(folder_ + "/segments/segment-1.bin", 40);
  EXPECT_NE(error_of(ErrorKind::kInput, [&] { copy_index(folder_, copy); }), "");
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_NE(error_of(ErrorKind::kInput, [&] { copy_index(folder_ + "x", copy); }), "");
}

}  // namespace
}  // namespace simile
