// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_folder.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
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

  // Expects an error from opening the index or searching in it.
  void expect_error(ErrorKind kind, const std::string& message) {
    try {
      found(open(), 1, 0, 1);
      ADD_FAILURE() << "searched; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  // One document per id, in one call; its text is "Text of" and the id.
  void add(SearchIndex& index, const std::vector<std::string>& ids, float x, float y) const {
    std::vector<Document> documents;
    Matrix<float> vectors(static_cast<int64_t>(ids.size()), 2);
    for (size_t i = 0; i < ids.size(); ++i) {
      documents.push_back({ids[i], "Text of " + ids[i]});
      vectors.at(static_cast<int64_t>(i), 0) = x;
      vectors.at(static_cast<int64_t>(i), 1) = y;
    }
    index.add(documents, vectors);
  }

  std::string segment(int64_t number) const { return detail::segment_path(folder_, number); }

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
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);  // no files left over
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

TEST_F(SearchIndexTest, TheColumnsOfMetadataAreThoseNamedOrThoseThatDocumentsHave) {
  using Names = std::vector<std::string>;
  IndexedModel model{"abc", "m", 2, VectorMetric::kInnerProduct};
  const auto names_of = [&](const std::vector<std::string>& metadata) {
    IndexBuilder builder(folder_, model);
    for (size_t i = 0; i < metadata.size(); ++i) {
      builder.add({{std::to_string(i), "text", metadata[i]}}, Matrix<float>(1, 2, 1.0f));
    }
    builder.commit();
    const std::optional<Names> read = read_index_info(folder_).model.metadata;
    EXPECT_EQ(open().info().model.metadata, read);
    return read;
  };
  EXPECT_EQ(names_of({}), Names());
  EXPECT_EQ(names_of({"", ""}), Names());
  EXPECT_EQ(names_of({R"({"b":1,"a":2})", "", R"({"c":"x","b":true})"}), Names({"a", "b", "c"}));
  std::vector<std::string> many;
  for (int i = 0; i < 33; ++i) many.push_back(fmt::format(R"({{"n{}":1}})", i));
  EXPECT_EQ(names_of(many), std::nullopt);
  EXPECT_THAT(read_file(file("manifest.json")), Not(HasSubstr("metadata")));  // as earlier ones
  many.pop_back();
  EXPECT_EQ(names_of(many)->size(), 32u);
  for (const Names& named : {Names(), Names({"a", "*"})}) {
    model.metadata = named;
    EXPECT_EQ(names_of({R"({"b":1,"a":2})"}), named);
  }
}

// A segment's owner is a hash of the manifest, so one without a spread is written as it was.
TEST_F(SearchIndexTest, TheSpreadIsKeptAndMayBeMissing) {
  build();
  EXPECT_THAT(read_file(file("manifest.json")), Not(HasSubstr("spread")));
  EXPECT_EQ(open().info().model.spread, 1);
  IndexedModel model{"abc", "m", 2, VectorMetric::kInnerProduct};
  model.spread = 0.25;
  IndexBuilder builder(folder_, model);
  Matrix<float> vectors(2, 2);
  vectors.values = {1, 0, 0, 1};
  builder.add({{"near", "fox"}, {"word", "bird"}}, vectors);
  builder.commit();
  EXPECT_EQ(open().info().model.spread, 0.25);
  SearchQueries queries;
  queries.texts = {"bird"};
  queries.vectors = Matrix<float>(1, 2);
  queries.vectors.values = {0.5, 0.375};
  const auto hits = open().search(queries, 2, {"hybrid", {0.5, "cosine"}})[0];
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits[0].id, "word");
  EXPECT_DOUBLE_EQ(hits[0].score, 0.5 * 0.375 / 0.25 + 0.5);
  EXPECT_DOUBLE_EQ(hits[1].score, 0.5 * 0.5 / 0.25);
}

TEST_F(SearchIndexTest, ThePromptOfTheDocumentsIsKeptAndMayBeMissing) {
  build();
  EXPECT_THAT(read_file(file("manifest.json")), Not(HasSubstr("prompt")));  // as earlier ones
  EXPECT_FALSE(open().info().model.prompt_name);
  for (const std::string name : {"", "passage"}) {
    IndexedModel model{"abc", "m", 2, VectorMetric::kInnerProduct};
    model.prompt_name = name;
    IndexBuilder(folder_, model).commit();
    EXPECT_EQ(open().info().model.prompt_name, name);
  }
}

TEST_F(SearchIndexTest, AnIndexIsReplacedOnlyByABuilderThatMay) {
  const IndexedModel model{"abc", "m", 2, VectorMetric::kInnerProduct};
  fs::create_directories(folder_);
  IndexBuilder(folder_, model, false).commit();  // an empty folder is nobody's
  try {
    const IndexBuilder builder(folder_, model, false);
    ADD_FAILURE() << "replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("is an index already"));
  }
  EXPECT_EQ(open().info().count, 0);
  IndexBuilder(folder_, model, true).commit();
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
  make_folders(segment(3) + "/in-the-way");  // a folder cannot be replaced by a file
  EXPECT_THROW(index.add({{"a", ""}}, Matrix<float>(1, 2, 9.0f)), Error);
  fs::remove_all(segment(3));
  EXPECT_THAT(found(index, 1, 1, 1), ElementsAre("north-east"));
  EXPECT_THAT(found(open(), 1, 1, 1), ElementsAre("north-east"));
  index.add({{"a", ""}}, Matrix<float>(1, 2, 9.0f));
  EXPECT_THAT(found(open(), 1, 1, 1), ElementsAre("a"));
}

TEST_F(SearchIndexTest, DamagedFilesAreInputErrors) {
  expect_error(ErrorKind::kInput, "not an index folder");
  build();
  const std::string manifest = read_file(file("manifest.json"));
  for (const char* bad : {"", "[]", "{}", R"({"format":5})"}) {
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
  write(file("manifest.json"), R"({"format":3,"model":"m","fingerprint":"f"})");
  expect_error(ErrorKind::kInput, "format 3, this program reads format 9; build the index again");
}

TEST_F(SearchIndexTest, EveryTruncationAndAnyDamagedByteOfASegmentIsRefused) {
  build();
  const std::string path = segment(1);
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    expect_error(ErrorKind::kInput, "segment-1.bin");
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    write(path, damaged);
    expect_error(ErrorKind::kInput, "segment-1.bin");
  }
  fs::remove(path);
  expect_error(ErrorKind::kInput, "segment-1.bin");
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

TEST_F(SearchIndexTest, SegmentsOfAnotherStateAreRefused) {
  build();
  fs::copy_file(segment(1), file("keep"));
  SearchIndex index = open(SearchIndex::Access::kWrite);
  index.remove({"west"});
  index.merge();
  fs::rename(file("keep"), segment(3));
  expect_error(ErrorKind::kInput, "segment-3.bin");
  fs::remove(segment(3));
  expect_error(ErrorKind::kInput, "segment-3.bin");
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
  expect_error(ErrorKind::kInput, "not the one that documents.sqlite names");
  EXPECT_THROW(open(SearchIndex::Access::kWrite), Error);
  EXPECT_THROW(check_index(folder_), Error);
}

TEST_F(SearchIndexTest, EachSeesWhatAnotherCommitted) {
  build();
  SearchIndex one = open(SearchIndex::Access::kWrite), other = open(SearchIndex::Access::kWrite);
  const SearchIndex reader = open();
  EXPECT_THAT(found(reader, -1, 0, 1), ElementsAre("west"));
  add(one, {"a"}, 2, 2);
  one.remove({"west"});
  EXPECT_THAT(found(reader, -1, 0, 1), ElementsAre("north"));
  add(other, {"b"}, 3, 3);
  add(one, {"b"}, 4, 4);
  EXPECT_THAT(found(reader, 1, 1, 2), ElementsAre("b", "a"));
  other.merge();  // takes the segments of the others away
  EXPECT_THAT(found(reader, 1, 1, 2), ElementsAre("b", "a"));
  one.remove({"b"});
  EXPECT_THAT(found(reader, 1, 1, 2), ElementsAre("a", "north-east"));
  EXPECT_EQ(check_index(folder_).info.count, 4);
}

TEST_F(SearchIndexTest, DocumentsAndVectorsMustAgree) {
  build();
  const auto nothing = [](const DocumentStore::Change&, const DocumentStore::RemovedWithin&) {
    return SegmentChange{};
  };
  DocumentStore(file("documents.sqlite"), DocumentStore::Access::kWrite)
      .change({}, {{"x", "without a vector"}}, nothing);
  EXPECT_THAT(found(open(), 1, 0, 1), ElementsAre("east"));
  try {
    check_index(folder_);
    FAIL() << "found whole";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("document \"x\" is not the one of its vector"));
  }
  SearchIndex index = open(SearchIndex::Access::kWrite);
  EXPECT_THROW(index.remove({"x"}), Error);
}

TEST_F(SearchIndexTest, SmallAdditionsAreJoinedAndAMergeJoinsAll) {
  build();
  SearchIndex index = open(SearchIndex::Access::kWrite);
  std::vector<std::string> ids = {"east", "north", "west", "north-east"};
  for (int i = 0; i < 40; ++i) {
    ids.push_back("d" + std::to_string(i));
    add(index, {ids.back()}, 2, static_cast<float>(i));
    EXPECT_LE(index.info().segments, 8);
  }
  index.remove({"d3", "d39", "west"});
  EXPECT_EQ(index.info().removed, 3);
  EXPECT_EQ(index.info().count, 41);
  EXPECT_THAT(found(index, 0, 1, 2), ElementsAre("d38", "d37"));
  write(segment(1000), "left by a killed process");
  write(file("notes.txt"), "of a stranger");
  EXPECT_THAT(check_index(folder_).unused_files,
              ElementsAre("notes.txt", "segments/segment-1000.bin"));
  index.merge();
  const IndexCheck whole = check_index(folder_);
  EXPECT_THAT(whole.unused_files, ElementsAre("notes.txt"));
  EXPECT_EQ(whole.info.segments, 1);
  EXPECT_EQ(whole.info.removed, 0);
  EXPECT_EQ(whole.info.count, 41);
  EXPECT_THAT(found(index, 0, 1, 2), ElementsAre("d38", "d37"));
  index.remove({"east", "d5"});
  EXPECT_THROW(index.remove({"north", "west"}), Error);
  EXPECT_EQ(check_index(folder_).info.count, 39);
}

TEST_F(SearchIndexTest, AnIndexThatIsEmptiedIsAnIndex) {
  build();
  SearchIndex index = open(SearchIndex::Access::kWrite);
  index.remove({"east", "north", "west", "north-east"});
  EXPECT_TRUE(found(index, 1, 0, 3).empty());
  index.merge();
  EXPECT_EQ(index.info().segments, 0);
  EXPECT_TRUE(found(index, 1, 0, 3).empty());
  add(index, {"east"}, 1, 0);
  EXPECT_THAT(found(open(), 1, 0, 3), ElementsAre("east"));
  EXPECT_EQ(check_index(folder_).info.count, 1);
}

}  // namespace
}  // namespace simile
