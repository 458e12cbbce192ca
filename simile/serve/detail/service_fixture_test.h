// SPDX-License-Identifier: Apache-2.0
// For tests: a service without sockets.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "simile/serve/detail/serve_fixture_test.h"
#include "simile/serve/service.h"

namespace simile {

// Keeps the messages.
class Lines : public EventSink {
 public:
  void info(const std::string& message) override { lines.push_back(message); }
  std::vector<std::string> lines;
};

inline ServedModel tiny_model() {
  ServedModel model;
  model.names = {"tiny", "other"};
  model.fingerprint = "0123";
  model.version = "1.2.3";
  model.encoder = tiny_encoder();
  return model;
}

class ServiceTest : public testing::Test {
 protected:
  explicit ServiceTest(ApiKeys keys = {}, ServedModel model = tiny_model(),
                       const ServeLimits& limits = {}, AllowedHosts hosts = {})
      : service_(std::move(model), limits, std::move(keys), log_, std::move(hosts)) {}

  Reply call(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& authorization = "") {
    Call call = call_;
    call.method = method;
    call.path = path;
    call.authorization = authorization;
    call.content_type = content_type_;
    call.request_id = request_id_;
    call.remote = "127.0.0.1";
    call.body = body;
    call.deadline = ServeClock::now() + std::chrono::minutes(1);
    return service_.answer(call);
  }

  nlohmann::json post(const std::string& path, const nlohmann::json& body) {
    const Reply reply = call("POST", path, body.dump());
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body);
  }

  Matrix<float> encode(const std::vector<std::string>& texts) const {
    EncodeOptions options;
    options.normalize = true;
    return tiny_encoder()->encode(texts, options, silent_events());
  }

  Call call_;  // what others begin as
  std::string request_id_, content_type_ = "application/json";
  Lines log_;
  Service service_;
};

}  // namespace simile
