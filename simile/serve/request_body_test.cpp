// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/request_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "simile/serve/detail/serve_fixture_test.h"

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

struct Body {
  ConfigNode inputs;
  std::vector<std::string> texts;
  bool truncate = true;
  int64_t number = 7;
  std::string prompt_name = "none", format = "float";
  struct Part {
    std::string q = "a";
    std::vector<std::string> ids;
    void visit(OptionVisitor& v) {
      v.field("q", q, OptionInfo{"", "", 1, 5});
      v.field("ids", ids, OptionInfo{""}.one_or_more());
    }
  };
  std::optional<Part> part;
  void visit(OptionVisitor& v) {
    v.field("inputs", inputs, inputs_info(""));
    v.field("texts", texts, OptionInfo{"", "", 1}.one_or_more());
    v.field("truncate", truncate, {""});
    v.field("number", number, {"", "", 1, 9});
    v.field("prompt_name", prompt_name, {""});
    v.field("format", format, choice_info("", {"float", "base64"}));
    v.field("p", part, {""});
  }
};

Body request(const std::string& body, BodySize size = BodySize::kUsual) {
  Body read;
  read.texts = {"a"};
  read_body(body, kLimits, size, [&](OptionVisitor& v) { read.visit(v); });
  return read;
}

std::vector<TextInput> inputs_of(const std::string& body) {
  return read_inputs(request(body).inputs, "inputs", kLimits);
}

TEST(RequestBody, ReadsTextsIdsAndBothTogether) {
  EXPECT_EQ(inputs_of(R"({"inputs":"one"})")[0].text, "one");
  const auto ids = inputs_of(R"({"inputs":[1,2,3]})");
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_TRUE(ids[0].is_ids);
  EXPECT_THAT(ids[0].ids, ElementsAre(1, 2, 3));
  const auto both = inputs_of(R"({"inputs":["a",[4,5]]})");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_FALSE(both[0].is_ids);
  EXPECT_THAT(both[1].ids, ElementsAre(4, 5));
  EXPECT_THAT(request(R"({"inputs":"a","texts":["a","b"]})").texts, ElementsAre("a", "b"));
  EXPECT_THAT(request(R"({"inputs":"a","texts":"a"})").texts, ElementsAre("a"));
}

TEST(RequestBody, MembersThatAreMissingOrNullHaveTheirFallback) {
  const Body empty = request(R"({"inputs":"a","truncate":null,"p":null})");
  EXPECT_TRUE(empty.truncate);
  EXPECT_EQ(empty.number, 7);
  EXPECT_EQ(empty.prompt_name, "none");
  EXPECT_EQ(empty.format, "float");
  EXPECT_FALSE(empty.part.has_value());
}

TEST(RequestBody, BodiesThatAreNoJsonObjectAreRefused) {
  const std::string deep = "{\"inputs\":" + std::string(200, '[') + std::string(200, ']') + "}";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[1]"), std::string("\"text\""),
        std::string("null"), std::string("{\"inputs\":\"\xff\"}"),
        std::string("{\"inputs\":\"\\ud800\"}"), std::string("{\"inputs\":1e999}"),
        std::string("{\"a\":1,\"a\":2}"), deep}) {
    EXPECT_NE(refusal_of(Refusal::kMalformed, [&] { request(body); }), "") << body.substr(0, 40);
  }
}

struct Mistake {
  const char* body;
  Refusal refusal;
  const char* message;
};

TEST(RequestBody, MistakesNameTheKeyWhatWasExpectedAndWhatWasFound) {
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
    EXPECT_THAT(refusal_of(mistake.refusal, [&] { inputs_of(mistake.body); }),
                HasSubstr(mistake.message))
        << mistake.body;
  }
  const Mistake others[] = {
      {R"("truncate":"yes")", Refusal::kInvalid, "\"truncate\" must be true or false"},
      {R"("format":"x")", Refusal::kInvalid, "one of float, base64"},
      {R"("format":["float"])", Refusal::kInvalid, "one of float, base64"},
      {R"("p":{"q":1})", Refusal::kInvalid, "\"p.q\" must be a text"},
      {R"("p":{"q":""})", Refusal::kInvalid, "\"p.q\" must have 1 to 5 bytes, but it has 0"},
      {R"("p":{"q":"123456"})", Refusal::kInvalid, "\"p.q\" must have 1 to 5 bytes"},
      {R"("p":{"ids":[]})", Refusal::kEmpty, "\"p.ids\" is empty"},
      {R"("p":{"ids":7})", Refusal::kInvalid, "a text or a list of texts"},
      {R"("texts":["a",""])", Refusal::kEmpty, "\"texts[1]\" is an empty text"},
      {R"("texts":"")", Refusal::kEmpty, "\"texts\" is an empty text"},
      {R"("texts":["a",null])", Refusal::kInvalid, "\"texts[1]\" must be a text"},
      {R"("texts":["a","b","c","d"])", Refusal::kTooManyInputs, "a request may have 3"},
      {R"("prompt_name":"01234567890")", Refusal::kInvalid, "has 11 bytes; a text may have 10"},
      {R"("number":0)", Refusal::kInvalid, "between 1 and 9"},
      {R"("number":10)", Refusal::kInvalid, "between 1 and 9"},
      {R"("number":1.5)", Refusal::kInvalid, "between 1 and 9"},
      {R"("number":18446744073709551615)", Refusal::kInvalid, "between 1 and 9"},
      {R"("number":"3")", Refusal::kInvalid, "between 1 and 9"},
  };
  for (const Mistake& mistake : others) {
    const std::string body = std::string(R"({"inputs":"a",)") + mistake.body + "}";
    EXPECT_THAT(refusal_of(mistake.refusal, [&] { request(body); }), HasSubstr(mistake.message))
        << body;
  }
  EXPECT_EQ(request(R"({"inputs":"a","texts":["a","b","c","d"]})", BodySize::kBulk).texts.size(),
            4u);
}

}  // namespace
}  // namespace simile::detail
