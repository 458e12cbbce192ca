// SPDX-License-Identifier: Apache-2.0
// Bytes of an index that are not what was written: told with the file's name, or without effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_testing.h"

namespace simile {
namespace {

using detail::vectors_of_texts;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kD = 3;

class IndexDamageTest : public testing::Test {
 protected:
  // Three segments, of which two have removed rows, and a graph of the first.
  explicit IndexDamageTest(bool with_passages = false) : with_passages_(with_passages) {
    fs::remove_all(folder_);
    IndexedModel model{"f", "m", kD, VectorMetric::kInnerProduct};
    if (with_passages) model.passages = {8, 2};
    SearchSettings settings;
    settings.approximate.approximate = "always";
    IndexBuilder builder(folder_, model, true, settings);
    add(builder, {"a", "b", "c", "d"});
    builder.commit();
    SearchIndex index = SearchIndex::open(folder_, "f", "m", SearchIndex::Access::kWrite);
    add(index, {"e", "f", "b"});
    add(index, {"g"});
    index.remove({"e"});
  }
  ~IndexDamageTest() override { fs::remove_all(folder_); }

  template <typename Index>
  void add(Index& index, const std::vector<std::string>& ids) const {
    std::vector<Document> documents;
    for (const std::string& id : ids) {
      documents.push_back({id, "the text of " + id});
      if (with_passages_ && id != "c") documents.back().passages = {{0, 8}, {4, 11}, {9, 13}};
    }
    index.add(documents, vectors_of_texts(documents, kD));
  }

  // What a search of all finds, and what the folder says of itself.
  std::string search() const {
    const SearchIndex index = SearchIndex::open(folder_, "f", "m");
    std::string all = fmt::format("{} {}", index.info().count, index.info().generation);
    const auto found = index.search(Matrix<float>(1, kD, 1.0f), 100);
    for (const SearchHit& hit : found[0]) {
      all += fmt::format("\n{} {} {}", hit.id, hit.text, hit.score);
    }
    return all;
  }

  std::string check() const {
    const IndexInfo info = check_index(folder_).info;
    return fmt::format("{} {} {} {} {} {}", info.count, info.generation, info.segments,
                       info.removed, info.model.name, info.model.dimension);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    return files;
  }

  // Whether both were refused, naming the file; or at least neither is another than that of the
  // whole index. A search need not see what a check finds.
  bool is_found(const std::string& file, size_t at) const {
    bool found = false;
    try {
      EXPECT_EQ(search(), searched_) << file << ", byte " << at;
    } catch (const Error& error) {
      expect_named(error, file, at);
      found = true;
    }
    try {
      EXPECT_EQ(check(), checked_) << file << ", byte " << at;
      EXPECT_FALSE(found) << "a check does not find what a search does: " << file << " " << at;
      return false;
    } catch (const Error& error) {
      expect_named(error, file, at);
      return true;
    }
  }

  static void expect_named(const Error& error, const std::string& file, size_t at) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what() << ", byte " << at;
    EXPECT_THAT(error.what(), HasSubstr(fs::path(file).filename().string())) << "byte " << at;
  }

  // Every `stride`-th byte of all files, and of zeros in a row only some.
  void damage(size_t stride, size_t zero_stride) {
    searched_ = search();
    checked_ = check();
    for (const std::string& file : files()) {
      const std::string whole = read_file(file);
      const bool is_database = file.find("sqlite") != std::string::npos;
      int found = 0, unseen = 0;
      for (size_t i = 0; i < whole.size(); i += is_database ? stride : 1) {
        if (is_database && whole[i] == 0 && i % zero_stride != 0) continue;
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ (i % 2 == 0 ? 1 << i / 2 % 8 : 0xff));
        std::ofstream(file, std::ios::binary) << bytes;
        ++(is_found(file, i) ? found : unseen);
      }
      std::ofstream(file, std::ios::binary) << whole;
      EXPECT_EQ(search(), searched_);
      // No byte of a segment is unused, and none of a page without a checksum.
      if (is_database || file.find("segment-") != std::string::npos) {
        EXPECT_EQ(unseen, 0) << file;
      }
      EXPECT_GT(found, is_database ? 100 : 10 * unseen) << file;
      fmt::print("{}: {} found, {} without effect\n", fs::path(file).filename().string(), found,
                 unseen);
    }
  }

  const bool with_passages_;
  const std::string folder_ = testing::TempDir() + "simile_index_damage_" +
                              std::to_string(getpid()) +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string searched_, checked_;
};

TEST_F(IndexDamageTest, AnyByteIsFoundOrWithoutEffect) { damage(5, 997); }

using IndexDamageSlow = IndexDamageTest;
TEST_F(IndexDamageSlow, EveryByteIsFoundOrWithoutEffect) { damage(1, 1); }

class PassageDamageSlow : public IndexDamageTest {
 protected:
  PassageDamageSlow() : IndexDamageTest(true) {}
};
TEST_F(PassageDamageSlow, EveryByteIsFoundOrWithoutEffect) { damage(1, 997); }

TEST_F(IndexDamageTest, FilesThatAreGoneOrCutAreNamed) {
  searched_ = search();
  for (const std::string& file : files()) {
    const std::string whole = read_file(file);
    for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{100}, size_t{0}}) {
      std::ofstream(file, std::ios::binary) << whole.substr(0, size);
      try {
        check();
        // The line end of a JSON file is nobody's.
        EXPECT_EQ(size, whole.size() - 1) << file;
        EXPECT_THAT(file, testing::EndsWith(".json"));
      } catch (const Error& error) {
        expect_named(error, file, size);
      }
    }
    fs::remove(file);
    try {
      check();
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      expect_named(error, file, 0);
    }
    std::ofstream(file, std::ios::binary) << whole;
  }
  EXPECT_EQ(search(), searched_);
}

}  // namespace
}  // namespace simile
