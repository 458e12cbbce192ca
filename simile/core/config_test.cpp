// SPDX-License-Identifier: Apache-2.0
#include "simile/core/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/options.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Settings {
  std::string name, path, loss;
  int64_t steps = 0;
  std::vector<std::string> more;
  void visit(OptionVisitor& v) {
    v.field("name", name, {"of the run"});
    v.field("path", path, path_info("a file"));
    v.field("more", more, path_info("files"));
    v.field("loss", loss, {"which"});
    v.field("steps", steps, {"how many"});
  }
};

class RecipeTest : public ::testing::Test {
 protected:
  RecipeTest()
      : folder_(::testing::TempDir() + "simile_recipe_test_" + std::to_string(getpid()) +
                "/recipes") {
    for (const char* each : {".", "../shipped", "../real"}) fs::create_directories(beside(each));
    write_file_atomic(recipe(),
                      "name: run\n"
                      "data: ../shipped\n"
                      "path: $data/train.tsv\n"
                      "more: [$data/a.tsv, b.tsv]\n"
                      "loss: mse\n"
                      "variants:\n"
                      "  cosent: {loss: cosent, steps: 5}\n"
                      "  real: {data: ../real, more: $data/c.tsv}\n");
  }
  ~RecipeTest() override { fs::remove_all(beside("..")); }

  std::string recipe() const { return join_path(folder_, "recipe.yaml"); }
  std::string beside(const std::string& path) const {
    return fs::path(join_path(folder_, path)).lexically_normal().string();
  }
  Settings read(const std::vector<std::string>& overrides) const {
    Settings settings;
    read_options(load_recipe(recipe(), overrides), settings);
    return settings;
  }
  std::string error_of(const std::vector<std::string>& overrides) const {
    try {
      read(overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
      return error.what();
    }
    return "no error";
  }

  const std::string folder_;
};

TEST_F(RecipeTest, PathsInDataStartFromTheRecipeOrTheWorkingDirectory) {
  const Settings shipped = read({});
  EXPECT_EQ(shipped.path, beside("../shipped/train.tsv"));
  EXPECT_THAT(shipped.more, ElementsAre(beside("../shipped/a.tsv"), beside("b.tsv")));
  EXPECT_EQ(read({"data=."}).path, fs::absolute("train.tsv").string());
}

TEST_F(RecipeTest, AVariantReplacesValuesAndNamesTheRun) {
  const Settings cosent = read({"variant=cosent"});
  EXPECT_EQ(cosent.name, "run-cosent");
  EXPECT_EQ(cosent.loss, "cosent");
  EXPECT_EQ(cosent.steps, 5);
  const Settings real = read({"variant=real", "variant=cosent"});
  EXPECT_EQ(real.name, "run-real-cosent");
  EXPECT_EQ(real.path, beside("../real/train.tsv"));
  EXPECT_THAT(real.more, ElementsAre(beside("../real/c.tsv")));
}

TEST_F(RecipeTest, TheLaterOverrideWins) {
  EXPECT_EQ(read({"variant=cosent", "steps=9"}).steps, 9);
  EXPECT_EQ(read({"steps=9", "variant=cosent"}).steps, 5);
  EXPECT_EQ(read({"variant=real", "data=/"}).path, "/train.tsv");
}

TEST_F(RecipeTest, AFolderOfDataThatIsMissingIsNamedWithWhoNamesIt) {
  const auto message = [&](const std::vector<std::string>& overrides) -> std::string {
    try {
      load_recipe(recipe(), overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({"data=nowhere"}),
              AllOf(HasSubstr(recipe() + ": `data: nowhere` from the command line"),
                    HasSubstr("'" + fs::absolute("nowhere").string() + "'")));
  fs::remove_all(beside("../shipped"));
  EXPECT_THAT(message({}), AllOf(HasSubstr("recipe.yaml:2: `data: ../shipped` is no folder"),
                                 HasSubstr("'" + beside("../shipped") + "'")));
  EXPECT_THAT(message({"data=[a, b]"}), HasSubstr("should be one folder"));
  EXPECT_EQ(load_recipe(recipe(), {}, DataFolder::kMayBeMissing).find("name")->scalar, "run");
}

TEST_F(RecipeTest, MistakesSayWhatThereIs) {
  EXPECT_THAT(error_of({"variant=angle"}),
              AllOf(HasSubstr("recipe.yaml"), HasSubstr("'angle'"), HasSubstr("[cosent, real]")));
  EXPECT_THAT(error_of({"data="}), AllOf(HasSubstr("$data/train.tsv"), HasSubstr("data=FOLDER")));
  EXPECT_THAT(recipe_variants(load_config(recipe())), ElementsAre("cosent", "real"));
}

TEST_F(RecipeTest, AFileThatIsNoUtf8TextIsToldSo) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1\nname: caf\xE9\n", "recipe.yaml:2: a byte is not UTF-8"},
      {"PK\x03\x04", "is a zip archive"},
      {"<!DOCTYPE html>\n", "is a web page"}};
  for (const auto& [bytes, message] : cases) {
    write_file_atomic(recipe(), bytes);
    EXPECT_THAT(error_of({}), HasSubstr(message));
  }
}

}  // namespace
}  // namespace simile
