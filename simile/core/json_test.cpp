// SPDX-License-Identifier: Apache-2.0
#include "simile/core/detail/json.h"

#include <fmt/format.h>
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

TEST(ParseJsonConfig, KeepsOrderAndTypes) {
  const char* json =
      R"({"b":[1,-2,0.5,1e3,18446744073709551615],"a":{"t":true,"n":null,"s":"é\n"}})";
  const ConfigNode node = parse_json_config(json, "body");
  EXPECT_EQ(config_to_json(node),
            R"({"b":[1,-2,0.5,1000.0,18446744073709551615],"a":{"t":true,"n":null,"s":"é\n"}})");
  EXPECT_EQ(node.find("a")->find("s")->type, ConfigNode::Type::kText);
  EXPECT_EQ(node.find("a")->find("t")->where(), "body");
}

TEST(ParseJsonConfig, RefusesANameTwiceAnywhereAndWhatIsNoJson) {
  const auto error = [](const std::string& json) {
    return error_of([&] { parse_json_config(json, "body"); });
  };
  EXPECT_THAT(error(R"({"a":1,"b":2,"a":3})"), HasSubstr("body: the name \"a\" occurs twice"));
  EXPECT_THAT(error(R"([{"m":{"a":1,"a":1}}])"), HasSubstr("the name \"a\" occurs twice"));
  EXPECT_EQ(error(R"([{"a":1},{"a":{"a":1}}])"), "");
  EXPECT_EQ(error(std::string(100, '[') + std::string(100, ']')), "");
  EXPECT_THAT(error(std::string(101, '[')), HasSubstr("nested deeper than 100 levels"));
  for (const char* bad : {"", "{\"a\":", "[1,]", "1 2", "NaN", "{a:1}", "\"\xff\""}) {
    EXPECT_THAT(error(bad), HasSubstr("body: not valid JSON")) << bad;
  }
  const std::string zero("{\"a\":1}\0 more", 13);
  EXPECT_EQ(error(zero), "body: not valid JSON: it has a zero byte");
  EXPECT_EQ(error_of([&] { parse_json(zero, "file"); }),
            "file: not valid JSON: it has a zero byte");
}

// Each name was once compared with all before it: this did not end within minutes.
TEST(ParseJsonConfig, ReadsManyNames) {
  std::string json = "{";
  for (int i = 0; i < 300000; ++i) json += fmt::format("{}\"{}\":0", i == 0 ? "" : ",", i);
  EXPECT_EQ(config_to_json(parse_json_config(json + "}", "body")), json + "}");
}

}  // namespace
}  // namespace simile::detail
