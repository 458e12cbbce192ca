// SPDX-License-Identifier: Apache-2.0
// Who is refused and what is counted, and what a refusal may tell.
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
  EXPECT_EQ(service_.refuse(unknown, RequestError(Refusal::kMalformed, "no"), 414).status, 414);
  Call trace;
  trace.path = "/documents";
  EXPECT_THAT(service_.refuse(trace, RequestError(Refusal::kWrongMethod, "no")).headers,
              Contains(Pair("Allow", "POST, DELETE")));
  ASSERT_EQ(log_.lines.size(), 3u);
  EXPECT_EQ(json::parse(log_.lines[0])["remote"], "10.0.0.7");
  EXPECT_EQ(json::parse(log_.lines[0])["status"], 429);
  EXPECT_EQ(json::parse(log_.lines[1])["status"], 414);
  const std::string metrics = call("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("te_request_failure{err=\"overloaded\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("te_request_failure{err=\"validation\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("te_request_count{method=\"single\"} 3\n"));
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
  // Of 32, 32, 32 and 4, so that others come between.
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
  EXPECT_EQ(post("/embeddings", {{"input", "the cat"}}),
            post("/v1/embeddings", {{"input", "the cat"}}));
  EXPECT_EQ(json::parse(call("POST", "/embeddings", "{}").body)["error"]["param"], "input");
  EXPECT_THAT(server_reference(), HasSubstr("under `/v1` and of `/embeddings` `{\"error\": {"));
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
      EXPECT_EQ(name == "OpenAiError", path.substr(0, 4) == "/v1/" || path == "/embeddings");
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
