// SPDX-License-Identifier: Apache-2.0
#include "simile/data/metadata_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDocument =
    R"({"year":2020,"lang":"en","price":2.5,"reviewed":true,"code":"007","zip":"2020",)"
    R"("two words":"a b","in":"x","big":9007199254740993,"day":"2024-05-01","quote":"it's"})";

struct FilterCase {
  const char* filter;
  bool matches;
};

constexpr FilterCase kFilterCases[] = {
    {"year = 2020", true},
    {"year == 2020", true},
    {"year=2020", true},
    {"year = 2020.0", true},
    {"year = 2.02e3", true},
    {"year = 2021", false},
    {"year = '2020'", false},
    {"year != 2021", true},
    {"year != 2020", false},
    {"year != '2020'", true},
    {"year < 2021", true},
    {"year < 2020", false},
    {"year <= 2020", true},
    {"year > 2019.5", true},
    {"year > 2020", false},
    {"year >= 2020", true},
    {"year >= -5", true},
    {"year < '3'", false},
    {"year < abc", false},
    {"price >= 2.5 and price < 2.6", true},
    {"lang = en", true},
    {"lang = 'en'", true},
    {"lang = \"en\"", true},
    {"'lang' = en", true},
    {"lang = EN", false},
    {"lang < fr", true},
    {"lang >= fr", false},
    {"lang > 5", false},
    {"reviewed = true", true},
    {"reviewed = 'true'", false},
    {"reviewed = false", false},
    {"reviewed != false", true},
    {"reviewed = 1", false},
    {"reviewed < true", false},
    {"code = 007", true},
    {"code = 7", false},
    {"zip = 2020", true},
    {"zip = '2020'", true},
    {"zip = 2020.0", false},
    {"zip >= 2020", false},
    {"zip >= '2020'", true},
    {"'two words' = 'a b'", true},
    {"\"in\" = x", true},
    {"'in' in (x)", true},
    {"big = 9007199254740993", true},
    {"big = 9007199254740992", false},
    {"big > 9007199254740992", true},
    {"day >= 2024-04-30 and day < 2024-06-01", true},
    {"quote = 'it''s'", true},
    {"quote = \"it's\"", true},
    {"lang in (de, en)", true},
    {"lang IN ( 'de' )", false},
    {"lang not in (de, fr)", true},
    {"lang not in (de, en)", false},
    {"year in (2019, 2020)", true},
    {"lang contains n", true},
    {"lang CONTAINS ''", true},
    {"lang contains N", false},
    {"lang not contains x", true},
    {"day contains -05-", true},
    {"year contains 02", true},
    {"reviewed contains 'ru'", true},
    {"nothing contains x", false},
    {"nothing not contains x", false},
    {"nothing = 1", false},
    {"nothing != 1", false},
    {"nothing < 1", false},
    {"nothing in (1)", false},
    {"nothing not in (1)", false},
    {"not nothing = 1", true},
    {"not nothing != 1", true},
    {"not year = 2020", false},
    {"not not year = 2020", true},
    {"NOT year = 2021 AND lang = en OR nothing = 1", true},
    {"year = 2021 and lang = de or lang = en", true},
    {"lang = en or year = 2021 and lang = de", true},
    {"(lang = en or year = 2021) and lang = de", false},
    {"not (lang = en and year = 2021)", true},
    {"not lang = de and year = 2020", true},
    {"((year = 2020))", true},
    {"lang = en\n and\tyear = 2020", true},
};

TEST(MetadataFilter, MatchesByTheTable) {
  for (const FilterCase& each : kFilterCases) {
    EXPECT_EQ(MetadataFilter(each.filter).matches(kDocument), each.matches) << each.filter;
  }
}

struct FilterFault {
  std::string filter;
  const char* message;
};

std::string tests_of_columns(int count) {
  std::string filter = "c0 = 1";
  for (int i = 1; i < count; ++i) filter += " or c" + std::to_string(i) + " = 1";
  return filter;
}

// By hand, by ISO 8601.
TEST(MetadataFilter, DatesAreComparedAsDates) {
  const FilterCase cases[] = {
      {"d = 2024-02-29", true},
      {"d = '2024-02-29'", true},
      {"d = 2024-02-29T12:30", true},
      {"d = 2024-02-29T12:30:15Z", true},
      {"d = 2024-02-29T13:30:15+01:00", true},
      {"d = 2024-02-29T13:30:15.000001+01:00", false},
      {"d > 2024-02-29T12:30:15.5", false},
      {"d < 2024-02-29T12:30:15.5", false},  // a second spans both
      {"d < 2024-02-29T12:30:16", true},
      {"d > 2024-02-29", false},
      {"d < 2024-02-29", false},
      {"d <= 2024-02-29", true},
      {"d >= 2024-02-29", true},
      {"d >= 2024-03-01", false},
      {"d < 2024-03-01", true},
      {"d > 2023-12-31T23:59:59-01:00", true},
      {"d in (2024-03-01, 2024-02-29)", true},
      {"d != 2024-02-29", false},
      {"late < 1970-01-02", false},
      {"late = 1970-01-02", true},  // in UTC
      {"late = 1970-01-01", false},
      {"old < 1900-03-01", true},
      {"old >= 1900-02-28", true},
      {"text < 2024-01-01", false},
      {"text >= 2024-01-01", false},
      {"number < 2024-01-01", false},
      {"d < 2024-02-30", true},  // which is no date: a text
      {"d > 2023-02-29", true},
      {"bad < 2024-01-01", false},
      {"bad = 2024-13-01", true},
      {"d >= 2024-02-29T24:00", false},
  };
  const std::string metadata =
      R"({"d":"2024-02-29T12:30:15","late":"1970-01-01T23:30:00-0100","old":"1900-02-28",)"
      R"("text":"unknown","number":20240229,"bad":"2024-13-01"})";
  for (const FilterCase& each : cases) {
    EXPECT_EQ(MetadataFilter(each.filter).matches(metadata), each.matches) << each.filter;
  }
}

TEST(MetadataFilter, ATestOfAListHoldsOfOneOfItsValuesAndAnotherOfAll) {
  const FilterCase cases[] = {{"tags = red", true},
                              {"tags = 7", true},
                              {"tags = green", false},
                              {"tags != red", false},
                              {"tags != green", true},
                              {"not tags = green", true},
                              {"tags in (x, blue)", true},
                              {"tags not in (x)", true},
                              {"tags not in (x, 7)", false},
                              {"tags > 6", true},
                              {"tags > 7", false},
                              {"tags contains lu", true},
                              {"tags not contains lu", false},
                              {"tags starts with re", true},
                              {"tags not starts with x", true},
                              {"exists tags", true},
                              {"exists none", false},
                              {"none != red", false},
                              {"exists missing", false},
                              {"not exists none", true},
                              {"days > 2024-05-01", true},
                              {"name starts with ''", true},
                              {"name starts with Sea", true},
                              {"name starts with sea", false},
                              {"'exists' = 1", true},
                              {"EXISTS 'exists'", true},
                              {"starts starts with s", true}};
  const std::string metadata =
      R"({"tags":["red","blue",7],"none":[],"days":["2024-05-01","2024-05-02"],"name":"Sea",)"
      R"("exists":1,"starts":"s"})";
  for (const FilterCase& each : cases) {
    EXPECT_EQ(MetadataFilter(each.filter).matches(metadata), each.matches) << each.filter;
  }
}

TEST(MetadataFilter, NamesUpTo32Columns) {
  EXPECT_EQ(MetadataFilter(tests_of_columns(32)).columns().size(), 32u);
}

TEST(MetadataFilter, SaysWhereAndWhatWasExpected) {
  const FilterFault faults[] = {
      {"", "filter: at character 1: expected a column, not, exists, or (, found the end"},
      {"  ", "at character 3: expected a column"},
      {"year",
       "at character 5: expected =, !=, <, <=, >, >=, [not] in, [not] contains or [not] starts "
       "with behind "
       "the column "
       "'year', found the end"},
      {"year 2020",
       "at character 6: expected =, !=, <, <=, >, >=, [not] in, [not] contains or [not] starts "
       "with behind "
       "the column "
       "'year', found '2020'"},
      {"year =", "at character 7: expected a value, found the end"},
      {"year = = 5", "at character 8: expected a value, found '='"},
      {"year = and", "at character 8: expected a value, found 'and'"},
      {"= 5", "at character 1: expected a column, not, exists, or (, found '='"},
      {"in = 5", "expected a column, not, exists, or (, found 'in'"},
      {"year = 2020 lang = en", "at character 13: expected and, or, or the end, found 'lang'"},
      {"year = 2020 and", "at character 16: expected a column, not, exists, or (, found the end"},
      {"(year = 2020", "at character 13: expected and, or, or ), found the end"},
      {"year = 2020)", "at character 12: expected and, or, or the end, found ')'"},
      {"lang in en",
       "at character 9: expected ( and values with commas between, as in (a, b), found 'en'"},
      {"lang in ()", "at character 10: expected a value, found ')'"},
      {"lang in (en de)", "at character 13: expected , or ), found 'de'"},
      {"lang in (en,", "at character 13: expected a value, found the end"},
      {"lang not = en",
       "at character 10: expected in, contains or starts with behind not, found '='"},
      {"lang = 'en", "at character 8: expected another ' to end the quotes"},
      {"lang ! en", "at character 6: expected != where ! stands"},
      {std::string(65, '(') + "a = 1" + std::string(65, ')'),
       "at character 65: expected no more than 64 of ( and not within one another"},
      {tests_of_columns(33), "expected at most 32 columns, found 33"},
      {"a = " + std::string(17000, 'x'), "a filter is at most 16384 bytes long"},
  };
  for (const FilterFault& fault : faults) {
    try {
      const MetadataFilter filter(fault.filter);
      ADD_FAILURE() << "parsed: " << fault.filter;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(fault.message)) << fault.filter;
    }
  }
}

TEST(MetadataFilter, NamesItsColumnsOnce) {
  EXPECT_THAT(MetadataFilter("b = 1 or not (a in (b, c) and b < 2)").columns(),
              ElementsAre("a", "b"));
}

TEST(MetadataFilter, MatchesAllWhenNoneIsGiven) {
  EXPECT_TRUE(MetadataFilter().matches_all());
  EXPECT_TRUE(MetadataFilter().matches(""));
  EXPECT_FALSE(MetadataFilter("a = 1").matches_all());
  EXPECT_FALSE(MetadataFilter("a = 1").matches(""));
  EXPECT_TRUE(MetadataFilter("not a = 1").matches(""));
}

}  // namespace
}  // namespace simile
