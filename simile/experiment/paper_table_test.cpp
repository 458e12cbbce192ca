// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/paper_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/experiment/recipe_facts.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/train/option_rules.h"
#include "simile/train/train_options.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSets =
    "title: T\nsets:\n  a: {recipe: {name: x, variants: {v: {seed: 7, max_length: 5}}}}\n"
    "columns: [{label: C, metric: test.map}]\n";

class PaperTableTest : public ::testing::Test, protected TestFiles {
 protected:
  PaperTable read(const std::string& text) const {
    return read_paper_table(write("table.yaml", text));
  }
  void expect_refused(const std::string& text, const std::string& message) const {
    try {
      read(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
};

TEST_F(PaperTableTest, ARowPutsItsValuesAndThenTheSettingsInPlaceOfTheRecipes) {
  const PaperTable table =
      read(kSets +
           "settings: {one: {values: {max_length: 12}, values_of: {a: {hidden_dropout: 0.5}}}}\n"
           "rows: [{label: A row (1), paper: 3.5, values: {variant: v, max_length: 9}}]\n");
  EXPECT_EQ(table.rows[0].name, "a-row-1");
  EXPECT_EQ(table.rows[0].paper[0], 3.5);
  EXPECT_THAT(table.rows[0].sets, ElementsAre("a"));
  const ConfigNode recipe = row_recipe(table, table.rows[0], "a", &table.settings[0], "m", ".",
                                       DataFolder::kMayBeMissing);
  EXPECT_EQ(recipe.find("seed")->scalar, "7");
  EXPECT_EQ(recipe.find("max_length")->scalar, "12");
  EXPECT_EQ(recipe.find("hidden_dropout")->scalar, "0.5");
  EXPECT_EQ(recipe.find("model")->scalar, "m");
  EXPECT_EQ(recipe.find("variants"), nullptr);
}

TEST_F(PaperTableTest, AVariantIsPutBeforeTheOtherValuesAndAnAliasBeforeItsMaps) {
  const PaperTable table = read(kSets +
                                "anchors: {base: &base {variant: v, stages: [{epochs: 1}]}}\n"
                                "rows: [{label: R, values: {<<: *base, stages.0.epochs: 8}}, "
                                "{label: S, values: {max_length: 8, variant: v}}]\n");
  const auto recipe = [&table](size_t row) {
    return row_recipe(table, table.rows[row], "a", nullptr, "m", ".", DataFolder::kMayBeMissing);
  };
  EXPECT_EQ(recipe(0).find("stages")->items[0].find("epochs")->scalar, "8");
  EXPECT_EQ(recipe(1).find("max_length")->scalar, "8");
  EXPECT_EQ(recipe(1).find("seed")->scalar, "7");
}

TEST_F(PaperTableTest, ASetMayTakeTheRecipeOfAnotherTable) {
  write("other.yaml", "sets: {a: {recipe: {name: theirs}}, b: {recipe: there.yaml}}\n");
  write("there.yaml", "name: far\n");
  const std::string rest = "columns: [{label: C, metric: test.map}]\nrows: [{label: R}]\n";
  const PaperTable table =
      read("title: T\nsets: {a: {table: other.yaml, folder: x}, b: {table: other.yaml}}\n" + rest);
  EXPECT_EQ(table.sets[0].recipe.find("name")->scalar, "theirs");
  EXPECT_EQ(table.sets[0].folder, "x");
  EXPECT_EQ(table.sets[1].recipe.find("name")->scalar, "far");
  expect_refused("title: T\nsets: {c: {table: other.yaml}}\n" + rest,
                 "other.yaml has no recipe of its own of a set 'c'");
}

TEST_F(PaperTableTest, WhatIsWrongIsNamedWithItsLine) {
  const std::string row = "rows: [{label: R}]\n";
  expect_refused(kSets + "rows:\n  - {label: R}\n  - {label: S, papper: 3}\n",
                 "table.yaml:7: unknown key 'papper' (did you mean 'paper'?)");
  expect_refused(kSets + "rows:\n  - {paper: 3}\n", "table.yaml:6: 'label' is missing");
  expect_refused(kSets + "rows: [{label: R, paper: [1, 2]}]\n", "2 figures for 1 columns");
  expect_refused(kSets + "rows: [{label: R, paper: high}]\n", "should be a number, found 'high'");
  expect_refused(kSets + "rows: [{label: 'R!'}, {label: 'r+'}]\n", "two rows are called 'r'");
  expect_refused(kSets + "rows: [{label: R, sets: b}]\n", "there is no 'b'");
  expect_refused(kSets + row + "claims: [{above: R, below: S}]\n", "below: there is no 'S'");
  expect_refused("title: T\nsets: {a: {recipe: {}}}\ncolumns: [{label: C}]\n" + row,
                 "table.yaml:3: 'metric' is missing");
  expect_refused("title: T\nsets: {a: {recipe: {}}}\ncolumns: [{label: C, metric: map}]\n" + row,
                 "should be EVALUATION.METRIC");
  expect_refused("title: T\n" + row, "table.yaml:1: 'sets' is missing");
  const std::string sets = "title: T\nsets: {a: {recipe: {}}}\n";
  for (const char* scale : {"0", "-1"}) {
    expect_refused(
        fmt::format("{}columns: [{{label: C, metric: test.map, scale: {}}}]\n{}", sets, scale, row),
        "table.yaml:3: scale: should be above 0");
  }
  expect_refused(sets + "columns: [{label: C, metric: [test.map, geo.alignment]}]\n" + row,
                 "for 'test.map' and 'geo.alignment' different ends are better");
}

TEST_F(PaperTableTest, AValueThatAllRowsHaveIsRefused) {
  for (const char* key : {"name", "seed", "runs"}) {
    const std::string message =
        fmt::format("'{}' cannot be varied: it is the same in all rows", key);
    const std::string values = fmt::format("{{{}: 4}}", key);
    expect_refused(kSets + "rows:\n  - {label: R, values: " + values + "}\n",
                   "table.yaml:6: " + message);
    expect_refused(kSets + "rows: [{label: R, values_of: {a: " + values + "}}]\n", message);
    expect_refused(kSets + "settings: {s: {values: " + values + "}}\nrows: [{label: R}]\n",
                   message);
    expect_refused(kSets + fmt::format("grid: {{{}: [4, 5]}}\n", key), message);
  }
  EXPECT_EQ(read(kSets + "rows: [{label: R, values: {optimizer.name: adam}}]\n").rows.size(), 1U);
}

TEST_F(PaperTableTest, AGridIsARowForEachChoice) {
  const PaperTable table =
      read(kSets +
           "grid: {stages.*.learning_rate: [1e-4, 2e-4], loss: [mse, {name: bsc, mu: 1}]}\n"
           "reference: learning_rate 1e-4, loss mse\n");
  ASSERT_EQ(table.rows.size(), 5U);
  EXPECT_EQ(table.rows[4].baseline, "untrained");
  EXPECT_EQ(table.rows[3].label, "learning_rate 2e-4, loss bsc");
  EXPECT_EQ(table.rows[3].name, "learning-rate-2e-4-loss-bsc");
  EXPECT_EQ(table.rows[1].values.all.find("loss")->find("mu")->scalar, "1");
  const PaperTable signs = read(kSets + "grid: {a: [0.5, -0.5]}\n");
  EXPECT_EQ(signs.rows[0].name, "a-0-5");
  EXPECT_EQ(signs.rows[1].name, "a-minus-0-5");
  const PaperTable without = read(
      "title: T\nsets: {a: {recipe: {baselines: [bm25]}}}\n"
      "columns: [{label: C, metric: test.map}]\ngrid: {a: [1, 2]}\n");
  EXPECT_EQ(without.rows.size(), 2U) << "no row of a start that no recipe evaluates";
  expect_refused(kSets + "grid: {a: [1.5, 1_5]}\n", "two rows are called 'a-1-5'");
  expect_refused(kSets + "grid: {}\n", "table.yaml:5: 'grid' is empty");
  expect_refused(kSets + "grid: {a: 3}\n", "grid: 'a' should be a list of values");
  expect_refused(kSets + "grid: {a: [3]}\nreference: b\n", "reference: there is no 'b'");
}

TEST_F(PaperTableTest, ATableThatIsNotThereIsToldWithTheNearest) {
  try {
    find_table("bsc-tabel3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'bsc-table3'?"));
  }
}

// Every row that ships, on every set and with all settings, is a recipe that can be trained but for
// the data.
TEST(PaperTables, RowsAreRecipes) {
  const std::vector<std::string> names = list_tables();
  EXPECT_GT(names.size(), 20U);
  for (const std::string& name : names) {
    const PaperTable table = read_paper_table(find_table(name));
    EXPECT_FALSE(table.settings.empty()) << name;
    for (const TableRow& row : table.rows) {
      for (const std::string& set : row.sets) {
        for (const TableSettings& settings : table.settings) {
          if (!row.is_trained()) continue;
          TrainOptions options;
          try {
            read_options(row_recipe(table, row, set, &settings, table.model, "data",
                                    DataFolder::kMayBeMissing),
                         options);
            if (bfloat_kernels() == nullptr) options.compute = "fp32";
            check_train_options(options);
          } catch (const Error& error) {
            ADD_FAILURE() << name << ", " << row.label << ": " << error.what();
          }
          EXPECT_THAT(options_to_json(options), Not(HasSubstr("$data"))) << name;
        }
      }
    }
  }
}

// A set that another table has keeps that table's recipes, so its rows of the same label are trained
// once where both tables share a folder.
TEST(PaperTables, LossesSharesTheRowsOfThePapersTables) {
  const PaperTable losses = read_paper_table(find_table("losses"));
  std::vector<std::string> shared;
  for (const TableSet& set : losses.sets) {
    const PaperTable theirs = read_paper_table(find_table(set.table));
    for (const TableRow& row : losses.rows) {
      const TableRow* other = theirs.find_row(row.label);
      const bool has_set = std::count(row.sets.begin(), row.sets.end(), set.name) > 0;
      if (other == nullptr || !row.is_trained() || !has_set) continue;
      const auto fingerprint = [&](const PaperTable& table, const TableRow& one) {
        return recipe_fingerprint(row_recipe(table, one, set.name, &table.settings[0], "m", "data",
                                             DataFolder::kMayBeMissing),
                                  {});
      };
      EXPECT_EQ(fingerprint(losses, row), fingerprint(theirs, *other)) << set.name << row.label;
      EXPECT_EQ(row.name, other->name);  // of the folder
      shared.push_back(row.label);
    }
  }
  EXPECT_EQ(shared.size(), 17U);  // MSE and BSC of six sets, combo of five
}

}  // namespace
}  // namespace simile
