// SPDX-License-Identifier: Apache-2.0
// An index that stores halves or bytes, beside one of the floats that these represent: all results
// are the same, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

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

constexpr int64_t kD = 21;

Matrix<float> stand_for(const Matrix<float>& vectors, StoredNumber number) {
  std::vector<char> rows(static_cast<size_t>(vectors.rows * stored_bytes(number, vectors.cols)));
  store_rows(vectors.values.data(), vectors.rows, vectors.cols, number, rows.data());
  Matrix<float> found(vectors.rows, vectors.cols);
  const StoredRows stored(rows.data(), vectors.rows, vectors.cols, number);
  for (int64_t i = 0; i < vectors.rows; ++i) stored.read(i, found.row(i));
  return found;
}

std::vector<Document> documents(int64_t begin, int64_t end, const std::string& version) {
  std::vector<Document> all;
  for (int64_t i = begin; i < end; ++i) {
    all.push_back({fmt::format("d{}", i), fmt::format("{} text {} of {}", version, i, i % 7),
                   fmt::format(R"({{"n":{}}})", i % 5)});
  }
  return all;
}

void expect_equal(const std::vector<SearchHit>& a, const std::vector<SearchHit>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].text, b[i].text);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].by_vector, b[i].by_vector);
    EXPECT_EQ(a[i].by_words, b[i].by_words);
  }
}

class StoredIndexTest : public testing::TestWithParam<StoredNumber> {
 protected:
  StoredIndexTest() { fs::remove_all(folder_), fs::create_directories(folder_); }
  ~StoredIndexTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  IndexedModel model(bool stored, VectorMetric metric) const {
    IndexedModel model{"f", "m", kD, metric};
    if (stored) model.vectors = GetParam();
    return model;
  }

  // "stored" and "floats", of the same documents.
  void build(VectorMetric metric = VectorMetric::kInnerProduct,
             const std::string& approximate = "never") const {
    SearchSettings settings;
    settings.approximate.approximate = approximate;
    const std::vector<Document> all = documents(0, 300, "first");
    const Matrix<float> vectors = detail::vectors_of_texts(all, kD);
    for (const bool stored : {true, false}) {
      IndexBuilder builder(path(stored ? "stored" : "floats"), model(stored, metric), true,
                           settings);
      builder.add(all, stored ? vectors : stand_for(vectors, GetParam()));
      EXPECT_EQ(builder.commit(), std::nullopt);
    }
  }

  SearchIndex open(const std::string& name) const {
    return SearchIndex::open(path(name), "f", "m", SearchIndex::Access::kWrite);
  }

  void add(SearchIndex& stored, SearchIndex& floats, const std::vector<Document>& some) const {
    const Matrix<float> vectors = detail::vectors_of_texts(some, kD);
    EXPECT_EQ(stored.add(some, vectors), floats.add(some, stand_for(vectors, GetParam())));
  }

  static void expect_same(const SearchIndex& stored, const SearchIndex& floats) {
    SearchQueries queries;
    queries.texts = {"first text 3", "second text", "of 5"};
    queries.vectors =
        detail::vectors_of_texts({{"", "one"}, {"", "two"}, {"", "first text 9 of 2"}}, kD);
    for (const std::string& mode : kSearchModes) {
      for (const char* filter : {"", "n in (1, 4)"}) {
        queries.filter = filter[0] == 0 ? MetadataFilter() : MetadataFilter(filter);
        const auto a = stored.search(queries, 20, {mode, {}});
        const auto b = floats.search(queries, 20, {mode, {}});
        for (size_t i = 0; i < 3; ++i) expect_equal(a[i], b[i]);
      }
      expect_equal(stored.search_like("d17", 12, {mode, {}}),
                   floats.search_like("d17", 12, {mode, {}}));
    }
    std::vector<float> all;
    floats.for_each([&](const Document&, int64_t, const float* vector) {
      all.insert(all.end(), vector, vector + kD);
    });
    size_t next = 0;
    stored.for_each([&](const Document&, int64_t, const float* vector) {
      for (int64_t d = 0; d < kD; ++d) ASSERT_EQ(vector[d], all[next++]);
    });
    EXPECT_EQ(next, all.size());
    stored.for_sample(50, [&](const Document&, int64_t, const float* vector) {
      EXPECT_NE(std::search(all.begin(), all.end(), vector, vector + kD), all.end());
    });
  }

  const std::string folder_ =
      testing::TempDir() + "simile_stored_index_" + std::to_string(getpid());
};

TEST_P(StoredIndexTest, SearchesAndChangesAreThoseOfTheNumbersItHas) {
  for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                    VectorMetric::kAbsoluteDistance}) {
    build(metric);
    SearchIndex stored = open("stored"), floats = open("floats");
    expect_same(stored, floats);
    add(stored, floats, documents(290, 320, "second"));
    for (int64_t i = 0; i < 12; ++i) add(stored, floats, documents(i, i + 2, "third"));
    stored.remove({"d18", "d300"});
    floats.remove({"d18", "d300"});
    expect_same(stored, floats);
    stored.merge();
    floats.merge();
    expect_same(stored, floats);
    EXPECT_TRUE(check_index(path("stored")).unused_files.empty());
    EXPECT_EQ(stored.info().model.vectors, GetParam());
  }
}

TEST_P(StoredIndexTest, AGraphOfItIsThatOfTheNumbersItHas) {
  const int threads = thread_count();
  set_thread_count(1);  // so that both are linked alike
  build(VectorMetric::kInnerProduct, "always");
  set_thread_count(threads);
  const SearchIndex stored = open("stored"), floats = open("floats");
  ASSERT_TRUE(stored.info().graph && floats.info().graph);
  EXPECT_EQ(stored.info().graph->breadth, floats.info().graph->breadth);
  expect_same(stored, floats);
}

TEST_P(StoredIndexTest, FilesAreSmaller) {
  build();
  const auto size = [&](const char* name) {
    return static_cast<int64_t>(fs::file_size(detail::segment_path(path(name), 1)));
  };
  EXPECT_EQ(size("floats") - size("stored"),
            (300 * (4 * kD - stored_bytes(GetParam(), kD))) / 8 * 8);
}

TEST_P(StoredIndexTest, RecallAgainstFloatsIsMeasuredWithoutItself) {
  const Matrix<float> vectors = detail::planted_vectors(3000, 32, 60, 0.3);
  std::vector<Document> all = documents(0, 3000, "first");
  all[320].id = "d10";  // replaced within the build
  IndexedModel planted = model(true, VectorMetric::kSquaredDistance);
  planted.dimension = 32;
  IndexBuilder builder(path("planted"), planted);
  for (int64_t first = 0; first < 3000; first += 300) {
    Matrix<float> some(300, 32);
    std::copy_n(vectors.row(first), 300 * 32, some.values.begin());
    builder.add({all.begin() + first, all.begin() + first + 300}, some);
  }
  builder.commit();
  const IndexInfo info = read_index_info(path("planted"));
  ASSERT_TRUE(info.model.vectors_recall);
  EXPECT_EQ(info.count, 2999);
  EXPECT_GE(*info.model.vectors_recall, GetParam() == StoredNumber::kFp16 ? 0.995 : 0.9);
  EXPECT_LE(*info.model.vectors_recall, 1);
  EXPECT_TRUE(check_index(path("planted")).unused_files.empty());
}

TEST_P(StoredIndexTest, FloatsAndTooFewVectorsHaveNoRecall) {
  build();
  EXPECT_EQ(open("floats").info().model.vectors_recall, std::nullopt);
  EXPECT_TRUE(open("stored").info().model.vectors_recall);
  IndexBuilder(path("empty"), model(true, VectorMetric::kInnerProduct)).commit();
  EXPECT_EQ(open("empty").info().model.vectors_recall, std::nullopt);
  check_index(path("empty"));
}

TEST_P(StoredIndexTest, EveryByteOfItsVectorsIsWatched) {
  build();
  const std::string file = detail::segment_path(path("stored"), 1);
  const std::string whole = read_file(file);
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write_file_atomic(file, damaged);
    try {
      open("stored").search(Matrix<float>(1, kD, 1.0f), 3);
      ADD_FAILURE() << "searched with byte " << at << " changed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("segment-1.bin"));
    }
  }
}

TEST_P(StoredIndexTest, AnotherFormInTheManifestIsFound) {
  build();
  const std::string manifest = path("stored") + "/manifest.json";
  std::string text = read_file(manifest);
  const std::string name = number_name(GetParam());
  text.replace(text.find("\"" + name + "\""), name.size() + 2,
               name == "int8" ? "\"fp16\"" : "\"int8\"");
  write_file_atomic(manifest, text);
  EXPECT_THROW(open("stored"), Error);
}

TEST_P(StoredIndexTest, NumbersThatItCannotHoldAreRefused) {
  IndexBuilder builder(path("stored"), model(true, VectorMetric::kInnerProduct));
  const float large = GetParam() == StoredNumber::kFp16 ? 65505.0f : 2e38f;
  try {
    builder.add({{"big", "text"}}, Matrix<float>(1, kD, large));
    FAIL() << "added";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("big"), HasSubstr("fp32")));
  }
}

TEST_P(StoredIndexTest, ItsDescriptionSaysSo) {
  detail::IndexDescription description;
  description.model = model(true, VectorMetric::kInnerProduct);
  description.model.passages = {64, 8};
  description.model.vectors_recall = 0.9876;
  detail::write_index_description(path("out.json"), description);
  const IndexedModel read = detail::read_index_description(path("out.json")).model;
  EXPECT_EQ(read.vectors, GetParam());
  EXPECT_EQ(read.vectors_recall, 0.9876);
  EXPECT_EQ(read.passages.passage_tokens, 64);
}

INSTANTIATE_TEST_SUITE_P(Numbers, StoredIndexTest,
                         testing::Values(StoredNumber::kFp16, StoredNumber::kInt8),
                         [](const auto& each) { return number_name(each.param); });

}  // namespace
}  // namespace simile
