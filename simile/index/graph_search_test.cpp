// SPDX-License-Identifier: Apache-2.0
// An index with a graph, beside the same index searched exactly.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/neighbours/detail/planted_vectors_test.h"

namespace simile {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kGraphD = 20;  // no multiple of a register

const SearchSettings kByVectors = {"vector", {}};

SearchSettings with_graph(const std::string& approximate = "always", double recall = 0.95) {
  SearchSettings settings;
  settings.approximate.approximate = approximate;
  settings.approximate.recall = recall;
  return settings;
}

class GraphTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_graph_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Documents "d0" on, with a member "n", around 300 points.
  static std::vector<Document> numbered(int64_t begin, int64_t count) {
    std::vector<Document> documents;
    for (int64_t i = begin; i < begin + count; ++i) {
      documents.push_back({fmt::format("d{}", i), fmt::format("text {}", i),
                           fmt::format(R"({{"n":{},"tenth":{}}})", i, i % 10)});
    }
    return documents;
  }

  Matrix<float> vectors(int64_t begin, int64_t count) const {
    Matrix<float> some(count, kGraphD);
    std::copy_n(all_.row(begin), count * kGraphD, some.values.begin());
    return some;
  }

  void build(int64_t count, const SearchSettings& settings = with_graph()) const {
    IndexBuilder builder(folder_, {"f", "m", kGraphD, metric_}, true, settings);
    builder.add(numbered(0, count), vectors(0, count));
    builder.commit();
  }

  SearchIndex open() const {
    return SearchIndex::open(folder_, "f", "m", SearchIndex::Access::kWrite);
  }

  // The share of the exact hits of the last 200 vectors that a search finds; it must return as many
  // hits, with the same scores.
  double recall(const SearchIndex& index, int64_t top_k = 10,
                const std::string& filter = "") const {
    SearchQueries queries;
    queries.vectors = vectors(all_.rows - 200, 200);
    if (!filter.empty()) queries.filter = MetadataFilter(filter);
    const auto found = index.search(queries, top_k, kByVectors);
    queries.exact = true;
    const auto exact = index.search(queries, top_k, kByVectors);
    size_t good = 0, all = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(found[i].size(), exact[i].size());
      std::map<std::string, double> scores;
      for (const SearchHit& hit : exact[i]) scores[hit.id] = hit.score;
      for (const SearchHit& hit : found[i]) {
        const auto same = scores.find(hit.id);
        if (same == scores.end()) continue;
        ++good;
        EXPECT_EQ(hit.score, same->second);
      }
      EXPECT_TRUE(std::is_sorted(found[i].begin(), found[i].end(),
                                 [](const auto& a, const auto& b) { return a.score > b.score; }));
      all += exact[i].size();
    }
    return static_cast<double>(good) / static_cast<double>(all);
  }

  std::vector<std::string> graph_files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(detail::segments_path(folder_))) {
      const std::string name = entry.path().filename();
      if (name.rfind("graph-", 0) == 0) files.push_back(entry.path().string());
    }
    return files;
  }

  VectorMetric metric_ = VectorMetric::kInnerProduct;
  const Matrix<float> all_ = detail::planted_vectors(6000, kGraphD, 300, 0.7);
  std::string folder_;
};

// Thousands of vectors, which take minutes to link under ThreadSanitizer.
class GraphSearchTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "skipped: takes minutes under ThreadSanitizer";
#endif
  }
};

TEST_F(GraphSearchTest, FindsTheShareThatWasAskedAndTellsIt) {
  for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                    VectorMetric::kAbsoluteDistance}) {
    metric_ = metric;
    build(5000);
    const SearchIndex index = open();
    const IndexInfo info = index.info();
    ASSERT_TRUE(info.graph.has_value());
    EXPECT_EQ(info.graph->rows, 5000);
    EXPECT_GE(info.graph->recall, 0.95);
    EXPECT_GE(recall(index), 0.9) << static_cast<int>(metric);
    EXPECT_GE(recall(index, 40), 0.9);
    EXPECT_EQ(recall(index, 500), 1);  // of many a scan is cheaper
    EXPECT_TRUE(check_index(folder_).unused_files.empty());
  }
}

TEST_F(GraphSearchTest, AHigherRecallLooksFurther) {
  build(4000, with_graph("always", 0.6));
  const GraphInfo low = *open().info().graph;
  build(4000, with_graph("always", 0.99));
  const GraphInfo high = *open().info().graph;
  EXPECT_LT(low.breadth, high.breadth);
  EXPECT_GE(high.recall, 0.99);
  EXPECT_GE(recall(open()), 0.95);
}

TEST_F(GraphSearchTest, OneThreadMakesTheSameGraphAgain) {
  const int threads = thread_count();
  set_thread_count(1);
  build(1000);
  const std::string first = read_file(graph_files().at(0));
  build(1000);
  EXPECT_EQ(read_file(graph_files().at(0)), first);
  set_thread_count(threads);
}

TEST_F(GraphSearchTest, OnlyALargeIndexHasOneByItself) {
  build(2000, with_graph("auto"));
  EXPECT_FALSE(open().info().graph.has_value());
  EXPECT_TRUE(graph_files().empty());
  EXPECT_EQ(recall(open()), 1);
  build(2000, with_graph("never"));
  EXPECT_FALSE(open().info().graph.has_value());
}

TEST_F(GraphSearchTest, DocumentsThatComeAndGoAreSeenAtOnce) {
  build(4000);
  SearchIndex index = open();
  const int64_t number = index.info().graph->rows;
  index.add(numbered(4000, 1000), vectors(4000, 1000));
  std::vector<std::string> gone;
  for (int64_t i = 0; i < 4000; i += 3) gone.push_back(fmt::format("d{}", i));
  index.remove(gone);
  index.add(numbered(10, 5), vectors(10, 5));  // updates
  EXPECT_EQ(index.info().graph->rows, number);
  EXPECT_GE(recall(index), 0.9);
  SearchQueries own;
  own.vectors = vectors(4000, 1000);
  const auto found = index.search(own, 1, kByVectors);
  for (int64_t i = 0; i < own.vectors.rows; ++i) {
    const float* vector = own.vectors.row(i);
    const double itself = std::inner_product(vector, vector + kGraphD, vector, 0.0);
    EXPECT_GE(found[static_cast<size_t>(i)][0].score, itself * (1 - 1e-5));
  }
  EXPECT_EQ(check_index(folder_).info.count, 5000 - static_cast<int64_t>(gone.size()) + 1);
}

TEST_F(GraphSearchTest, AMergeMakesAnotherAndRemovesTheOld) {
  build(3000);
  const std::vector<std::string> old = graph_files();
  SearchIndex index = open();
  const SearchIndex reader = SearchIndex::open(folder_, "f", "m");
  EXPECT_GE(recall(reader), 0.9);
  index.add(numbered(3000, 2000), vectors(3000, 2000));
  index.remove({"d1", "d2"});
  index.merge();
  EXPECT_EQ(index.info().graph->rows, 4998);
  EXPECT_EQ(graph_files().size(), 1U);
  EXPECT_NE(graph_files(), old);
  EXPECT_GE(recall(index), 0.9);
  EXPECT_GE(recall(reader), 0.9);
  const std::vector<std::string> kept = graph_files();
  index.merge();  // nothing to do
  EXPECT_EQ(graph_files(), kept);
  write_search_settings(folder_, with_graph("never"));
  index.merge();
  EXPECT_FALSE(index.info().graph.has_value());
  EXPECT_TRUE(graph_files().empty());
  EXPECT_EQ(recall(reader), 1);
  EXPECT_TRUE(check_index(folder_).unused_files.empty());
}

TEST_F(GraphSearchTest, FiltersFindAsManyAsThereAre) {
  build(5000);
  const SearchIndex index = open();
  EXPECT_GE(recall(index, 10, "tenth != 3"), 0.9);
  EXPECT_GE(recall(index, 10, "n >= 2500"), 0.9);
  EXPECT_EQ(recall(index, 10, "n in (7, 70, 700)"), 1);
  SearchQueries queries;
  queries.vectors = vectors(0, 1);
  queries.filter = MetadataFilter("tenth = 4 and n < 3000");
  const auto found = index.search(queries, 20, kByVectors);
  for (const SearchHit& hit : found[0]) {
    EXPECT_THAT(hit.metadata, HasSubstr("\"tenth\":4"));
  }
}

// Where a walk gives too few, its vectors are scanned; those that came later must not be twice.
TEST_F(GraphSearchTest, EachDocumentIsFoundOnce) {
  build(4000);
  SearchIndex index = open();
  index.add(numbered(4000, 60), vectors(4000, 60));
  for (const std::string filter : {"", "n >= 3990", "tenth = 3", "n >= 2000"}) {
    for (const int64_t top_k : {10, 90}) {
      SearchQueries queries;
      queries.vectors = vectors(5000, 100);
      if (!filter.empty()) queries.filter = MetadataFilter(filter);
      for (const auto& hits : index.search(queries, top_k, kByVectors)) {
        std::map<std::string, int> times;
        for (const SearchHit& hit : hits) ++times[hit.id];
        EXPECT_EQ(times.size(), hits.size()) << filter;
      }
    }
  }
}

TEST_F(GraphSearchTest, ALowRecallLeavesRoomForTenDocuments) {
  build(4000, with_graph("always", 0.5));
  EXPECT_GE(open().info().graph->breadth, 10);
}

TEST_F(GraphSearchTest, AMergeRenewsTheGraphWhenAsked) {
  build(4000);
  SearchIndex index = open();
  const auto before = graph_files();
  index.merge();
  EXPECT_EQ(graph_files(), before);
  index.merge({}, true);
  EXPECT_NE(graph_files(), before);
  EXPECT_GE(recall(index), 0.9);
}

// The second merge comes while the first one's graph is made.
TEST_F(GraphSearchTest, OfTwoMergesOneGraphIsKept) {
  build(600, with_graph("never"));
  write_search_settings(folder_, with_graph());
  SearchIndex first = open();
  SearchIndex second = open();
  bool merged = false;
  first.merge([&](int64_t, int64_t) {
    if (std::exchange(merged, true)) return;
    second.merge();
  });
  EXPECT_TRUE(merged);
  EXPECT_EQ(graph_files().size(), 1u);
  EXPECT_GE(recall(open()), 0.9);
}

TEST_F(GraphSearchTest, BothAreExactWhereAsked) {
  build(3000);
  const SearchIndex index = open();
  SearchQueries queries;
  queries.exact = true;
  queries.texts = {"text 7", "text 8 9"};
  queries.vectors = vectors(5000, 2);
  const auto found = index.search(queries, 20, {"hybrid", {}});
  build(3000, with_graph("never"));
  const auto expected = open().search(queries, 20, {"hybrid", {}});
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 20; ++j) {
      EXPECT_EQ(found[i][j].id, expected[i][j].id);
      EXPECT_EQ(found[i][j].score, expected[i][j].score);
    }
  }
}

TEST_F(GraphSearchTest, DamageIsFoundByASearchThatReadsIt) {
  build(2000);
  const std::string path = graph_files().at(0);
  const std::string whole = read_file(path);
  for (const size_t at : {size_t{0}, size_t{20}, size_t{45}, size_t{80}, size_t{150}, size_t{300},
                          whole.size() / 2, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    write_file_atomic(path, bytes);
    try {
      recall(open());
      ADD_FAILURE() << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
  write_file_atomic(path, whole.substr(0, whole.size() - 4));
  EXPECT_THROW(check_index(folder_), Error);
  fs::remove(path);
  EXPECT_THROW(open(), Error);
}

TEST_F(GraphSearchTest, StoppedWhileTheGraphIsMadeTheIndexIsWithout) {
  build(3000, with_graph("never"));
  write_search_settings(folder_, with_graph());
  SearchIndex index = open();
  const auto stop_at = [](int64_t at) {
    return [at](int64_t done, int64_t) {
      if (done >= at) throw Error(ErrorKind::kInterrupted, "stopped");
    };
  };
  EXPECT_THROW(index.merge(stop_at(0)), Error);
  EXPECT_THROW(index.merge(stop_at(3000)), Error);  // while its recall is measured
  EXPECT_FALSE(index.info().graph.has_value());
  EXPECT_TRUE(check_index(folder_).unused_files.empty());
  EXPECT_EQ(recall(index), 1);
  index.merge();
  EXPECT_TRUE(index.info().graph.has_value());
}

TEST_F(GraphTest, SmallIndexesMayHaveOne) {
  for (const int64_t count : {1, 2, 40}) {
    build(count);
    EXPECT_EQ(open().info().graph->rows, count);
    EXPECT_EQ(recall(open()), 1);
    check_index(folder_);
  }
}

TEST_F(GraphTest, OtherOptionsAreRefused) {
  EXPECT_THROW(build(10, with_graph("maybe")), Error);
  EXPECT_THROW(build(10, with_graph("auto", 1)), Error);
}

using GraphSearchSlow = GraphSearchTest;

TEST_F(GraphSearchSlow, OneGraphHasSeveralSegments) {
  constexpr int64_t kRows = 140000;
  const Matrix<float> many = detail::planted_vectors(kRows, 8, 5000, 0.5);
  IndexBuilder builder(folder_, {"f", "m", 8, VectorMetric::kSquaredDistance}, true,
                       with_graph("auto"));
  builder.add(numbered(0, kRows), many);
  builder.commit();
  SearchIndex index = open();
  EXPECT_EQ(index.info().segments, 3);
  ASSERT_TRUE(index.info().graph.has_value());
  EXPECT_EQ(index.info().graph->rows, kRows);
  SearchQueries queries;
  queries.vectors = Matrix<float>(1000, 8);
  for (int64_t i = 0; i < 1000; ++i) std::copy_n(many.row(140 * i), 8, queries.vectors.row(i));
  const auto found = index.search(queries, 1, kByVectors);
  int64_t own = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    own += found[static_cast<size_t>(i)][0].id == fmt::format("d{}", 140 * i) ? 1 : 0;
  }
  EXPECT_GE(own, 950);
  index.remove({"d70000"});
  index.merge();  // the second and third are written anew
  EXPECT_EQ(index.info().graph->rows, kRows - 1);
}

}  // namespace
}  // namespace simile
