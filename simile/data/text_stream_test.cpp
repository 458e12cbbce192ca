// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TextStreamFiles : public testing::Test {
 protected:
  TextStreamFiles() { std::filesystem::create_directories(folder_); }
  ~TextStreamFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    write_file_atomic(path, bytes);
    return path;
  }
  std::string numbered(const std::string& name, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += name + std::to_string(i) + "\n\n";
    return write(name, text);
  }
  static std::vector<std::string> read_all(const std::vector<CorpusFile>& files, int64_t buffer,
                                           uint64_t epoch) {
    TextStream stream(files, buffer, 1, epoch);
    std::vector<std::string> texts;
    for (std::string text; stream.next(text);) texts.push_back(text);
    return texts;
  }

  const std::string folder_ = testing::TempDir() + "simile_text_stream_" + std::to_string(getpid());
};

TEST_F(TextStreamFiles, FilesAreReadSideBySideAndEndTogether) {
  const auto files = inspect_corpus({numbered("a", 4), numbered("b", 2)}, silent_events());
  EXPECT_EQ(files[0].texts, 4);
  EXPECT_EQ(files[0].bytes, 8);
  EXPECT_THAT(read_all(files, 1, 0), ElementsAre("a0", "b0", "a1", "a2", "b1", "a3"));
}

TEST_F(TextStreamFiles, ABufferShufflesEveryEpochAnewAndLosesNothing) {
  const auto files = inspect_corpus({numbered("a", 300)}, silent_events());
  std::vector<std::string> plain = read_all(files, 1, 0), first = read_all(files, 50, 0);
  std::vector<std::string> second = read_all(files, 50, 1);
  EXPECT_EQ(first, read_all(files, 50, 0));
  EXPECT_NE(first, second);
  EXPECT_NE(first, plain);
  for (auto* texts : {&plain, &first, &second}) std::sort(texts->begin(), texts->end());
  EXPECT_EQ(first, plain);
  EXPECT_EQ(second, plain);
}

TEST_F(TextStreamFiles, WhatIsNoCorpusIsRefused) {
  const auto message = [](const std::vector<std::string>& paths) -> std::string {
    return error_of([&] { inspect_corpus(paths, silent_events()); });
  };
  EXPECT_THAT(message({}), HasSubstr("no `corpus` file"));
  EXPECT_THAT(message({folder_ + "/none.txt"}), HasSubstr("none.txt"));
  EXPECT_THAT(message({write("empty.txt", "")}), HasSubstr("no text"));
  EXPECT_THAT(message({write("blank.txt", "\n\n")}), HasSubstr("no text"));
  EXPECT_THAT(message({write("binary.txt", std::string(500, '\xfe') + "\n")}),
              HasSubstr("is not text"));
}

}  // namespace
}  // namespace simile
