// SPDX-License-Identifier: Apache-2.0
#include "simile/data/path_list.h"

#include <gmock/gmock.h>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PathList, AStarStandsForAnyCharactersOfTheName) {
  const TestFiles files;
  for (const char* name :
       {"part-2.tsv", "part-10.tsv", "part-.tsv", "part-1.csv", ".part-3.tsv", "a-part-4.tsv"}) {
    files.write(name, "");
  }
  make_folders(files.path("part-5.tsv"));
  const auto expand = [&](const std::string& name) { return expand_paths({files.path(name)}); };
  EXPECT_THAT(expand("part-*.tsv"), ElementsAre(files.path("part-.tsv"), files.path("part-10.tsv"),
                                                files.path("part-2.tsv")));
  EXPECT_THAT(expand("*part*.tsv").size(), 4);
  EXPECT_THAT(expand("*-1*"), ElementsAre(files.path("part-1.csv"), files.path("part-10.tsv")));
  EXPECT_THAT(expand("*2**.tsv"), ElementsAre(files.path("part-2.tsv")));
  EXPECT_THAT(expand(".*"), ElementsAre(files.path(".part-3.tsv")));
}

TEST(PathList, OtherPathsAreTakenAsTheyAre) {
  const TestFiles files;
  EXPECT_THAT(expand_paths({}), IsEmpty());
  EXPECT_THAT(expand_paths({"b", "a"}), ElementsAre("b", "a"));
  files.write("a.tsv", "");
  const std::string star = files.write("*.tsv", "");
  EXPECT_THAT(expand_paths({star}), ElementsAre(star));
}

TEST(PathList, WhatDoesNotFitIsAnError) {
  const TestFiles files;
  const std::string path = files.write("a.tsv", "");
  const auto error = [&](const std::vector<std::string>& paths) {
    return error_of([&] { expand_paths(paths); });
  };
  EXPECT_THAT(error({files.path("*.csv")}),
              AllOf(HasSubstr("/*.csv: no file of the folder"), HasSubstr("fits '*.csv'")));
  EXPECT_THAT(error({files.path("none/*.csv")}), HasSubstr("none: No such file"));
  EXPECT_THAT(error({"da*ta/a.tsv"}), HasSubstr("file's name only"));
  EXPECT_THAT(error({"da*ta/*.tsv"}), HasSubstr("file's name only"));
  EXPECT_THAT(error({path, files.path("*.tsv")}), HasSubstr("a.tsv: the file is named twice"));
  EXPECT_THAT(error({path, files.path("./a.tsv")}), HasSubstr("named twice"));
}

TEST(PathList, NamesForMessages) {
  EXPECT_EQ(name_paths({}), "");
  EXPECT_EQ(name_paths({"a"}), "a");
  EXPECT_EQ(name_paths({"a", "b"}), "a and 1 more file");
  EXPECT_EQ(name_paths({"a", "b", "c"}), "a and 2 more files");
}

}  // namespace
}  // namespace simile
