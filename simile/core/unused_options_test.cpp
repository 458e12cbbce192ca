// SPDX-License-Identifier: Apache-2.0
#include "simile/core/unused_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Search {
  double radius = 1;
  std::string norm = "inf";
  void visit(OptionVisitor& v) {
    v.field("radius", radius, {""});
    v.field("norm", norm, {""});
  }
};

struct Options {
  std::string loss = "bsc";
  double margin = 1;  // of the loss `triplet` alone
  std::vector<std::string> teachers;
  std::string precision = "fp32";
  Search search;
  void visit(OptionVisitor& v) {
    v.field("loss", loss, {""});
    if (loss == "triplet") v.field("margin", margin, {""});
    v.field("teachers", teachers, {""});
    v.field("precision", precision, {""});
    v.group("search", search, "");
  }
};

std::vector<std::string> lines(const Options& options, const std::vector<IdleRule>& rules) {
  std::vector<std::string> all;
  for (const IdleOptions& idle : find_idle_options(options, rules)) all.push_back(idle.to_line());
  return all;
}

TEST(IdleOptions, AreThoseOfRulesThatApplyWithAValueOtherThanTheirDefault) {
  Options options;
  const auto rules = [&options] {
    return std::vector<IdleRule>{
        {options.teachers.empty(), {"precision"}, "without `teachers`"},
        {true, {"search", "teachers"}, "here"},
        {true, {"gone", "search.gone"}, "anywhere"},
    };
  };
  EXPECT_THAT(lines(options, rules()), IsEmpty());
  options.precision = "fp16";
  EXPECT_THAT(lines(options, rules()), ElementsAre("`precision` does nothing without `teachers`"));
  options.teachers = {"large"};
  options.search.radius = 2;
  options.search.norm = "2";
  EXPECT_THAT(lines(options, rules()),
              ElementsAre("`search.radius`, `search.norm`, `teachers` do nothing here"));
}

TEST(IdleOptions, AreFoundBesideOptionsThatTheDefaultsDoNotHave) {
  Options options;
  options.loss = "triplet";
  const std::vector<IdleRule> rules = {{true, {"precision", "search"}, "here"}};
  EXPECT_THAT(lines(options, rules), IsEmpty());
  options.search.norm = "2";
  EXPECT_THAT(lines(options, rules), ElementsAre("`search.norm` does nothing here"));
}

TEST(IdleOptions, AreRefusedWithTheirPlace) {
  refuse_idle_options("a.tsv: ", {});
  try {
    refuse_idle_options("a.tsv: ", {{{"fold_seed"}, "without `folds`"}});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    EXPECT_STREQ(error.what(), "a.tsv: `fold_seed` does nothing without `folds`; remove it");
  }
}

}  // namespace
}  // namespace simile
