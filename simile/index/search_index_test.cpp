// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class SearchIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_index_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { fs::remove_all(folder_); }

  // One document per id, its vector (x, y).
  void build() {
    IndexBuilder builder(folder_, {"abc", "models/mini", 2, VectorMetric::kInnerProduct});
    Matrix<float> vectors(2, 2);
    vectors.values = {1, 0, 0, 1};
    builder.add({{"east", "Text of east"}, {"north", "Text of north"}}, vectors);
    vectors.values = {-1, 0, 0.6f, 0.8f};
    builder.add({{"west", "Text of west"}, {"north-east", "é\n\"'"}}, vectors);
    builder.commit();
  }

  SearchIndex open(SearchIndex::Access access = SearchIndex::Access::kRead) {
    return SearchIndex::open(folder_, "abc", "models/mini", access);
  }

  static std::vector<std::string> found(const SearchIndex& index, float x, float y, int64_t k) {
    Matrix<float> query(1, 2);
    query.values = {x, y};
    std::vector<std::string> ids;
    const auto results = index.search(query, k);
    for (const SearchHit& hit : results[0]) ids.push_back(hit.id);
    return ids;
  }

  void expect_error(ErrorKind kind, const std::string& message) {
    try {
      open();
      ADD_FAILURE() << "opened; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string file(const std::string& name) const { return join_path(folder_, name); }

  std::string folder_;
};

TEST_F(SearchIndexTest, FindsTheBestDocumentsWithTheirTexts) {
  build();
  const SearchIndex index = open();
  Matrix<float> queries(2, 2);
  queries.values = {1, 0.1f, 0, 2};
  const auto results = index.search(queries, 2);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0][0].id, "east");
  EXPECT_EQ(results[0][0].text, "Text of east");
  EXPECT_FLOAT_EQ(results[0][0].score, 1.0f);
  EXPECT_EQ(results[0][1].text, "é\n\"'");
  EXPECT_EQ(results[1][0].id, "north");
  const IndexInfo info = read_index_info(folder_);
  EXPECT_EQ(info.count, 4);
  EXPECT_EQ(info.model.name, "models/mini");
  EXPECT_EQ(info.model.dimension, 2);
}

TEST_F(SearchIndexTest, AnotherModelIsRefusedNamingBoth) {
  build();
  try {
    SearchIndex::open(folder_, "def", "models/other");
    FAIL() << "opened with another model";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("models/mini"), HasSubstr("models/other"),
                                             HasSubstr("abc"), HasSubstr("def")));
  }
}

TEST_F(SearchIndexTest, AddedReplacedAndRemovedDocumentsLast) {
  build();
  {
    SearchIndex index = open(SearchIndex::Access::kWrite);
    Matrix<float> vectors(2, 2);
    vectors.values = {0, -1, 5, 0};
    EXPECT_EQ(index.add({{"south", "new"}, {"east", "moved"}}, vectors), 1);
    EXPECT_THROW(index.remove({"west", "nowhere"}), Error);
    EXPECT_EQ(index.info().count, 5);
    index.remove({"west", "west"});
    EXPECT_THAT(found(index, 1, 0, 2), ElementsAre("east", "north-east"));
  }
  const SearchIndex index = open();
  EXPECT_EQ(index.info().count, 4);
  EXPECT_THAT(found(index, 0, -1, 1), ElementsAre("south"));
  Matrix<float> query(1, 2);
  query.values = {1, 0};
  EXPECT_EQ(index.search(query, 1)[0][0].text, "moved");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);  // no files left over
}

TEST_F(SearchIndexTest, EqualScoresComeInTheOrderOfAdding) {
  IndexBuilder builder(folder_, {"abc", "m", 2, VectorMetric::kSquaredDistance});
  builder.add({{"b", ""}, {"a", ""}, {"c", ""}}, Matrix<float>(3, 2, 0.5f));
  builder.commit();
  EXPECT_THAT(found(open(), 1, 1, 3), ElementsAre("b", "a", "c"));
}

TEST_F(SearchIndexTest, AnEmptyIndexIsAnIndex) {
  IndexBuilder(folder_, {"abc", "m", 2, VectorMetric::kInnerProduct}).commit();
  EXPECT_TRUE(found(open(), 1, 1, 3).empty());
  SearchIndex index = open(SearchIndex::Access::kWrite);
  index.add({{"a", "x"}}, Matrix<float>(1, 2, 1.0f));
  EXPECT_THAT(found(index, 1, 1, 3), ElementsAre("a"));
  index.remove({"a"});
  EXPECT_TRUE(found(open(), 1, 1, 3).empty());
}

TEST_F(SearchIndexTest, WithoutCommitNothingIsThere) {
  {
    IndexBuilder builder(folder_, {"abc", "m", 2, VectorMetric::kInnerProduct});
    builder.add({{"a", "x"}}, Matrix<float>(1, 2, 1.0f));
  }
  EXPECT_FALSE(folder_exists(folder_));
}

TEST_F(SearchIndexTest, BadDocumentsChangeNothing) {
  build();
  SearchIndex index = open(SearchIndex::Access::kWrite);
  EXPECT_THROW(index.add({{"a", ""}, {"a", ""}}, Matrix<float>(2, 2)), Error);
  EXPECT_THROW(index.add({{"a", ""}}, Matrix<float>(1, 3)), Error);
  EXPECT_THROW(index.add({{"a", ""}}, Matrix<float>(2, 2)), Error);
  Matrix<float> broken(1, 2);
  broken.at(0, 0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(index.add({{"a", ""}}, broken), Error);
  EXPECT_THROW(index.search(Matrix<float>(1, 3), 1), Error);
  EXPECT_EQ(open().info().count, 4);
  EXPECT_THAT(found(index, 1, 0, 1), ElementsAre("east"));
}

TEST_F(SearchIndexTest, AFailedWriteLeavesTheOldIndex) {
  build();
  SearchIndex index = open(SearchIndex::Access::kWrite);
  make_folders(file("vectors-3.bin") + "/in-the-way");  // a folder cannot be replaced by a file
  EXPECT_THROW(index.add({{"a", ""}}, Matrix<float>(1, 2, 9.0f)), Error);
  fs::remove_all(file("vectors-3.bin"));
  EXPECT_THAT(found(index, 1, 1, 1), ElementsAre("north-east"));
  EXPECT_THAT(found(open(), 1, 1, 1), ElementsAre("north-east"));
  index.add({{"a", ""}}, Matrix<float>(1, 2, 9.0f));
  EXPECT_THAT(found(open(), 1, 1, 1), ElementsAre("a"));
}

TEST_F(SearchIndexTest, DamagedFilesAreInputErrors) {
  expect_error(ErrorKind::kInput, "not an index folder");
  build();
  const std::string manifest = read_file(file("manifest.json"));
  for (const char* bad : {"", "[]", "{}", R"({"format":4})"}) {
    write(file("manifest.json"), bad);
    expect_error(ErrorKind::kInput, "manifest.json");
  }
  write(file("manifest.json"), manifest);
  write(file("documents.sqlite"), std::string(4096, 'x'));
  expect_error(ErrorKind::kInput, "documents.sqlite");
  write(file("documents.sqlite"), "");
  expect_error(ErrorKind::kInput, "not a document store");
  fs::remove(file("documents.sqlite"));
  expect_error(ErrorKind::kInput, "documents.sqlite");
}

TEST_F(SearchIndexTest, AnIndexOfAnEarlierFormatIsToBeBuiltAgain) {
  build();
  write(file("manifest.json"), R"({"format":1,"model":"m","fingerprint":"f"})");
  expect_error(ErrorKind::kInput, "format 1, this program reads 3; build the index again");
}

TEST_F(SearchIndexTest, EveryTruncationAndAnyDamagedByteOfTheVectorsIsRefused) {
  build();
  const std::string path = file("vectors-2.bin");
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    expect_error(ErrorKind::kInput, "vectors-2.bin");
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    write(path, damaged);
    expect_error(ErrorKind::kInput, "vectors-2.bin");
  }
  fs::remove(path);
  expect_error(ErrorKind::kInput, "vectors-2.bin");
}

TEST_F(SearchIndexTest, ADamagedBitOfTheManifestIsRefused) {
  build();
  const std::string path = file("manifest.json"), whole = read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    write(path, damaged);
    try {
      // Spaces between members may be others.
      EXPECT_THAT(found(open(), 1, 0, 1), ElementsAre("east")) << damaged;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
    }
  }
}

TEST_F(SearchIndexTest, VectorsOfAnEarlierStateAreRefused) {
  build();
  fs::copy_file(file("vectors-2.bin"), file("keep"));
  SearchIndex index = open(SearchIndex::Access::kWrite);
  index.remove({"west"});
  index.add({{"x", ""}}, Matrix<float>(1, 2, 1.0f));
  fs::rename(file("keep"), file("vectors-4.bin"));
  expect_error(ErrorKind::kInput, "an earlier state of this one");
}

TEST_F(SearchIndexTest, DocumentsOfAnotherIndexAreRefused) {
  build();
  const std::string other = folder_ + "-other";
  IndexBuilder builder(other, {"abc", "models/mini", 2, VectorMetric::kInnerProduct});
  builder.add({{"a", "Other texts"}, {"b", "Just as many"}}, Matrix<float>(2, 2, 1.0f));
  builder.add({{"c", "In two steps"}, {"d", "d"}}, Matrix<float>(2, 2, 1.0f));
  builder.commit();
  fs::rename(join_path(other, "documents.sqlite"), file("documents.sqlite"));
  fs::remove_all(other);
  const SearchIndex index = open();
  EXPECT_THROW(found(index, 1, 0, 1), Error);
  EXPECT_THROW(open(SearchIndex::Access::kWrite), Error);
  EXPECT_THROW(check_index(folder_), Error);
}

TEST_F(SearchIndexTest, AWriterGoesOnFromWhatAnotherLeft) {
  build();
  SearchIndex one = open(SearchIndex::Access::kWrite), other = open(SearchIndex::Access::kWrite);
  const SearchIndex reader = open();
  one.add({{"a", "1"}}, Matrix<float>(1, 2, 2.0f));
  one.remove({"west"});
  other.add({{"b", "2"}}, Matrix<float>(1, 2, 3.0f));
  one.add({{"b", "3"}}, Matrix<float>(1, 2, 4.0f));
  EXPECT_THAT(found(open(), 1, 1, 2), ElementsAre("b", "a"));
  EXPECT_EQ(check_index(folder_).count, 5);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);
  try {
    found(reader, -1, 0, 1);
    FAIL() << "found what is gone";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process changed the index"));
  }
}

TEST_F(SearchIndexTest, VectorsAndDocumentsMustAgree) {
  build();
  const IndexedModel model{"abc", "models/mini", 2, VectorMetric::kInnerProduct};
  VectorIndex none(2, VectorMetric::kInnerProduct);
  none.save(file("vectors-2.bin"), detail::vectors_owner(model, 2));
  expect_error(ErrorKind::kInput, "0 vectors but 4 documents");
}

}  // namespace
}  // namespace simile
