// SPDX-License-Identifier: Apache-2.0
#include "simile/model/builtin_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class BuiltinModelTest : public testing::Test {
 protected:
  BuiltinModelTest()
      : folder_(testing::TempDir() + "simile_builtin_" + std::to_string(getpid()) +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    add_model("first/tiny");
    add_model("second/tiny");
    add_model("second/small");
    make_folders(join_path(folder_, "first/no-model"));
    setenv("SIMILE_MODELS", (path("absent") + ":" + path("first") + "::" + path("second")).c_str(),
           1);
  }
  ~BuiltinModelTest() override {
    unsetenv("SIMILE_MODELS");
    std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void add_model(const std::string& name) const {
    make_folders(path(name));
    write_file_atomic(path(name + "/config.json"), "{}");
  }

  const std::string folder_;
};

TEST_F(BuiltinModelTest, ANameIsTheFirstFolderThatHasIt) {
  EXPECT_EQ(resolve_model("tiny"), path("first/tiny"));
  EXPECT_EQ(resolve_model("small"), path("second/small"));
}

TEST_F(BuiltinModelTest, WhatExistsOrCannotBeANameStaysAsItIs) {
  const auto before = std::filesystem::current_path();
  make_folders(path("here/tiny"));
  make_folders(path("here/other"));
  std::filesystem::current_path(path("here"));
  EXPECT_EQ(resolve_model("tiny"), path("first/tiny"));  // the one here is no model
  EXPECT_EQ(resolve_model("other"), "other");
  write_file_atomic(path("here/tiny/tokenizer.json"), "{}");
  EXPECT_EQ(resolve_model("tiny"), "tiny");
  std::filesystem::current_path(before);
  EXPECT_EQ(resolve_model(path("second/tiny")), path("second/tiny"));
  EXPECT_EQ(resolve_model("nowhere/tiny"), "nowhere/tiny");
  EXPECT_EQ(resolve_model("./tiny"), "./tiny");
  EXPECT_EQ(resolve_model(""), "");
}

TEST_F(BuiltinModelTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"tinny", "no-model"}) {
    try {
      resolve_model(name);
      ADD_FAILURE() << "found " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("small, tiny"),
                                      HasSubstr(path("first")), Not(HasSubstr(path("absent")))));
    }
  }
}

TEST(ModelFolders, AreThoseOfTheVariableTheInstallationAndTheSourceTree) {
  EXPECT_THAT(
      model_folders("/a/bin", "x::/y"),
      ElementsAre("x", "/y", "/a/share/simile/models", "/a/bin/models", "/a/models", "/models"));
  EXPECT_EQ(model_folders("/1/2/3/4/5/6/7/8", "").back(), "/1/2/models");
  EXPECT_THAT(model_folders("", "x"), ElementsAre("x"));
}

}  // namespace
}  // namespace simile
