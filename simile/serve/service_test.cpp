// SPDX-License-Identifier: Apache-2.0
// The routes without sockets: what they answer, and what they say of mistakes.
#include "simile/serve/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "simile/data/detail/packed_files_test.h"
#include "simile/serve/detail/route_row.h"
#include "simile/serve/detail/service_fixture_test.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::vector<float> floats(const json& list) { return list.get<std::vector<float>>(); }

std::vector<float> row_of(const Matrix<float>& vectors, int64_t i) {
  return {vectors.row(i), vectors.row(i) + vectors.cols};
}

TEST_F(ServiceTest, EmbedGivesTheBitsOfTheEncoderAndWhatTheyCost) {
  const std::vector<std::string> texts = tiny_texts(7);
  const Reply reply = call("POST", "/embed", json{{"inputs", texts}}.dump());
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json vectors = json::parse(reply.body);
  const Matrix<float> expected = encode(texts);
  ASSERT_EQ(vectors.size(), 7u);
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(floats(vectors[static_cast<size_t>(i)]), row_of(expected, i));
  }
  EXPECT_THAT(reply.headers, Contains(Pair("x-compute-type", "cpu")));
  const json whole = post("/embed", {{"inputs", "the cat"}, {"normalize", false}});
  EncodeOptions options;
  EXPECT_EQ(floats(whole[0]), tiny_encoder()->encode({"the cat"}, options, silent_events()).values);
  EXPECT_EQ(post("/embed", {{"inputs", "the cat"}, {"dimensions", 3}})[0].size(), 3u);
}

TEST_F(ServiceTest, EmbeddingsSpeakAsOpenAi) {
  const json answer = post("/v1/embeddings", {{"input", {"the cat", "a dog"}}, {"model", "other"}});
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "tiny");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(answer["data"][1]["index"], 1);
  const Matrix<float> expected = encode({"the cat", "a dog"});
  EXPECT_EQ(floats(answer["data"][1]["embedding"]), row_of(expected, 1));
  const json coded = post("/v1/embeddings", {{"input", "the cat"}, {"encoding_format", "base64"}});
  EXPECT_EQ(coded["data"][0]["embedding"],
            encode_base64({reinterpret_cast<const char*>(expected.row(0)),
                           static_cast<size_t>(expected.cols) * 4}));
  const json ids = post("/v1/embeddings", {{"input", {{2, 5, 7, 3}}}});
  EXPECT_EQ(floats(ids["data"][0]["embedding"]), row_of(expected, 0));
  EXPECT_EQ(json::parse(call("GET", "/v1/models").body)["data"][0]["id"], "tiny");
}

TEST_F(ServiceTest, SimilarityAndRerankCompareVectors) {
  const json same = post(
      "/similarity",
      {{"inputs", {{"source_sentence", "the cat sat"}, {"sentences", {"a dog", "the cat sat"}}}}});
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[1], 1.0);
  EXPECT_LT(same[0].get<double>(), 1.0);
  const std::string body = json{
      {"query", "the cat sat"},
      {"texts", {"a dog", "the cat sat", "it ran"}},
      {"return_text", true}}.dump();
  const Reply reply = call("POST", "/rerank", body);
  const json ranks = json::parse(reply.body);
  ASSERT_EQ(ranks.size(), 3u) << reply.body;
  EXPECT_EQ(ranks[0]["index"], 1);
  EXPECT_EQ(ranks[0]["text"], "the cat sat");
  EXPECT_GE(ranks[1]["score"].get<double>(), ranks[2]["score"].get<double>());
  EXPECT_THAT(reply.headers, Contains(Pair("x-rerank-by", "cosine")));
}

TEST_F(ServiceTest, TokenizeTellsPiecesAndTheirPlacesInCharacters) {
  const json tokens = post("/tokenize", {{"inputs", "é the cats"}})[0];
  ASSERT_EQ(tokens.size(), 6u) << tokens;
  EXPECT_EQ(tokens[0], json::parse(R"({"id":2,"text":"[CLS]","special":true,"start":null,
                                       "stop":null})"));
  EXPECT_EQ(tokens[1]["text"], "é");
  EXPECT_EQ(tokens[2], json::parse(R"({"id":5,"text":"the","special":false,"start":2,"stop":5})"));
  EXPECT_EQ(tokens[4]["text"], "s");
  EXPECT_EQ(post("/tokenize", {{"inputs", "the"}, {"add_special_tokens", false}})[0].size(), 1u);
  EXPECT_EQ(post("/tokenize", {{"inputs", {"\"", ""}}}).size(), 2u);
  const json many = {{"inputs", std::vector<std::string>(2, std::string(80000, '.'))}};
  const Reply refused = call("POST", "/tokenize", many.dump());
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("more than 65536 tokens together"));
}

TEST_F(ServiceTest, DecodePutsTokensTogether) {
  const json ids = {2, 5, 6, 3};
  const std::string text = post("/decode", {{"ids", ids}})[0];
  EXPECT_EQ(text.substr(0, 4), "the ");
  EXPECT_EQ(post("/decode", {{"ids", ids}, {"skip_special_tokens", false}})[0],
            "[CLS] " + text + " [SEP]");
  EXPECT_EQ(post("/decode", {{"ids", {ids, {5}, json::array()}}}), json({text, "the", ""}));
}

TEST_F(ServiceTest, PagesTellTheModelHealthAndMetrics) {
  const json info = json::parse(call("GET", "/info").body);
  EXPECT_EQ(info["model_id"], "tiny");
  EXPECT_EQ(info["max_input_length"], 24);
  EXPECT_EQ(info["max_client_batch_size"], 32);
  EXPECT_EQ(info["model_type"]["embedding"]["pooling"], "mean");
  for (const char* path : {"/health", "/ping"}) {
    const Reply reply = call("GET", path);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "");
  }
  post("/embed", {{"inputs", {"the cat", "a dog"}}});
  call("POST", "/embed", "{}");
  EXPECT_THAT(call("GET", "/metrics").body,
              AllOf(HasSubstr("te_request_count{method=\"batch\"} 1\n"),
                    HasSubstr("te_request_failure{err=\"validation\"} 1\n"),
                    HasSubstr("te_embed_success 2\n"), HasSubstr("te_queue_size 0\n")));
  EXPECT_EQ(call("HEAD", "/info").status, 200);
}

TEST_F(ServiceTest, TheTableOfRoutesIsTheOpenApiDocument) {
  const json document = json::parse(call("GET", "/openapi.json").body);
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  for (const Route& route : route_table()) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c + 'a' - 'A');
    EXPECT_TRUE(document["paths"][route.path].contains(method)) << route.path;
  }
  const json& body = document["paths"]["/similarity"]["post"]["requestBody"]["content"]
                             ["application/json"]["schema"];
  EXPECT_EQ(body["properties"]["inputs"]["required"],
            json::parse(R"(["source_sentence","sentences"])"));
  EXPECT_EQ(body["properties"]["parameters"]["properties"]["truncate"]["default"], true);
}

struct Refused {
  const char* method;
  const char* path;
  const char* body;
  int status;
  const char* type;
  const char* message;
};

TEST_F(ServiceTest, MistakesHaveTheirStatusTypeAndMessage) {
  const Refused table[] = {
      {"POST", "/embed", "", 400, "Validation", "the body"},
      {"POST", "/embed", R"({"inputs":[]})", 400, "Empty", "is empty"},
      {"POST", "/embed", R"({})", 422, "Validation", "\"inputs\" is missing"},
      {"POST", "/embed", R"({"inputs":"a","normalize":1})", 422, "Validation", "\"normalize\""},
      {"POST", "/embed", R"({"inputs":"a","dimensions":33})", 422, "Validation", "1 and 32"},
      {"POST", "/embed", R"({"inputs":"a","prompt_name":"q"})", 422, "Validation", "no prompt"},
      {"POST", "/embed", R"({"inputs":"a","truncation_direction":"Up"})", 422, "Validation",
       "one of Right"},
      {"POST", "/embed_all", R"({"inputs":[[99]]})", 422, "Validation", "token id 99"},
      {"POST", "/embed_sparse", R"({"inputs":"a"})", 424, "Backend", "SPLADE"},
      {"POST", "/embed", R"({"inputs":[[99]]})", 422, "Validation", "token id 99"},
      {"POST", "/similarity", R"({"inputs":"a"})", 422, "Validation", "must be an object"},
      {"POST", "/similarity", R"({"inputs":{"sentences":["a"]}})", 422, "Validation",
       "\"inputs.source_sentence\" is missing"},
      {"POST", "/rerank", R"({"query":"a"})", 422, "Validation", "\"texts\" is missing"},
      {"POST", "/rerank", R"({"query":"a","texts":[]})", 400, "Empty", "is empty"},
      {"POST", "/tokenize", R"({"inputs":[1]})", 422, "Validation", "must be a text"},
      {"POST", "/decode", R"({"ids":[]})", 400, "Empty", "is empty"},
      {"POST", "/decode", R"({"ids":"a"})", 422, "Validation", "a list of token ids"},
      {"POST", "/decode", R"({"ids":[1,-5]})", 422, "Validation", "\"ids[1]\" must be a token id"},
      {"POST", "/decode", R"({"ids":[1,[2]]})", 422, "Validation", "\"ids[1]\" must be"},
      {"POST", "/decode", R"({"ids":[[1],2]})", 422, "Validation", "\"ids[1]\" must be a list"},
      {"POST", "/decode", R"({"ids":[[1.5]]})", 422, "Validation", "\"ids[0][0]\" must be"},
      {"POST", "/decode", R"({"ids":[2147483648]})", 422, "Validation", "must be a token id"},
      {"POST", "/decode", R"({"ids":[2147483647]})", 422, "Validation", "outside the model"},
      {"POST", "/decode", R"({"ids":[5],"skip_special_tokens":1})", 422, "Validation",
       "true or false"},
      {"GET", "/decode", "", 405, "MethodNotAllowed", "takes POST"},
      {"POST", "/search", R"({"query":"a"})", 424, "Backend", "--index"},
      {"POST", "/map", "{}", 424, "Backend", "--index"},
      {"GET", "/runs", "", 424, "Backend", "--runs"},
      {"GET", "/runs/a", "", 424, "Backend", "--runs"},
      {"GET", "/runs/a/errors", "", 424, "Backend", "--runs"},
      {"GET", "/runs/", "", 404, "NotFound", "no route"},
      {"POST", "/runs/a", "{}", 405, "MethodNotAllowed", "/runs/a takes GET, HEAD, not"},
      {"GET", "/map", "", 405, "MethodNotAllowed", "takes POST"},
      {"GET", "/embed", "", 405, "MethodNotAllowed", "takes POST"},
      {"DELETE", "/info", "", 405, "MethodNotAllowed", "takes GET, HEAD"},
      {"POST", "/embeds", "{}", 404, "NotFound", "did you mean '/embed'?"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b"}]})", 424, "Backend",
       "no index"},
      {"DELETE", "/documents", R"({"ids":"a"})", 424, "Backend", "no index"},
      {"GET", "/../etc/passwd", "", 404, "NotFound", "no route"},
  };
  for (const Refused& row : table) {
    const Reply reply = call(row.method, row.path, row.body);
    EXPECT_EQ(reply.status, row.status) << row.path << row.body << reply.body;
    const json error = json::parse(reply.body);
    EXPECT_EQ(error["error_type"], row.type) << row.path << row.body;
    EXPECT_THAT(error["error"].get<std::string>(), HasSubstr(row.message)) << row.body;
  }
}

TEST_F(ServiceTest, MistakesUnderV1HaveOpenAisForm) {
  const Refused table[] = {
      {"POST", "/v1/embeddings", "[", 400, "", "the body"},
      {"POST", "/v1/embeddings", R"({"input":""})", 400, "input", "an empty text"},
      {"POST", "/v1/embeddings", R"({"input":["a",""]})", 400, "input", "an empty text"},
      {"POST", "/v1/embeddings", R"({"inputs":"a"})", 400, "input", "is missing"},
      {"POST", "/v1/embeddings", R"({"input":"a","encoding_format":"x"})", 400, "encoding_format",
       "float, base64"},
      {"POST", "/v1/embeddings", R"({"input":"a","dimensions":0})", 400, "dimensions", "1 and"},
      {"GET", "/v1/other", "", 404, "", "no route"},
  };
  for (const Refused& row : table) {
    const Reply reply = call(row.method, row.path, row.body);
    EXPECT_EQ(reply.status, row.status) << row.body << reply.body;
    const json error = json::parse(reply.body)["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_EQ(error["param"], *row.type == '\0' ? json(nullptr) : json(row.type)) << row.body;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(row.message)) << row.body;
  }
}

TEST_F(ServiceTest, EmbedAllGivesTheStatesOfAllTokens) {
  const json vectors = post("/embed_all", {{"inputs", {"the cat", "a dog ran"}}});
  ASSERT_EQ(vectors.size(), 2u);
  std::vector<int32_t> ids;
  tiny_encoder()->tokenizer().encode_ids("the cat", ids);
  PackedBatch batch;
  batch.ids = ids;
  batch.offsets = {0, static_cast<int32_t>(ids.size())};
  const std::vector<float> states = tiny_encoder()->hidden_states(batch);
  ASSERT_EQ(vectors[0].size(), ids.size());
  std::vector<float> all;
  for (const json& row : vectors[0]) {
    for (const json& value : row) all.push_back(value.get<float>());
  }
  EXPECT_EQ(all, states);
  EXPECT_EQ(vectors[1].size(), 5u);
  EXPECT_EQ(post("/embed_all", {{"inputs", json::array({ids})}})[0], vectors[0]);
}

TEST_F(ServiceTest, RequestsHaveIdsAndTheLogHasNoTexts) {
  request_id_ = "abc-1";
  EXPECT_THAT(call("POST", "/embed", R"({"inputs":"secret"})").headers,
              Contains(Pair("X-Request-Id", "abc-1")));
  call("POST", "/embed", R"({"secret":1})");
  request_id_ = "two\r\nlines";
  EXPECT_THAT(call("GET", "/health").headers, Not(Contains(Pair("X-Request-Id", request_id_))));
  ASSERT_EQ(log_.lines.size(), 3u);
  const json line = json::parse(log_.lines[0]);
  EXPECT_EQ(line["request_id"], "abc-1");
  EXPECT_EQ(line["path"], "/embed");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["texts"], 1);
  EXPECT_EQ(json::parse(log_.lines[1])["error_type"], "Validation");
  for (const std::string& text : log_.lines) EXPECT_THAT(text, Not(HasSubstr("secret")));
}

class TellingServiceTest : public ServiceTest {
 protected:
  static ServeLimits telling_limits() {
    ServeLimits limits;
    limits.log_texts = true;
    return limits;
  }
  TellingServiceTest() : ServiceTest({}, tiny_model(), telling_limits()) {}
};

TEST_F(TellingServiceTest, TheLogHasTextsWhereItWasAskedFor) {
  const std::string body = R"({"inputs":"the cat"})";
  call("POST", "/embed", body);
  service_.note("reload", "done");
  ASSERT_EQ(log_.lines.size(), 2u);
  EXPECT_EQ(json::parse(log_.lines[0])["body"], body);
  EXPECT_EQ(json::parse(log_.lines[1])["event"], "reload");
}

TEST_F(ServiceTest, AReplacedModelAnswersWhatBeginsAfterwards) {
  EXPECT_EQ(json::parse(call("GET", "/info").body)["model_id"], "tiny");
  ServedModel next = tiny_model();
  next.names = {"next"};
  service_.replace(std::move(next), ApiKeys::load(TestFiles().write("keys", "sesame\n")));
  EXPECT_EQ(call("GET", "/info").status, 401);
  const Reply reply = call("GET", "/info", "", "Bearer sesame");
  EXPECT_EQ(json::parse(reply.body)["model_id"], "next");
}

class GuardedServiceTest : public ServiceTest {
 protected:
  GuardedServiceTest() : ServiceTest(ApiKeys::load(TestFiles().write("keys", "open-sesame\n"))) {}
};

TEST_F(GuardedServiceTest, OnlyKeysOpenTheRoutesThatAreNotOpen) {
  const std::string body = R"({"inputs":"the cat"})";
  EXPECT_EQ(call("POST", "/embed", body).status, 401);
  EXPECT_EQ(call("POST", "/embed", body, "Bearer sesame").status, 401);
  EXPECT_EQ(call("POST", "/embed", body, "Bearer open-sesame").status, 200);
  EXPECT_EQ(call("GET", "/info").status, 401);
  EXPECT_EQ(json::parse(call("GET", "/v1/models").body)["error"]["code"], "invalid_api_key");
  for (const char* path : {"/health", "/ping", "/", "/web/app.js", "/metrics"}) {
    EXPECT_EQ(call("GET", path).status, 200) << path;
  }
}

TEST_F(ServiceTest, AStoppedServiceComputesNothing) {
  service_.stop();
  EXPECT_EQ(call("POST", "/embed", R"({"inputs":"the cat"})").status, 503);
}

ServedModel model_with_head() {
  ServedModel model = tiny_model();
  model.heads.push_back(tiny_joint_head());
  return model;
}

class HeadServiceTest : public ServiceTest {
 protected:
  HeadServiceTest() : ServiceTest({}, model_with_head()) {}
};

TEST_F(HeadServiceTest, RerankIsByTheHeadThatReadsBothTexts) {
  const json body = {{"query", "the cat"}, {"texts", {"a dog ran", "the sun", "it was red"}}};
  const Reply reply = call("POST", "/rerank", body.dump());
  EXPECT_THAT(reply.headers, Contains(Pair("x-rerank-by", "head relevance")));
  const json ranks = json::parse(reply.body);
  json raw_body = body;
  raw_body["raw_scores"] = true;
  const json raw = post("/rerank", raw_body);
  ASSERT_EQ(ranks.size(), 3u) << reply.body;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ranks[i]["index"], raw[i]["index"]);
    EXPECT_DOUBLE_EQ(ranks[i]["score"].get<double>(), sigmoid(raw[i]["score"].get<double>()));
  }
}

}  // namespace
}  // namespace simile
