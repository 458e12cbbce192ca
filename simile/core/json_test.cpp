// SPDX-License-Identifier: Apache-2.0
#include "simile/core/detail/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simile/core/detail/error_of_test.h"

namespace simile::detail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Streamed {
  std::string tree;
  std::vector<std::string> taken;  // "name=value"
};

Streamed read(const std::string& text) {
  Streamed result;
  const auto take = [&](bool named, const std::string& name, const Json& value) {
    result.taken.push_back((named ? name + "=" : name) + dump_json(value, -1));
  };
  result.tree = dump_json(parse_json(text, "f.json", {{{"model", "vocab"}, take}}), -1);
  return result;
}

std::string error_from(const std::string& text) {
  return error_of([&] { read(text); });
}

TEST(JsonStream, MembersOfAnObjectAreTakenAndNotKept) {
  const Streamed streamed = read(
      R"({"vocab":{"x":0},"model":{"a":[1],"vocab":{"b":1,"c":"d","":null},"e":{"vocab":{"f":2}}},"g":3})");
  EXPECT_THAT(streamed.taken, ElementsAre("b=1", "c=\"d\"", "=null"));
  EXPECT_EQ(streamed.tree,
            R"({"g":3,"model":{"a":[1],"e":{"vocab":{"f":2}},"vocab":{}},"vocab":{"x":0}})");
}

TEST(JsonStream, ElementsOfAnArrayAreTakenWhole) {
  const Streamed streamed =
      read(R"({"model":{"vocab":[["a",-1.5],"b",{"c":{"d":1}},[]],"z":[1,2]}})");
  EXPECT_THAT(streamed.taken, ElementsAre("[\"a\",-1.5]", "\"b\"", "{\"c\":{\"d\":1}}", "[]"));
  EXPECT_EQ(streamed.tree, R"({"model":{"vocab":[],"z":[1,2]}})");
}

TEST(JsonStream, OtherShapesAreLeftToTheReader) {
  EXPECT_EQ(read(R"({"model":{"vocab":5}})").tree, R"({"model":{"vocab":5}})");
  EXPECT_EQ(read(R"({"model":[{"vocab":{"a":1}}]})").tree, R"({"model":[{"vocab":{"a":1}}]})");
  EXPECT_EQ(read("[1,[2]]").tree, "[1,[2]]");
}

TEST(JsonStream, AContainerForAValueIsAnErrorThatNamesIt) {
  EXPECT_THAT(error_from(R"({"model":{"vocab":{"a":[1]}}})"),
              HasSubstr("f.json: \"a\" in \"vocab\" must be a single value"));
}

TEST(JsonStream, AMemberThatOccursTwiceIsAnError) {
  EXPECT_THAT(error_from(R"({"model":{"vocab":{"a":0},"vocab":[1]}})"),
              HasSubstr("f.json: the name \"vocab\" occurs twice"));
  EXPECT_THAT(error_from(R"({"model":{"vocab":{}},"model":{"vocab":{}}})"),
              HasSubstr("occurs twice"));
}

TEST(ParseJson, TwiceTheSameNameAtTheTopAndDeepNestingAreErrors) {
  EXPECT_THAT(error_from(R"({"a":1,"b":2,"a":3})"), HasSubstr("the name \"a\" occurs twice"));
  EXPECT_THAT(error_from(std::string(5000, '[')), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(error_from("{\"a\":"), HasSubstr("f.json: not valid JSON"));
}

}  // namespace
}  // namespace simile::detail
