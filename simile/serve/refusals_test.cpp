// SPDX-License-Identifier: Apache-2.0
// Which requests are rejected, how they are counted, and what a rejection may reveal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simile/serve/detail/service_fixture_test.h"
#include "simile/serve/routes.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Pair;

class OnLoopbackTest : public ServiceTest {
 protected:
  OnLoopbackTest() : ServiceTest({}, tiny_model(), {}, AllowedHosts(ServeOptions())) {}

  int status_for(const std::string& host, const std::string& origin = "") {
    call_.host = host;
    call_.origin = origin;
    return call("POST", "/embed", R"({"inputs":"the cat"})").status;
  }
};

TEST_F(OnLoopbackTest, WhatABrowserAsksForAnotherPageIsRefused) {
  EXPECT_EQ(status_for("127.0.0.1:8080", "http://127.0.0.1:8080"), 200);
  EXPECT_EQ(status_for("evil.example"), 403);
  EXPECT_EQ(status_for("localhost", "http://evil.example"), 403);
  const json error = json::parse(call("GET", "/health").body);
  EXPECT_EQ(error["error_type"], "Forbidden");
  EXPECT_THAT(error["error"].get<std::string>(), HasSubstr("--allow-host evil.example"));
  call_ = Call();
  EXPECT_THAT(call("GET", "/metrics").body,
              HasSubstr("te_request_failure{err=\"validation\"} 2\n"));
}

class RefusalsTest : public ServiceTest {};

TEST_F(RefusalsTest, ABodyMustSayThatItIsJson) {
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded"}) {
    content_type_ = type;
    for (const char* path : {"/embed", "/v1/embeddings", "/documents"}) {
      const Reply reply = call("POST", path, "{}");
      EXPECT_EQ(reply.status, 415) << path << type;
      EXPECT_THAT(reply.body, HasSubstr("Content-Type: application/json"));
    }
  }
  content_type_ = "Application/JSON; charset=utf-8";
  EXPECT_EQ(call("POST", "/embed", R"({"inputs":"the cat"})").status, 200);
}

TEST_F(RefusalsTest, WhatIsNoCallIsCountedLoggedAndHasAnId) {
  Call unknown;
  unknown.remote = "10.0.0.7";
  const Reply reply = service_.refuse(unknown, RequestError(Refusal::kOverloaded, "wait", "", 1));
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.headers, Contains(Key("X-Request-Id")));
  EXPECT_THAT(reply.headers, Contains(Pair("Retry-After", "1")));
  EXPECT_EQ(service_.refuse(unknown, RequestError(Refusal::kTargetTooLong, "no")).status, 414);
  Call trace;
  trace.path = "/documents";
  EXPECT_THAT(service_.refuse(trace, RequestError(Refusal::kWrongMethod, "no")).headers,
              Contains(Pair("Allow", "POST, DELETE, PATCH, GET, HEAD")));
  ASSERT_EQ(log_.lines.size(), 3u);
  EXPECT_EQ(json::parse(log_.lines[0])["remote"], "10.0.0.7");
  EXPECT_EQ(json::parse(log_.lines[0])["status"], 429);
  EXPECT_EQ(json::parse(log_.lines[1])["status"], 414);
  const std::string metrics = call("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("te_request_failure{err=\"overloaded\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("te_request_failure{err=\"validation\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("te_request_count{method=\"single\"} 3\n"));
}

TEST_F(RefusalsTest, TheHeadAloneSaysWhetherABodyIsWanted) {
  Call head;
  head.method = "POST";
  head.path = "/embed";
  head.content_type = "application/json";
  head.content_length = 2000000;
  EXPECT_TRUE(service_.admit(head).takes_body);
  head.content_length = 2000001;
  EXPECT_EQ(service_.admit(head).reply->status, 413);
  head.content_length = 1;
  head.content_encoding = "gzip";
  EXPECT_EQ(service_.admit(head).reply->status, 415);
  head.path = "/nowhere";
  EXPECT_EQ(service_.admit(head).reply->status, 404);
  head.path = "/health";
  head.method = "GET";
  EXPECT_FALSE(service_.admit(head).takes_body);
  EXPECT_FALSE(service_.admit(head).reply);
  EXPECT_EQ(log_.lines.size(), 3u);
}

TEST_F(RefusalsTest, MessagesDoNotRepeatLongTexts) {
  const std::string digits(400000, '9'), word(90000, 'k');
  for (const std::string& body :
       {R"({"inputs":"a","dimensions":)" + digits + "}", R"({")" + word + R"(":1})",
        R"({"inputs":"a","prompt_name":")" + word + R"("})",
        R"({"inputs":"a","truncation_direction":")" + word + R"("})",
        R"({"inputs":"a",")" + word + R"(":1,)", R"({"inputs":)" + digits + "}"}) {
    for (const char* path : {"/embed", "/v1/embeddings"}) {
      const Reply reply = call("POST", path, body);
      EXPECT_GE(reply.status, 400);
      EXPECT_LT(reply.body.size(), 700u) << reply.body.substr(0, 2000);
    }
  }
}

TEST_F(RefusalsTest, BeforeItsModelAndAfterItsEndTheServerIsNotReady) {
  EXPECT_EQ(call("GET", "/ready").status, 200);
  service_.begin_stop();
  EXPECT_EQ(call("GET", "/ready").status, 503);
  EXPECT_EQ(call("GET", "/health").status, 200);
  Service loading(ServeLimits(), ApiKeys(), silent_events());
  Call ask;
  ask.method = "GET";
  for (const auto& [path, status] :
       {std::pair("/ready", 503), {"/info", 503}, {"/health", 200}, {"/metrics", 200}}) {
    ask.path = path;
    EXPECT_EQ(loading.answer(ask).status, status) << path;
  }
  loading.replace(tiny_model(), {});
  ask.path = "/ready";
  EXPECT_EQ(loading.answer(ask).status, 200);
}

TEST_F(RefusalsTest, ReloadsAreCounted) {
  service_.replace(tiny_model(), {});
  service_.count_reload(true);
  service_.count_reload(false);
  service_.count_reload(false);
  const std::string metrics = call("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("te_reload_success 1\n"));
  EXPECT_THAT(metrics, HasSubstr("te_reload_failure 2\n"));
}

TEST_F(RefusalsTest, EmptyTextsAreRefusedWhereTheyWouldBeRead) {
  const std::pair<const char*, const char*> table[] = {
      {"/embed", R"({"inputs":""})"},
      {"/embed", R"({"inputs":["a",""]})"},
      {"/embed_all", R"({"inputs":""})"},
      {"/similarity", R"({"inputs":{"source_sentence":"","sentences":["a"]}})"},
      {"/similarity", R"({"inputs":{"source_sentence":"a","sentences":["a",""]}})"},
      {"/rerank", R"({"query":"","texts":["a"]})"},
      {"/rerank", R"({"query":"a","texts":["a",""]})"},
      {"/embeddings", R"({"input":["a",""]})"},
  };
  for (const auto& [path, body] : table) {
    const Reply reply = call("POST", path, body);
    EXPECT_EQ(reply.status, 400) << path << body;
    EXPECT_THAT(reply.body, HasSubstr("is an empty text")) << path << body;
  }
  EXPECT_THAT(call("POST", "/embed", table[1].second).body, HasSubstr("inputs[1]"));
  EXPECT_EQ(post("/tokenize", {{"inputs", ""}})[0].size(), 2u);
}

TEST_F(RefusalsTest, ManyTextsMayComeToTheRoutesThatOthersSendManyTo) {
  const std::vector<std::string> texts = tiny_texts(100);
  const json many = post("/v1/embeddings", {{"input", texts}});
  ASSERT_EQ(many["data"].size(), 100u);
  // In parts of 32, 32, 32 and 4, so that others come between.
  EXPECT_THAT(call("GET", "/metrics").body, HasSubstr("te_batch_next_size_count 4\n"));
  const Matrix<float> expected = encode(texts);
  for (int64_t i = 0; i < 100; ++i) {
    const auto vector = many["data"][static_cast<size_t>(i)]["embedding"].get<std::vector<float>>();
    EXPECT_TRUE(std::equal(vector.begin(), vector.end(), expected.row(i))) << i;
  }
  EXPECT_EQ(call("POST", "/embed", json{{"inputs", texts}}.dump()).status, 422);
  const json more = {{"input", std::vector<std::string>(2049, "a")}};
  EXPECT_THAT(call("POST", "/v1/embeddings", more.dump()).body,
              HasSubstr("has 2049 texts; a request may have 2048"));
  EXPECT_EQ(json::parse(call("GET", "/info").body)["max_bulk_texts"], 2048);
}

TEST_F(RefusalsTest, TheRoutesThatClientsOfOthersExpectAreThere) {
  for (const char* path : {"/", "/invocations"}) {
    EXPECT_EQ(post(path, {{"inputs", "the cat"}}), post("/embed", {{"inputs", "the cat"}}));
  }
  EXPECT_EQ(post("/embeddings", {{"input", "the cat"}}),
            post("/v1/embeddings", {{"input", "the cat"}}));
  EXPECT_EQ(json::parse(call("POST", "/embeddings", "{}").body)["error"]["param"], "input");
  EXPECT_THAT(server_reference(),
              HasSubstr("under `/v1`, `/v2` and of `/embeddings` `{\"error\": {"));
  EXPECT_EQ(json::parse(call("GET", "/v1/models/other").body)["id"], "other");
  const Reply unknown = call("GET", "/v1/models/gpt");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["code"], "model_not_found");
}

TEST_F(RefusalsTest, TheOpenApiDocumentNamesOperationsErrorsAndSpellings) {
  const json document = json::parse(call("GET", "/openapi.json").body);
  std::vector<std::string> names;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      names.push_back(operation["operationId"]);
      const std::string schema =
          operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
      const std::string name = schema.substr(std::string("#/components/schemas/").size());
      EXPECT_TRUE(document["components"]["schemas"].contains(name)) << path;
      const std::string begin = path.substr(0, 4);
      EXPECT_EQ(name == "OpenAiError", begin == "/v1/" || begin == "/v2/" || path == "/embeddings");
    }
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  const json& parameter = document["paths"]["/documents/{id}"]["get"]["parameters"][0];
  EXPECT_EQ(parameter["name"], "id");
  EXPECT_THAT(document["paths"]["/embed"]["post"]["requestBody"]["content"]["application/json"]
                      ["schema"]["properties"]["truncation_direction"]["enum"],
              ElementsAre("Right", "Left", "right", "left"));
}

TEST_F(RefusalsTest, TheOpenApiDocumentHasBoundsDefaultsAndRefusalsOfTheStructs) {
  const json document = json::parse(call("GET", "/openapi.json").body);
  const json& search = document["paths"]["/search"]["post"];
  const json& body = search["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(body["properties"]["top_k"],
            json::parse(R"({"type":"integer","minimum":1,"maximum":1000,"default":10,)"
                        R"("description":"Documents for each query, 1000 at most"})"));
  for (const char* status :
       {"400", "401", "403", "404", "413", "415", "422", "424", "429", "503"}) {
    EXPECT_TRUE(search["responses"].contains(status)) << status;
  }
  const json& embeddings = document["paths"]["/v1/embeddings"]["post"]["responses"];
  EXPECT_TRUE(embeddings.contains("400"));
  EXPECT_FALSE(embeddings.contains("422"));
  const json& ids = document["paths"]["/documents/delete"]["post"]["requestBody"]["content"]
                            ["application/json"]["schema"]["properties"]["ids"];
  EXPECT_EQ(ids["oneOf"][1], json::parse(R"({"type":"array","items":{"type":"string"}})"));
  EXPECT_EQ(document["paths"]["/embed"]["post"]["responses"]["200"]["content"]["application/json"]
                    ["schema"],
            json::parse(R"({"type":"array","items":{"type":"array","items":{"type":"number"}}})"));
  EXPECT_EQ(document["paths"]["/health"]["get"]["security"], json::array());
  EXPECT_EQ(search["security"], json::parse(R"([{"key":[]},{}])"));
}

class CrossOriginTest : public ServiceTest {
 protected:
  static ServeLimits with_origin() {
    ServeLimits limits;
    limits.cors_allow_origin = {"https://app.example"};
    return limits;
  }
  CrossOriginTest() : ServiceTest({}, tiny_model(), with_origin(), AllowedHosts(ServeOptions())) {}
};

TEST_F(CrossOriginTest, PagesOfAGivenOriginMayAsk) {
  const auto allows = Pair("Access-Control-Allow-Origin", "https://app.example");
  call_.origin = "https://app.example";
  const Reply reply = call("POST", "/embed", R"({"inputs":"the cat"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers, Contains(allows));
  EXPECT_THAT(call("POST", "/embed", "{}").headers, Contains(allows));
  Call asks = call_;
  asks.method = "OPTIONS";
  asks.path = "/embed";
  const Reply preflight = *service_.admit(asks).reply;
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.headers, Contains(Pair("Access-Control-Allow-Methods", "POST")));
  EXPECT_THAT(preflight.headers, Contains(allows));
  call_.origin = asks.origin = "https://other.example";
  EXPECT_EQ(call("POST", "/embed", R"({"inputs":"the cat"})").status, 403);
  EXPECT_EQ(service_.admit(asks).reply->status, 405);
}

class HeadRefusalsTest : public ServiceTest {
 protected:
  static ServedModel model_with_head() {
    ServedModel model = tiny_model();
    model.heads.push_back(tiny_joint_head());
    return model;
  }
  HeadRefusalsTest() : ServiceTest({}, model_with_head()) {}
};

TEST_F(HeadRefusalsTest, RerankRefusesByNameWhatAHeadCannotDo) {
  const auto refused = [&](const json& more) {
    json body = {{"query", "the cat"}, {"texts", {"a dog", "the sun"}}};
    body.update(more);
    const Reply reply = call("POST", "/rerank", body.dump());
    return reply.status == 200 ? "" : json::parse(reply.body)["error"].get<std::string>();
  };
  EXPECT_EQ(refused({{"truncate", false}, {"truncation_direction", "right"}}), "");
  std::string text = "the cat";
  for (int i = 0; i < 20; ++i) text += " sat";
  EXPECT_EQ(refused({{"texts", {text}}}), "");
  EXPECT_THAT(refused({{"texts", {text}}, {"truncate", false}}), HasSubstr("\"truncate\""));
  EXPECT_THAT(refused({{"truncation_direction", "Left"}}), HasSubstr("\"truncation_direction\""));
  EXPECT_THAT(refused({{"prompt_name", "query"}}), HasSubstr("\"prompt_name\""));
}

}  // namespace
}  // namespace simile
