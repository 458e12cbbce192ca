// SPDX-License-Identifier: Apache-2.0
// Builds that end before their commit and go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_testing.h"
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
  std::string kept() const { return path("index.building"); }

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

  // Adds blocks as `index build` does; returns how many had to be embedded.
  static int64_t add(IndexBuilder& builder, int64_t blocks) {
    int64_t embedded = 0;
    for (int64_t i = 0; i < blocks; ++i) {
      const auto known = builder.kept_vectors(block(i));
      if (!known) ++embedded;
      builder.add(block(i), known ? *known : detail::vectors_of_texts(block(i), kD));
    }
    return embedded;
  }

  void interrupt(int64_t blocks, UnfinishedBuild unfinished = UnfinishedBuild::kKeep) const {
    IndexBuilder builder = begin(unfinished);
    add(builder, blocks);
  }

  static void build_whole(IndexBuilder builder) {
    add(builder, kBlocks);
    builder.commit();
  }

  bool finish(int64_t blocks, const IndexedModel& model = ResumedBuildTest::model(),
              const std::string& end = "") const {
    int64_t next = 0;
    return finish_killed_build(path("index") + end, model, [&](std::vector<Document>& documents) {
      if (next == blocks) return false;
      documents = block(next++);
      return true;
    });
  }

  void expect_same_files(const std::string& a, const std::string& b) const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path(a))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      const std::string name = fs::relative(entry.path(), path(a)).string();
      EXPECT_TRUE(read_file(entry.path().string()) == read_file(join_path(path(b), name))) << name;
    }
    EXPECT_EQ(files, 5u);
  }

  void expect_refused(const std::function<void()>& work, ErrorKind kind,
                      const std::string& what) const {
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
    EXPECT_EQ(file_exists(kept()), done > 0);
    EXPECT_FALSE(is_index(path("index")));
    IndexBuilder builder = begin(UnfinishedBuild::kResume);
    EXPECT_EQ(add(builder, kBlocks), kBlocks - done);
    builder.commit();
    expect_same_files("whole", "index");
    EXPECT_FALSE(file_exists(kept()));
    EXPECT_TRUE(check_index(path("index")).unused_files.empty());
  }
}

TEST_F(ResumedBuildTest, ItMayBeInterruptedAgainAndAgain) {
  build_whole({path("whole"), model()});
  interrupt(1);
  interrupt(3, UnfinishedBuild::kResume);
  interrupt(2, UnfinishedBuild::kResume);  // before it came to the third
  IndexBuilder builder = begin(UnfinishedBuild::kResume);
  EXPECT_EQ(add(builder, kBlocks), kBlocks - 3);
  builder.commit();
  expect_same_files("whole", "index");
}

TEST_F(ResumedBuildTest, AFileCutOrDamagedAnywhereLosesOnlyWhatIsBehind) {
  build_whole({path("whole"), model()});
  interrupt(4);
  const std::string bytes = read_file(kept());
  for (size_t size = 0; size < bytes.size(); size += 97) {
    fs::remove_all(path("index"));
    write_file_atomic(kept(), bytes.substr(0, size));
    IndexBuilder builder = begin(UnfinishedBuild::kResume);
    EXPECT_GE(add(builder, kBlocks), 3);
    builder.commit();
    expect_same_files("whole", "index");
  }
  for (size_t at = 96; at < bytes.size(); at += 89) {
    fs::remove_all(path("index"));
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write_file_atomic(kept(), damaged);
    IndexBuilder builder = begin(UnfinishedBuild::kResume);
    add(builder, kBlocks);
    builder.commit();
    expect_same_files("whole", "index");
  }
}

TEST_F(ResumedBuildTest, OtherDocumentsOrAnotherModelAreRefused) {
  interrupt(3);
  expect_refused(
      [&] {
        IndexBuilder builder = begin(UnfinishedBuild::kResume);
        add(builder, 1);
        builder.kept_vectors(block(1, "other"));
      },
      ErrorKind::kInput, "document \"d6\", or one of the 7 from it on, is another");
  expect_refused(
      [&] {
        IndexBuilder builder = begin(UnfinishedBuild::kResume);
        add(builder, 2);
        builder.commit();
      },
      ErrorKind::kInput, "fewer documents");
  expect_refused(
      [&] { IndexBuilder(path("index"), model("g"), false, {}, UnfinishedBuild::kResume); },
      ErrorKind::kInput, "had another model or other options");
  write_file_atomic(kept(), std::string(200, 'x'));
  expect_refused([&] { begin(UnfinishedBuild::kResume); }, ErrorKind::kUsage, "remove it");
}

TEST_F(ResumedBuildTest, WhatWasKeptIsNotForgottenUnasked) {
  interrupt(3);
  expect_refused([&] { begin(UnfinishedBuild::kKeep); }, ErrorKind::kUsage, "go on with it by");
  IndexBuilder builder = begin(UnfinishedBuild::kKeep, true);
  EXPECT_EQ(add(builder, kBlocks), kBlocks);
  builder.commit();
  EXPECT_FALSE(file_exists(kept()));
}

TEST_F(ResumedBuildTest, ACommitThatFailsKeepsTheVectors) {
  {
    IndexBuilder builder = begin(UnfinishedBuild::kKeep);
    add(builder, kBlocks);
    write_file_atomic(join_path(path("index"), "notes.txt"), "a stranger's");
    expect_refused([&] { builder.commit(); }, ErrorKind::kUsage, "holds other files");
  }
  EXPECT_TRUE(file_exists(kept()));
  fs::remove(join_path(path("index"), "notes.txt"));
  IndexBuilder builder = begin(UnfinishedBuild::kResume);
  EXPECT_EQ(add(builder, kBlocks), 0);
  builder.commit();
  EXPECT_TRUE(is_index(path("index")));
}

// As if killed between the steps of a commit. Numbers of processes begin anew in containers.
TEST_F(ResumedBuildTest, ABuildKilledInItsCommitIsFinished) {
  build_whole({path("whole"), model()});
  for (const std::string& number : {std::string("123"), std::to_string(getpid())}) {
    fs::remove_all(path("index"));
    interrupt(kBlocks);
    const std::string moved = path("index.tmp-" + number);
    fs::create_directories(moved);
    fs::rename(kept(), join_path(moved, detail::kBuilding));
    fs::create_directories(path("index.tmp-" + number + "-old"));
    fs::create_directories(path("index.tmp-abc"));  // a stranger's
    EXPECT_FALSE(finish(kBlocks));
    {
      IndexBuilder builder = begin(UnfinishedBuild::kResume);
      EXPECT_EQ(add(builder, kBlocks), 0);
      builder.commit();
    }
    expect_same_files("whole", "index");
    EXPECT_FALSE(folder_exists(moved) || folder_exists(moved + "-old"));
    EXPECT_TRUE(folder_exists(path("index.tmp-abc")));
    EXPECT_FALSE(finish(kBlocks));
  }
}

TEST_F(ResumedBuildTest, AnIndexThatOnlyHasItsVectorsLeftIsFinishedIfItIsTheOneWanted) {
  build_whole({path("whole"), model()});
  interrupt(kBlocks);
  const std::string vectors = read_file(kept());
  fs::remove(kept());
  build_whole({path("index"), model()});
  const std::string left = join_path(path("index"), detail::kBuilding);
  const auto leave = [&](const std::string& bytes) {
    write_file_atomic(left, bytes);
    fs::create_directories(path("index.tmp-123-old"));
  };
  leave(vectors);
  EXPECT_TRUE(finish(kBlocks, model(), "/"));
  EXPECT_FALSE(folder_exists(path("index.tmp-123-old")));
  expect_same_files("whole", "index");
  const auto expect_left = [&](bool done) {
    EXPECT_FALSE(done);
    EXPECT_FALSE(file_exists(left));
    expect_same_files("whole", "index");
  };
  leave(vectors);
  expect_left(finish(kBlocks, model("other")));
  leave(vectors);
  expect_left(finish(kBlocks - 1));
  leave(vectors);
  expect_left(finish(kBlocks + 1));
  leave("vectors");
  expect_left(finish(kBlocks));
  leave(std::string(200, 'x'));
  expect_left(finish(kBlocks));
  leave(vectors);
  const IndexBuilder other = begin(UnfinishedBuild::kKeep, true);
  expect_refused([&] { finish(kBlocks); }, ErrorKind::kUsage, "another process");
  EXPECT_TRUE(file_exists(left));
}

TEST_F(ResumedBuildTest, ABuildThatWasToBeForgottenBlocksNone) {
  {
    IndexBuilder import(path("index"), model());
    add(import, 2);
    fs::copy(path("index.tmp-" + std::to_string(getpid())), path("index.tmp-123"),
             fs::copy_options::recursive);
  }
  IndexBuilder builder = begin(UnfinishedBuild::kKeep);
  EXPECT_FALSE(folder_exists(path("index.tmp-123")));
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
  const std::string segment =
      detail::segment_path(path("index.tmp-" + std::to_string(getpid())), 1);
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
