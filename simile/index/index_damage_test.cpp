// SPDX-License-Identifier: Apache-2.0
// Changed bytes of an index: reported with the file's name, or without effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_setup_test.h"

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

  // All hits, the documents by their ids, and the folder's count and generation, as one text.
  static std::string search(const std::string& folder) {
    const SearchIndex index = SearchIndex::open(folder, "f", "m");
    std::string all = fmt::format("{} {}", index.info().count, index.info().generation);
    const auto found = index.search(Matrix<float>(1, kD, 1.0f), 100);
    for (const SearchHit& hit : found[0]) {
      all += fmt::format("\n{} {} {}", hit.id, hit.text, hit.score);
    }
    for (const std::string id : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
      const std::optional<Document> one = index.find(id);
      all += one ? "\n" + one->id + ": " + one->text : "\nnone";
    }
    return all;
  }
  std::string search() const { return search(folder_); }

  // The result of an addition, a removal and a merge on a copy of the index.
  std::string change() const {
    const std::string copy = folder_ + "_copy";
    fs::remove_all(copy);
    fs::copy(folder_, copy, fs::copy_options::recursive);
    {
      SearchIndex index = SearchIndex::open(copy, "f", "m", SearchIndex::Access::kWrite);
      add(index, {"h", "c", "a"});
      index.remove({"b", "g"});
      index.merge();
    }
    check_index(copy);
    const std::string all = search(copy);
    fs::remove_all(copy);
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

  // Whether a check refuses the folder, naming the file. A search need not see what a check finds,
  // but is right where it is not refused. Where neither sees anything, a change of the index makes
  // of it what it makes of the whole one.
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
    } catch (const Error& error) {
      expect_named(error, file, at);
      return true;
    }
    if (at < 100 || at % 16 == 0) {  // costs much; all bytes of a database's header
      EXPECT_EQ(change(), changed_) << file << ", byte " << at;
    }
    return false;
  }

  static void expect_named(const Error& error, const std::string& file, size_t at) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what() << ", byte " << at;
    EXPECT_THAT(error.what(), HasSubstr(fs::path(file).filename().string())) << "byte " << at;
  }

  // Every `stride`-th byte of all files, and of zeros in a row only some.
  void damage(size_t stride, size_t zero_stride) {
    searched_ = search();
    checked_ = check();
    changed_ = change();
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
      // No byte of a segment is unused; a database has unused ones.
      if (file.find("segment-") != std::string::npos) {
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
  std::string searched_, checked_, changed_;
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
