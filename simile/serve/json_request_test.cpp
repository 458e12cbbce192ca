// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/json_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/serve/detail/serve_fixture.h"

namespace simile::detail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ServeLimits small_limits() {
  ServeLimits limits;
  limits.request_texts = 3;
  limits.text_bytes = 10;
  return limits;
}

const ServeLimits kLimits = small_limits();

JsonRequest request(const std::string& body) { return {body, kLimits}; }

TEST(JsonRequest, ReadsTextsIdsAndBothTogether) {
  EXPECT_EQ(request(R"({"inputs":"one"})").inputs("inputs")[0].text, "one");
  const auto ids = request(R"({"inputs":[1,2,3]})").inputs("inputs");
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_TRUE(ids[0].is_ids);
  EXPECT_THAT(ids[0].ids, ElementsAre(1, 2, 3));
  const auto both = request(R"({"inputs":["a",[4,5]]})").inputs("inputs");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_FALSE(both[0].is_ids);
  EXPECT_THAT(both[1].ids, ElementsAre(4, 5));
  EXPECT_THAT(request(R"({"texts":["a","b"]})").texts("texts"), ElementsAre("a", "b"));
  EXPECT_THAT(request(R"({"texts":"a"})").texts("texts"), ElementsAre("a"));
}

TEST(JsonRequest, MembersThatAreMissingOrNullHaveTheirFallback) {
  const JsonRequest empty = request(R"({"truncate":null})");
  EXPECT_EQ(empty.flag("truncate"), std::nullopt);
  EXPECT_EQ(empty.integer_or("dimensions", 7, 1, 9), 7);
  EXPECT_EQ(empty.text_or("prompt_name", "none"), "none");
  EXPECT_EQ(empty.choice("encoding_format", {"float", "base64"}), "float");
  EXPECT_EQ(empty.part_or_empty("parameters").flag("truncate"), std::nullopt);
}

TEST(JsonRequest, BodiesThatAreNoJsonObjectAreRefused) {
  const std::string deep = "{\"inputs\":" + std::string(200, '[') + std::string(200, ']') + "}";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[1]"), std::string("\"text\""),
        std::string("{\"inputs\":\"\xff\"}"), std::string("{\"inputs\":\"\\ud800\"}"),
        std::string("{\"inputs\":1e999}"), std::string("{\"a\":1,\"a\":2}"), deep}) {
    EXPECT_NE(refusal_of(Refusal::kMalformed, [&] { request(body); }), "") << body.substr(0, 40);
  }
}

struct Mistake {
  const char* body;
  Refusal refusal;
  const char* message;
};

TEST(JsonRequest, MistakesNameTheKeyWhatWasExpectedAndWhatWasFound) {
  const Mistake mistakes[] = {
      {R"({})", Refusal::kInvalid, "\"inputs\" is missing"},
      {R"({"input":"a"})", Refusal::kInvalid, "is \"input\" meant to be it?"},
      {R"({"inputs":null})", Refusal::kInvalid, "\"inputs\" is missing"},
      {R"({"inputs":1})", Refusal::kInvalid, "\"inputs\" must be a text or a list of token ids"},
      {R"({"inputs":{"a":1}})", Refusal::kInvalid, "\"inputs\" must be"},
      {R"({"inputs":[]})", Refusal::kEmpty, "\"inputs\" is empty"},
      {R"({"inputs":["a",[]]})", Refusal::kInvalid, "\"inputs[1]\" must be"},
      {R"({"inputs":["a",2]})", Refusal::kInvalid, "\"inputs[1]\" must be"},
      {R"({"inputs":[-1]})", Refusal::kInvalid, "\"inputs[0]\" must be"},
      {R"({"inputs":[[1.5]]})", Refusal::kInvalid, "\"inputs[0]\" must be"},
      {R"({"inputs":[[4294967296]]})", Refusal::kInvalid, "\"inputs[0]\" must be"},
      {R"({"inputs":["a","b","c","d"]})", Refusal::kTooManyInputs, "has 4 texts"},
      {R"({"inputs":["a","01234567890"]})", Refusal::kInvalid, "\"inputs[1]\" has 11 bytes"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(refusal_of(mistake.refusal, [&] { request(mistake.body).inputs("inputs"); }),
                HasSubstr(mistake.message))
        << mistake.body;
  }
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [] { request(R"({"t":"yes"})").flag("t"); }),
              HasSubstr("\"t\" must be true or false"));
  for (const char* number : {"0", "10", "1.5", "18446744073709551615", "\"3\""}) {
    const std::string body = std::string(R"({"n":)") + number + "}";
    EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { request(body).integer_or("n", 1, 1, 9); }),
                HasSubstr("between 1 and 9"));
  }
  EXPECT_THAT(refusal_of(Refusal::kInvalid,
                         [] {
                           request(R"({"c":"x"})").choice("c", {"a", "b"});
                         }),
              HasSubstr("one of a, b"));
  EXPECT_THAT(
      refusal_of(Refusal::kInvalid, [] { request(R"({"p":{"q":1}})").part("p").text("q"); }),
      HasSubstr("\"p.q\" must be a text"));
}

}  // namespace
}  // namespace simile::detail
