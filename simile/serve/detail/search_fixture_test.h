// SPDX-License-Identifier: Apache-2.0
// For tests: a service with a small index, without sockets.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/index/index_builder.h"
#include "simile/index/index_model.h"
#include "simile/serve/detail/serve_fixture_test.h"
#include "simile/serve/service.h"

namespace simile {

inline constexpr const char* kLongText =
    "the cat sat on the mat and the dog ran under the sun and the hill was red and a boat went";

inline EncodeOptions like_an_index() {
  EncodeOptions options;
  options.normalize = true;
  options.role = TextRole::kDocument;
  return options;
}

// The routes of an index with passages, which takes changes.
class SearchRoutesTest : public testing::Test {
 protected:
  SearchRoutesTest()
      : folder_(testing::TempDir() + "simile_search_routes_" + std::to_string(getpid()) +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    IndexedModel model{"0123", "tiny", 32, VectorMetric::kInnerProduct};
    model.passages = {8, 2, 0};
    IndexBuilder builder(folder_, model);
    std::vector<Document> documents = {{"long", kLongText, R"({"kind":"a"})"},
                                       {"cat", "a cat on a mat", R"({"kind":"b"})"},
                                       {"sun", "the sun was red", R"({"kind":"a"})"}};
    PassageSplitter(*tiny_encoder(), model.passages, like_an_index()).split(documents);
    builder.add(documents, tiny_encoder()->encode(texts_of_vectors(documents), like_an_index(),
                                                  silent_events()));
    builder.commit();
  }
  ~SearchRoutesTest() override {
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  ServedModel served_model(bool with_head) const {
    ServedModel model;
    model.names = {"tiny"};
    model.fingerprint = "0123";
    model.version = "1";
    model.encoder = tiny_encoder();
    if (with_head) model.heads.push_back(tiny_joint_head());
    model.index = std::make_shared<ServedIndex>(
        SearchIndex::open(folder_, "0123", "tiny", SearchIndex::Access::kWrite),
        read_search_settings(folder_), true);
    return model;
  }

  void serve(bool with_head, const ServeLimits& limits = {}) {
    service_.emplace(served_model(with_head), limits, ApiKeys(), silent_events());
  }

  Reply call(const std::string& method, const std::string& path, const nlohmann::json& body) {
    return call_with(method, path, body.dump());
  }

  Reply call_with(const std::string& method, const std::string& path, const std::string& body) {
    Call call;
    call.method = method;
    call.path = path;
    call.content_type = "application/json";
    call.remote = "127.0.0.1";
    call.body = body;
    call.deadline = ServeClock::now() + std::chrono::minutes(1);
    return service_->answer(call);
  }

  // GET /documents with a query string.
  nlohmann::json list(const std::vector<std::pair<std::string, std::string>>& query,
                      int status = 200) {
    Call call;
    call.method = "GET";
    call.path = "/documents";
    call.query = query;
    call.deadline = ServeClock::now() + std::chrono::minutes(1);
    const Reply reply = service_->answer(call);
    EXPECT_EQ(reply.status, status) << reply.body;
    return nlohmann::json::parse(reply.body);
  }

  nlohmann::json post(const std::string& path, const nlohmann::json& body) {
    const Reply reply = call("POST", path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body);
  }
  nlohmann::json search(const nlohmann::json& body) {
    return post("/search", body)["results"][0]["hits"];
  }

  void refuse(const nlohmann::json& body, int status, const std::string& message) {
    const Reply reply = call("POST", "/search", body);
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body, testing::HasSubstr(message));
  }

  std::string folder_;
  std::optional<Service> service_;
};

}  // namespace simile
