// SPDX-License-Identifier: Apache-2.0
// What clients of other servers send, and what they take.
#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>

#include "simile/serve/detail/service_fixture_test.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class CompatibilityTest : public ServiceTest {
 protected:
  int warnings() const {
    return static_cast<int>(std::count_if(
        log_.lines.begin(), log_.lines.end(),
        [](const auto& line) { return line.find("\"event\":\"warning\"") != std::string::npos; }));
  }
};

TEST_F(CompatibilityTest, RerankOfCohereAndJinaIsRerank) {
  const json texts = {"a dog", "the cat sat", "it ran"};
  const json ranks = post("/rerank", {{"query", "the cat sat"}, {"texts", texts}});
  json body = {{"model", "tiny"}, {"query", "the cat sat"}, {"documents", texts}};
  for (const char* path : {"/v1/rerank", "/v2/rerank"}) {
    const json reply = post(path, body);
    ASSERT_EQ(reply["results"].size(), 3u) << reply;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(reply["results"][i],
                json({{"index", ranks[i]["index"]}, {"relevance_score", ranks[i]["score"]}}));
    }
    EXPECT_EQ(reply["model"], "tiny");
    EXPECT_GT(reply["usage"]["total_tokens"], 0);
  }
  body["documents"] = {"a dog", {{"text", "the cat sat"}, {"title", "ignored"}}, "it ran"};
  body["top_n"] = 2;
  body["return_documents"] = true;
  const json two = post("/v1/rerank", body);
  ASSERT_EQ(two["results"].size(), 2u);
  EXPECT_EQ(two["results"][0]["document"], json({{"text", "the cat sat"}}));
  EXPECT_EQ(two["results"][0]["index"], 1);
  EXPECT_THAT(call("POST", "/v1/rerank", body.dump()).headers,
              Contains(Pair("x-rerank-by", "cosine")));
}

// So many at a time, and their scores are those of each alone.
TEST_F(CompatibilityTest, ManyDocumentsAreRanked) {
  const std::vector<std::string> texts = tiny_texts(70);
  const json reply = post("/v1/rerank", {{"query", "the cat"}, {"documents", texts}});
  ASSERT_EQ(reply["results"].size(), 70u);
  double before = 2;
  for (const json& result : reply["results"]) {
    EXPECT_LE(result["relevance_score"], before);
    before = result["relevance_score"];
    const json alone =
        post("/rerank", {{"query", "the cat"}, {"texts", {texts[result["index"].get<size_t>()]}}});
    EXPECT_EQ(alone[0]["score"], result["relevance_score"]);
  }
}

TEST_F(CompatibilityTest, RerankNamesWhatIsWrongInOpenAisForm) {
  const auto refused = [&](const json& more) {
    json body = {{"query", "the cat"}, {"documents", {"a dog"}}};
    body.update(more);
    const Reply reply = call("POST", "/v1/rerank", body.dump());
    return reply.status == 200 ? ""
                               : json::parse(reply.body)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(refused({{"documents", "one"}}), "");
  EXPECT_THAT(refused({{"documents", {{"text", "one"}}}}), HasSubstr("must be a text"));
  EXPECT_THAT(refused({{"documents", {5, 7}}}), HasSubstr("must be a text or a list of texts"));
  EXPECT_THAT(refused({{"documents", json::array()}}), HasSubstr("\"documents\" is empty"));
  EXPECT_THAT(refused({{"documents", {"a", ""}}}), HasSubstr("\"documents[1]\" is an empty text"));
  EXPECT_THAT(refused({{"documents", {"a", {{"title", "b"}}}}}), HasSubstr("documents[1]"));
  EXPECT_THAT(refused({{"documents", {"a", 7}}}), HasSubstr("documents[1]"));
  EXPECT_THAT(refused({{"top_n", 0}}), HasSubstr("top_n"));
  EXPECT_THAT(refused({{"documents", std::vector<std::string>(2049, "a")}}),
              HasSubstr("2049 texts; a request may have 2048"));
}

TEST_F(CompatibilityTest, AnotherModelsNameIsAnsweredAndWarnedOfOnce) {
  for (int i = 0; i < 3; ++i) {
    const json reply = post("/v1/embeddings", {{"input", "a cat"}, {"model", "text-embedding-3"}});
    EXPECT_EQ(reply["model"], "tiny");
  }
  EXPECT_EQ(warnings(), 1);
  EXPECT_THAT(log_.lines, Contains(HasSubstr("the model \\\"text-embedding-3\\\", which")));
  for (const char* name : {"tiny", "other", ""}) {
    post("/v1/embeddings", {{"input", "a cat"}, {"model", name}});
  }
  EXPECT_EQ(warnings(), 1);
  for (int i = 0; i < 200; ++i) {
    post("/v1/rerank", {{"query", "a"}, {"documents", "b"}, {"model", std::to_string(i)}});
  }
  EXPECT_EQ(warnings(), 100);
}

class StrictNamesTest : public ServiceTest {
 protected:
  static ServeLimits strict() {
    ServeLimits limits;
    limits.strict_model_name = true;
    return limits;
  }
  StrictNamesTest() : ServiceTest({}, tiny_model(), strict()) {}
};

TEST_F(StrictNamesTest, AnotherModelsNameIsRefused) {
  for (const char* body : {R"({"input":"a","model":"gpt"})", R"({"input":"a","model":"GPT "})"}) {
    const Reply reply = call("POST", "/v1/embeddings", body);
    EXPECT_EQ(reply.status, 404);
    EXPECT_EQ(json::parse(reply.body)["error"]["code"], "model_not_found");
  }
  EXPECT_EQ(call("POST", "/v1/embeddings", R"({"input":"a","model":"other"})").status, 200);
}

std::string unpack(const std::string& packed) {
  std::string text(1 << 22, '\0');
  z_stream stream = {};
  inflateInit2(&stream, MAX_WBITS + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(&text[0]);
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST_F(CompatibilityTest, LargeAnswersArePackedForThoseWhoTakeIt) {
  const auto packs = Contains(Pair("Content-Encoding", "gzip"));
  const std::string body = json{{"inputs", tiny_texts(32)}}.dump();
  const Reply plain = call("POST", "/embed", body);
  EXPECT_THAT(plain.headers, Not(packs));
  EXPECT_THAT(plain.headers, Contains(Pair("Vary", "Accept-Encoding")));
  for (const char* takes : {"gzip", "deflate, gzip;q=1.0, *;q=0.5", "br,GZIP", "gzip ; q=0.001"}) {
    call_.accept_encoding = takes;
    const Reply reply = call("POST", "/embed", body);
    EXPECT_THAT(reply.headers, packs) << takes;
    EXPECT_LT(reply.body.size(), plain.body.size() * 3 / 4);
    EXPECT_EQ(unpack(reply.body), plain.body);
  }
  for (const char* takes : {"", "identity", "gzip;q=0", "gzip;q=0.000", "x-gzip-not", "gzipped"}) {
    call_.accept_encoding = takes;
    EXPECT_EQ(call("POST", "/embed", body).body, plain.body) << takes;
  }
  call_.accept_encoding = "gzip";
  EXPECT_THAT(call("POST", "/embed", R"({"inputs":"a cat"})").headers, Not(packs));
}

TEST_F(CompatibilityTest, ThePageOfRoutesIsServed) {
  EXPECT_EQ(call("GET", "/docs").content_type, "text/html; charset=utf-8");
  EXPECT_THAT(call("GET", "/docs").body, HasSubstr("web/docs.js"));
}

HeadSettings head_settings(const std::string& name, const std::string& input) {
  HeadSettings settings;
  settings.name = name;
  settings.input = input;
  settings.kind = input == "pair" ? "concat" : "linear";
  settings.output = "classes";
  settings.class_names = {"mouse", "cat", "dog"};
  return settings;
}

Head make_head(const HeadSettings& settings) {
  std::vector<float> weights(static_cast<size_t>(head_parameter_count(settings, 32)));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = 0.2f * static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  }
  return Head(settings, 32, weights);
}

class PredictTest : public ServiceTest {
 protected:
  static ServedModel model_with_heads() {
    ServedModel model = tiny_model();
    model.heads = {make_head(head_settings("topic", "single")),
                   make_head(head_settings("relation", "pair")), tiny_joint_head()};
    return model;
  }
  explicit PredictTest(ServedModel model = model_with_heads())
      : ServiceTest({}, std::move(model)) {}

  // The classes and numbers that the library gives each text, best first.
  static json expected(const Head& head, const std::vector<std::string>& texts,
                       const std::vector<std::string>& pairs = {}, bool raw = false) {
    const Matrix<float> logits =
        Predictor(*tiny_encoder(), head).predict(texts, pairs, {}, silent_events());
    const Matrix<double> scores = head_probabilities(head.settings(), logits);
    json all = json::array();
    for (int64_t i = 0; i < scores.rows; ++i) {
      std::vector<std::pair<double, std::string>> order;
      for (int64_t j = 0; j < scores.cols; ++j) {
        const auto& names = head.settings().class_names;
        order.emplace_back(raw ? static_cast<double>(logits.row(i)[j]) : scores.row(i)[j],
                           names.empty() ? head.settings().name : names[static_cast<size_t>(j)]);
      }
      std::sort(order.rbegin(), order.rend());
      json one = json::array();
      for (const auto& [score, label] : order) one.push_back({{"label", label}, {"score", score}});
      all.push_back(one);
    }
    return all;
  }
};

TEST_F(PredictTest, GivesTheNumbersOfTheHeadsInTeisForm) {
  const std::vector<Head> heads = model_with_heads().heads;
  const json one = expected(heads[0], {"the cat sat"});
  EXPECT_EQ(post("/predict", {{"inputs", "the cat sat"}, {"head", "topic"}}), one[0]);
  EXPECT_EQ(post("/predict", {{"inputs", {"the cat sat"}}, {"head", "topic"}}), one[0]);
  const json two = {json({"the cat sat"}), json({"a dog ran on the mat"})};
  EXPECT_EQ(post("/predict", {{"inputs", two}, {"head", "topic"}}),
            expected(heads[0], {"the cat sat", "a dog ran on the mat"}));
  EXPECT_EQ(post("/predict", {{"inputs", two}, {"head", "topic"}, {"raw_scores", true}}),
            expected(heads[0], {"the cat sat", "a dog ran on the mat"}, {}, true));
  for (size_t i : {1, 2}) {
    const std::string& name = heads[i].settings().name;
    EXPECT_EQ(post("/predict", {{"inputs", {"the cat", "a dog"}}, {"head", name}}),
              expected(heads[i], {"the cat"}, {"a dog"})[0]);
  }
}

TEST_F(PredictTest, NamesWhatIsWrong) {
  const auto refused = [&](const json& more, int status) {
    json body = {{"inputs", "the cat"}, {"head", "topic"}};
    body.update(more);
    const Reply reply = call("POST", "/predict", body.dump());
    EXPECT_EQ(reply.status, status) << reply.body;
    return reply.body;
  };
  EXPECT_THAT(refused({{"head", ""}}, 422), HasSubstr("several heads, name one: topic, relation"));
  EXPECT_THAT(refused({{"head", "x"}}, 422), HasSubstr("no head 'x'"));
  EXPECT_THAT(refused({{"head", "relation"}}, 422), HasSubstr("has 1 texts; the head takes 2"));
  EXPECT_THAT(refused({{"inputs", {"a", "b"}}}, 422), HasSubstr("has 2 texts; the head takes 1"));
  EXPECT_THAT(refused({{"inputs", json::array()}}, 400), HasSubstr("is empty"));
  EXPECT_THAT(refused({{"inputs", ""}}, 400), HasSubstr("is an empty text"));
  EXPECT_THAT(refused({{"inputs", 5}}, 422), HasSubstr("inputs"));
  EXPECT_THAT(refused({{"prompt_name", "x"}}, 422), HasSubstr("prompt"));
  const json long_text = std::string(200, 'a') + std::string(100, '.');
  EXPECT_EQ(call("POST", "/predict", json{{"inputs", long_text}, {"head", "topic"}}.dump()).status,
            200);
  EXPECT_THAT(refused({{"inputs", long_text}, {"truncate", false}}, 422), HasSubstr("truncate"));
  EXPECT_THAT(refused({{"inputs", std::vector<std::vector<std::string>>(33, {"a"})}}, 422),
              HasSubstr("33 inputs; a request may have 32"));
}

TEST_F(CompatibilityTest, AModelWithoutHeadsPredictsNothing) {
  const Reply reply = call("POST", "/predict", R"({"inputs":"the cat"})");
  EXPECT_EQ(reply.status, 424);
  EXPECT_THAT(reply.body, HasSubstr("no heads"));
}

class ScopeTest : public PredictTest {
 protected:
  static ServedModel model_with_scope() {
    ServedModel model = tiny_model();
    model.heads = {make_head(head_settings("topic", "single"))};
    std::vector<float> mean(32, 0.0f);
    mean[0] = 1;
    model.heads[0].scope = ClassScope{2.0, {mean, mean, mean}};  // nothing is as similar
    return model;
  }
  ScopeTest() : PredictTest(model_with_scope()) {}
};

TEST_F(ScopeTest, TextsLikeNoneOfTheClassesAreTold) {
  for (const json& prediction : post("/predict", {{"inputs", "the cat"}})) {
    EXPECT_EQ(prediction["in_scope"], false);
  }
}

}  // namespace
}  // namespace simile
