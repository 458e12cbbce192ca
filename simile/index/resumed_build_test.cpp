// SPDX-License-Identifier: Apache-2.0
// Builds that end before their commit and are resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_graph.h"

namespace simile {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kD = 5;
constexpr int64_t kBlocks = 6;

class ResumedBuildTest : public testing::Test {
 protected:
  ResumedBuildTest() { fs::remove_all(folder_), fs::create_directories(folder_); }
  ~ResumedBuildTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  std::string building() const { return path("index.building"); }
  bool is_kept() const { return file_exists(path("index.building/building/manifest.json")); }

  static std::vector<Document> block(int64_t number, const std::string& text = "text") {
    std::vector<Document> documents;
    for (int64_t i = 0; i < 7; ++i) {
      documents.push_back({fmt::format("d{}", number * 6 + i), fmt::format("{} {}", text, i)});
    }
    return documents;
  }

  static IndexedModel model(const std::string& fingerprint = "f") {
    IndexedModel model{fingerprint, "m", kD, VectorMetric::kInnerProduct};
    model.vectors = StoredNumber::kInt8;
    return model;
  }

  IndexBuilder begin(UnfinishedBuild unfinished, bool replaces = false) const {
    return {path("index"), model(), replaces, {}, unfinished};
  }
  IndexBuilder resume(bool replaces = false) const {
    return begin(UnfinishedBuild::kResume, replaces);
  }

  // Adds blocks as `index build` does; returns how many had to be embedded.
  static int64_t add(IndexBuilder& builder, int64_t blocks) {
    int64_t embedded = 0;
    for (int64_t i = 0; i < blocks; ++i) {
      if (builder.skip(block(i))) continue;
      ++embedded;
      builder.add(block(i), detail::vectors_of_texts(block(i), kD));
    }
    return embedded;
  }

  void interrupt(int64_t blocks, UnfinishedBuild unfinished = UnfinishedBuild::kKeep) const {
    IndexBuilder builder = begin(unfinished);
    add(builder, blocks);
  }

  // As a build is that was killed with all documents and its final segments, before it took its
  // place.
  void interrupt_in_commit() const {
    IndexBuilder builder = begin(UnfinishedBuild::kKeep);
    add(builder, kBlocks);
    fs::create_directories(path("index"));
    write_file_atomic(path("index/notes.txt"), "a stranger's");
    expect_refused([&] { builder.commit(); }, ErrorKind::kUsage, "holds other files");
    fs::remove_all(path("index"));
  }

  static void build_whole(IndexBuilder builder) {
    add(builder, kBlocks);
    builder.commit();
  }

  void expect_resumed(int64_t embedded, bool replaces = false) const {
    IndexBuilder builder = resume(replaces);
    EXPECT_EQ(add(builder, kBlocks), embedded);
    builder.commit();
    expect_whole();
  }

  // The index has the files of one that was built at once, and nothing is beside it.
  void expect_whole() const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path("whole"))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      const std::string name = fs::relative(entry.path(), path("whole")).string();
      EXPECT_TRUE(read_file(entry.path().string()) == read_file(join_path(path("index"), name)))
          << name;
    }
    EXPECT_EQ(files, 5u);
    EXPECT_TRUE(check_index(path("index")).unused_files.empty());
    EXPECT_FALSE(fs::exists(building()));
  }

  static void expect_refused(const std::function<void()>& work, ErrorKind kind,
                             const std::string& what) {
    try {
      work();
      ADD_FAILURE() << "went on; expected: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  }

  const std::string folder_ =
      testing::TempDir() + "simile_resumed_build_" + std::to_string(getpid());
};

TEST_F(ResumedBuildTest, TheIndexIsTheBytesOfOneBuiltAtOnce) {
  build_whole({path("whole"), model()});
  for (int64_t done = 0; done <= kBlocks; ++done) {
    fs::remove_all(path("index"));
    interrupt(done);
    EXPECT_EQ(is_kept(), done > 0);
    EXPECT_FALSE(is_index(path("index")));
    expect_resumed(kBlocks - done);
  }
}

TEST_F(ResumedBuildTest, ItMayBeInterruptedAgainAndAgain) {
  build_whole({path("whole"), model()});
  interrupt(1);
  interrupt(3, UnfinishedBuild::kResume);
  interrupt(2, UnfinishedBuild::kResume);  // before it came to the third
  expect_resumed(kBlocks - 3);
}

// Files of an add() that was not committed.
TEST_F(ResumedBuildTest, WhatAKilledAdditionLeftIsForgotten) {
  build_whole({path("whole"), model()});
  interrupt(2);
  const std::string segments = path("index.building/building/segments/");
  write_file_atomic(segments + "segment-3.bin", "half");
  write_file_atomic(segments + "segment-3.bin.words.tmp-123", "half");
  expect_resumed(kBlocks - 2);
}

// By the build, or by a check of the index that it made.
TEST_F(ResumedBuildTest, ADamagedFileIsFoundOrWithoutEffect) {
  interrupt(4);
  fs::copy(building(), path("copy"), fs::copy_options::recursive);
  int refused = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path("copy"))) {
    if (!entry.is_regular_file()) continue;
    const std::string whole = read_file(entry.path().string());
    const std::string file =
        join_path(building(), fs::relative(entry.path(), path("copy")).string());
    for (size_t at = 0; at < whole.size(); at += whole.size() / 12 + 1) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      for (const std::string& bytes : {whole.substr(0, at), damaged}) {
        fs::remove_all(path("index"));
        fs::remove_all(building());
        fs::copy(path("copy"), building(), fs::copy_options::recursive);
        write_file_atomic(file, bytes);
        try {
          IndexBuilder builder = resume();
          EXPECT_EQ(add(builder, kBlocks), kBlocks - 4);
          builder.commit();
          EXPECT_EQ(check_index(path("index")).info.count, 6 * kBlocks + 1) << file << at;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what() << at;
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 150);
}

TEST_F(ResumedBuildTest, OtherDocumentsOrAnotherModelAreRefused) {
  interrupt(3);
  expect_refused(
      [&] {
        IndexBuilder builder = resume();
        add(builder, 1);
        builder.skip(block(1, "other"));
      },
      ErrorKind::kInput, "document \"d6\", or one of the 7 from it on, is another");
  expect_refused(
      [&] {
        IndexBuilder builder = resume();
        add(builder, 2);
        builder.commit();
      },
      ErrorKind::kInput, "fewer documents");
  expect_refused(
      [&] { IndexBuilder(path("index"), model("g"), false, {}, UnfinishedBuild::kResume); },
      ErrorKind::kInput, "had another model or other options");
  EXPECT_TRUE(is_kept());
  fs::remove_all(building());
  fs::create_directories(building());
  write_file_atomic(path("index.building/notes.txt"), "a stranger's");
  for (const UnfinishedBuild each : {UnfinishedBuild::kResume, UnfinishedBuild::kForget}) {
    expect_refused([&] { begin(each, true); }, ErrorKind::kUsage, "remove it");
  }
}

TEST_F(ResumedBuildTest, WhatWasKeptIsNotForgottenUnasked) {
  interrupt(3);
  for (const UnfinishedBuild each : {UnfinishedBuild::kKeep, UnfinishedBuild::kForget}) {
    expect_refused([&] { begin(each); }, ErrorKind::kUsage, "go on with it by");
  }
  IndexBuilder builder = begin(UnfinishedBuild::kKeep, true);
  EXPECT_EQ(add(builder, kBlocks), kBlocks);
  builder.commit();
  EXPECT_FALSE(fs::exists(building()));
}

TEST_F(ResumedBuildTest, ACommitThatFailsKeepsTheDocuments) {
  build_whole({path("whole"), model()});
  interrupt_in_commit();
  EXPECT_TRUE(is_kept());
  expect_resumed(0);
}

TEST_F(ResumedBuildTest, ABuildKilledInItsCommitIsFinished) {
  build_whole({path("whole"), model()});
  // Before its state lists the final segments, some of which are there.
  interrupt(kBlocks);
  fs::copy(path("whole/manifest.json"), path("index.building/manifest.json"));
  fs::copy(path("whole/segments"), path("index.building/segments"));
  fs::remove(path("index.building/segments/segment-1.bin.words"));
  expect_resumed(0);
  // When it was exchanged for the one before, whose removal has begun.
  for (const bool replaces : {false, true}) {
    fs::remove_all(path("index"));
    interrupt_in_commit();
    fs::rename(building(), path("index"));
    fs::create_directories(building() + "/segments");
    expect_resumed(0, replaces);
  }
}

TEST_F(ResumedBuildTest, AnIndexThatIsNotTheOneToBeFinishedStands) {
  build_whole({path("whole"), model()});
  interrupt_in_commit();
  fs::rename(building(), path("index"));
  const auto finish = [&](int64_t blocks, const IndexedModel& of) {
    IndexBuilder builder(path("index"), of, true, {}, UnfinishedBuild::kResume);
    add(builder, blocks);
    builder.commit();
  };
  expect_refused([&] { finish(kBlocks, model("other")); }, ErrorKind::kInput, "another model");
  expect_refused([&] { finish(kBlocks - 1, model()); }, ErrorKind::kInput, "fewer documents");
  expect_refused([&] { finish(kBlocks + 1, model()); }, ErrorKind::kInput, "is another");
  EXPECT_EQ(check_index(path("index")).info.count, 6 * kBlocks + 1);
  {
    const IndexBuilder other = begin(UnfinishedBuild::kKeep, true);
    expect_refused([&] { finish(kBlocks, model()); }, ErrorKind::kUsage, "another process");
  }
  finish(kBlocks, model());
  expect_whole();
}

TEST_F(ResumedBuildTest, ABuildThatWasToBeForgottenBlocksNone) {
  {
    IndexBuilder import(path("index"), model());
    add(import, 2);
    fs::copy(building(), path("copy"), fs::copy_options::recursive);
  }
  EXPECT_FALSE(fs::exists(building()));
  fs::rename(path("copy"), building());
  IndexBuilder builder = begin(UnfinishedBuild::kKeep);
  EXPECT_EQ(add(builder, kBlocks), kBlocks);
  builder.commit();
}

TEST_F(ResumedBuildTest, VectorsWithoutProductsThatAreNumbersAreMeasured) {
  IndexBuilder builder(path("index"), model());
  Matrix<float> vectors(2, kD);
  vectors.row(0)[0] = vectors.row(0)[1] = vectors.row(1)[0] = 1e20f;
  vectors.row(1)[1] = -1e20f;
  builder.add({{"a", "one"}, {"b", "two"}}, vectors);
  builder.commit();
  EXPECT_EQ(read_index_info(path("index")).model.vectors_recall, 1);
}

TEST_F(ResumedBuildTest, DamagedVectorsAreNoGraphThatFailed) {
  SearchSettings settings;
  settings.approximate.approximate = "always";
  IndexedModel floats = model();
  floats.vectors = StoredNumber::kFp32;
  IndexBuilder builder(path("index"), floats, true, settings);
  std::vector<Document> documents;
  for (int64_t i = 0; i <= detail::kFullSegment; ++i)
    documents.push_back({fmt::format("d{}", i), "a"});
  builder.add(documents, Matrix<float>(detail::kFullSegment + 1, kD, 1.0f));
  const std::string segment = detail::segment_path(path("index.building/building"), 1);
  std::string bytes = read_file(segment);
  bytes[300] = static_cast<char>(bytes[300] ^ 1);
  write_file_atomic(segment, bytes);
  expect_refused([&] { builder.commit(); }, ErrorKind::kInput, "segment-1.bin");
}

TEST_F(ResumedBuildTest, AnIndexWhoseGraphFailsIsKeptWithoutIt) {
  SearchSettings settings;
  settings.approximate.approximate = "always";
  const auto build = [&](ErrorKind kind) {
    IndexBuilder builder(path("index"), model(), true, settings);
    add(builder, kBlocks);
    return builder.commit([&](int64_t, int64_t) { throw Error(kind, "no memory"); });
  };
  EXPECT_THROW(build(ErrorKind::kInterrupted), Error);
  EXPECT_FALSE(is_index(path("index")));
  EXPECT_THAT(build(ErrorKind::kFailed).value_or(""), HasSubstr("no memory"));
  EXPECT_FALSE(read_index_info(path("index")).graph);
  EXPECT_TRUE(check_index(path("index")).unused_files.empty());
  SearchIndex index = SearchIndex::open(path("index"), "f", "m", SearchIndex::Access::kWrite);
  EXPECT_EQ(index.search(Matrix<float>(1, kD, 1.0f), 3)[0].size(), 3u);
  index.merge();
  EXPECT_TRUE(index.info().graph);
}

}  // namespace
}  // namespace simile
