// SPDX-License-Identifier: Apache-2.0
// What operators go by: roles and limits of keys, traces, reloads, copies of the index, readiness.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <thread>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/sqlite.h"
#include "simile/index/index_folder.h"
#include "simile/serve/detail/search_fixture_test.h"
#include "simile/serve/detail/service_fixture_test.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* kBody = R"({"inputs":"the cat sat"})";  // five tokens

ApiKeys some_keys() {
  return ApiKeys::load(TestFiles().write("keys",
                                         "{key: r, name: reader, role: read}\nw\n"
                                         "{key: a, name: root, role: admin}\n"
                                         "{key: two, name: twice, requests_per_minute: 2}\n"
                                         "{key: few, name: frugal, tokens_per_minute: 8}\n"));
}

std::string header(const Reply& reply, const std::string& name) {
  for (const auto& [other, value] : reply.headers) {
    if (other == name) return value;
  }
  return "";
}

class KeysTest : public ServiceTest {
 protected:
  KeysTest() : ServiceTest(some_keys()) {}
};

TEST_F(KeysTest, RolesOpenWhatTheySay) {
  for (const char* key : {"r", "w", "a"}) {
    const std::string bearer = std::string("Bearer ") + key;
    EXPECT_EQ(call("POST", "/embed", kBody, bearer).status, 200);
    // Those who may get to hear that there is no index.
    const bool reads = *key == 'r', may_reload = *key == 'a';
    for (const auto& [method, path] : {std::pair("DELETE", "/documents/x"),
                                       {"POST", "/documents"},
                                       {"POST", "/documents/delete"},
                                       {"PATCH", "/documents"},
                                       {"DELETE", "/documents"}}) {
      const char* const body = R"({"ids":"x","documents":[{"id":"x","text":"y","metadata":{}}]})";
      EXPECT_EQ(call(method, path, body, bearer).status, reads ? 403 : 424) << key << path;
    }
    EXPECT_EQ(call("GET", "/documents", "", bearer).status, 424);
    const Reply snapshot = call("POST", "/snapshot", R"({"name":"x"})", bearer);
    EXPECT_EQ(snapshot.status, may_reload ? 424 : 403);
    EXPECT_EQ(call("POST", "/reload", "", bearer).status, may_reload ? 424 : 403);
  }
  EXPECT_THAT(call("DELETE", "/documents/x", "", "Bearer r").body,
              HasSubstr("\\\"reader\\\" has the role read; this needs write"));
  EXPECT_EQ(call("POST", "/reload", "", "Bearer nobody").status, 401);
  EXPECT_THAT(log_.lines, Contains(HasSubstr("\"key\":\"reader\"")));
  EXPECT_THAT(log_.lines, Contains(HasSubstr("\"key\":\"line 2\"")));
}

TEST_F(ServiceTest, WithoutKeysNobodyIsAnAdministrator) {
  EXPECT_THAT(call("POST", "/reload").body, HasSubstr("needs an API key of the role admin"));
  EXPECT_EQ(call("POST", "/snapshot", R"({"name":"x"})").status, 403);
  EXPECT_EQ(call("POST", "/documents/delete", R"({"ids":"x"})").status, 424);
}

TEST_F(KeysTest, LimitsOfRequestsAndTokensAreKept) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call("POST", "/embed", kBody, "Bearer two").status, 200);
  }
  const Reply late = call("GET", "/info", "", "Bearer two");
  EXPECT_EQ(late.status, 429);
  EXPECT_THAT(late.body, HasSubstr("\\\"twice\\\" has used up its requests of this minute"));
  EXPECT_THAT(header(late, "Retry-After"), testing::AnyOf("29", "30"));
  EXPECT_EQ(call("GET", "/health", "", "Bearer two").status, 200);
  EXPECT_EQ(call("POST", "/embed", kBody, "Bearer few").status, 200);
  EXPECT_EQ(call("POST", "/embed", kBody, "Bearer few").status, 200);  // 5 of the 3 left
  const Reply beyond = call("POST", "/v1/embeddings", R"({"input":"a"})", "Bearer few");
  EXPECT_EQ(json::parse(beyond.body)["error"]["code"], "rate_limit_exceeded");
  EXPECT_THAT(beyond.body, HasSubstr("its tokens of this minute"));
  EXPECT_EQ(call("POST", "/embed", kBody, "Bearer w").status, 200);
  EXPECT_THAT(call("GET", "/metrics").body,
              HasSubstr("te_request_failure{err=\"overloaded\"} 1\n"));
}

TEST_F(ServiceTest, TracesGoOn) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7";
  call_.traceparent = "00-" + trace + "-" + span + "-01";
  const std::string first = header(call("POST", "/embed", kBody), "traceparent");
  EXPECT_THAT(first, MatchesRegex("00-" + trace + "-[0-9a-f]{16}-01"));
  EXPECT_EQ(first.find(span), std::string::npos);
  const json line = json::parse(log_.lines.back());
  EXPECT_EQ(line["trace_id"], trace);
  EXPECT_EQ(line["parent_span_id"], span);
  EXPECT_THAT(first, HasSubstr(line["span_id"].get<std::string>()));
  EXPECT_NE(header(call("GET", "/health"), "traceparent"), first);
  call_.traceparent = "cc-" + trace + "-" + span + "-00-of a later version";
  EXPECT_THAT(header(call("GET", "/health"), "traceparent"), HasSubstr(trace));
  for (const std::string& none :
       {std::string(), "00-" + trace + "-" + span, "ff-" + trace + "-" + span + "-01",
        "00-" + std::string(32, '0') + "-" + span + "-01",
        "00-" + trace + "-" + std::string(16, '0') + "-01", "00-" + trace + "-" + span + "-01-x",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span + "-01", "00-" + trace + "-" + span + "-0g",
        "00-" + trace + "-" + span + "-01, 00-" + trace + "-" + span + "-01"}) {
    call_.traceparent = none;
    EXPECT_THAT(call("GET", "/health").headers, Not(Contains(Key("traceparent")))) << none;
  }
}

class ReloadTest : public KeysTest {
 protected:
  void reload_says(bool whole) {
    ServedModel model = tiny_model();
    model.reload = [whole] { return whole; };
    service_.replace(std::move(model), some_keys());
  }
};

TEST_F(ReloadTest, ARouteReloads) {
  reload_says(true);
  const Reply good = call("POST", "/reload", "", "Bearer a");
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(json::parse(good.body), json({{"reloaded", true}}));
  reload_says(false);
  const Reply bad = call("POST", "/reload", "", "Bearer a");
  EXPECT_EQ(bad.status, 424);
  EXPECT_THAT(bad.body, HasSubstr("stayed as it was"));
}

TEST_F(ServiceTest, PlacesHaveModelsOfTheirOwn) {
  std::vector<ServedModel> models = {tiny_model(), tiny_model()};
  models[1].at = "faq";
  models[1].names = {"second"};
  service_.replace(std::move(models), {});
  const auto get = [&](const std::string& address) {
    call_ = Call();
    call_.path = address;
    take_place(call_);
    return call("GET", call_.path);
  };
  EXPECT_EQ(json::parse(get("/info").body)["model_id"], "tiny");
  EXPECT_EQ(json::parse(get("/at/faq/info").body)["model_id"], "second");
  EXPECT_THAT(log_.lines.back(), HasSubstr(R"("path":"/at/faq/info")"));
  EXPECT_EQ(get("/at/faq/").body, get("/").body);
  EXPECT_THAT(get("/at/faq").body, HasSubstr("the page is at /at/faq/"));
  EXPECT_EQ(get("/at/faq/ready").status, 200);
  EXPECT_THAT(get("/metrics").body,
              AllOf(HasSubstr("\nte_queue_size 0\nte_queue_size{at=\"faq\"} 0\n"),
                    HasSubstr("model=\"0123\",at=\"faq\"} 1")));
  const Reply none = get("/at/docs/info");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("nothing is served at /at/docs; there is /at/faq"));
  EXPECT_EQ(get("/at/faq/nowhere").status, 404);
}

TEST_F(ServiceTest, AModelThatIsNoLongerServedIsNotTold) {
  EXPECT_THAT(call("GET", "/metrics").body, HasSubstr("model=\"0123\"} 1"));
  ServedModel model = tiny_model();
  model.fingerprint = "4567";
  service_.replace(std::move(model), {});
  EXPECT_THAT(call("GET", "/metrics").body,
              AllOf(HasSubstr("model=\"4567\"} 1"), Not(HasSubstr("model=\"0123\""))));
}

TEST(PlacesTest, AreTheBeginningOfThePath) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"/info", "", "/info"},
      {"/at/a/info", "a", "/info"},
      {"/at/a", "a", ""},
      {"/at/a/", "a", "/"},
      {"/at/", "", "/at/"},  // no name: not the main index
      {"/at", "", "/at"},
      {"/at/a/at/b", "a", "/at/b"},
      {"/at//info", "", "/at//info"},
      {"/attic/a", "", "/attic/a"},
      {"/at/a/documents/at/b", "a", "/documents/at/b"}};
  for (const auto& [written, at, path] : cases) {
    Call call;
    call.path = written;
    take_place(call);
    EXPECT_EQ(call.at, at) << written;
    EXPECT_EQ(call.path, path) << written;
  }
}

TEST_F(ServiceTest, NotReadyWhileAFileOfTheModelCannotBeRead) {
  const TestFiles files;
  ServedModel model = tiny_model();
  model.files = {files.write("model.safetensors", "weights")};
  service_.replace(std::move(model), {});
  const auto comes_to = [&](int status) {
    for (int i = 0; i < 300; ++i) {
      if (call("GET", "/ready").status == status) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  };
  EXPECT_EQ(call("GET", "/ready").status, 200);
  std::rename(files.path("model.safetensors").c_str(), files.path("elsewhere").c_str());
  EXPECT_TRUE(comes_to(503));
  EXPECT_THAT(call("GET", "/ready").body, HasSubstr("cannot be read"));
  EXPECT_THAT(call("GET", "/metrics").body, HasSubstr("simile_readable 0\n"));
  EXPECT_EQ(call("POST", "/embed", kBody).status, 200);
  std::rename(files.path("elsewhere").c_str(), files.path("model.safetensors").c_str());
  EXPECT_TRUE(comes_to(200));
}

class SnapshotTest : public SearchRoutesTest {
 protected:
  SnapshotTest() { serve_with(files_.path("copies")); }

  void serve_with(const std::string& copies) {
    ServedModel model = served_model(false);
    model.index = std::make_shared<ServedIndex>(
        SearchIndex::open(folder_, "0123", "tiny", SearchIndex::Access::kWrite),
        read_search_settings(folder_), true, folder_);
    model.snapshots = copies;
    service_.emplace(std::move(model), ServeLimits(), some_keys(), silent_events());
  }

  Reply snapshot(const std::string& name) {
    Call call;
    call.method = "POST";
    call.path = "/snapshot";
    call.authorization = "Bearer a";
    call.content_type = "application/json";
    call.body = json{{"name", name}}.dump();
    call.deadline = ServeClock::now() + std::chrono::minutes(1);
    return service_->answer(call);
  }

  TestFiles files_;
};

TEST_F(SnapshotTest, ACopyOfTheIndexIsMadeWhereTheServerHasItsPlace) {
  const Reply reply = snapshot("monday");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body)["documents"], 3);
  const IndexCheck check = check_index(files_.path("copies") + "/monday");
  EXPECT_EQ(check.info.count, 3);
  EXPECT_TRUE(check.unused_files.empty());
  EXPECT_THAT(snapshot("monday").body,
              HasSubstr("the folder of snapshots has \\\"monday\\\" already"));
  EXPECT_EQ(snapshot("2026-11-26.1").status, 200);
  for (const char* name : {"", ".", "..", "../x", "a/b", ".hidden", "a b", "\xc3\xa9"}) {
    EXPECT_EQ(snapshot(name).status, 422) << name;
  }
  EXPECT_EQ(snapshot(std::string(101, 'a')).status, 422);
}

TEST_F(SnapshotTest, NoCopyIsMadeWithinAnotherIndexNorTakesItsPlace) {
  make_folders(files_.path("copies") + "/docs");
  const Reply taken = snapshot("docs");
  EXPECT_EQ(taken.status, 422);
  EXPECT_THAT(taken.body, HasSubstr("\\\"docs\\\" already, a folder such as that"));
  ASSERT_EQ(snapshot("monday").status, 200);
  serve_with(files_.path("copies") + "/monday");
  const Reply within = snapshot("tuesday");
  EXPECT_EQ(within.status, 424);
  EXPECT_THAT(within.body, HasSubstr("is itself an index"));
  EXPECT_FALSE(folder_exists(files_.path("copies") + "/monday/tuesday"));
}

TEST_F(SearchRoutesTest, AChangeWaitsForAnotherProcessUntilItsDeadline) {
  ServedIndex index(SearchIndex::open(folder_, "0123", "tiny", SearchIndex::Access::kWrite),
                    read_search_settings(folder_), true, folder_);
  const std::vector<SearchIndex::MetadataPatch> patches = {{"cat", R"({"seen":true})"}};
  {
    const detail::Database other(detail::documents_path(folder_), detail::Database::Access::kWrite);
    const detail::Transaction held(other, detail::Transaction::Kind::kWrite);
    try {
      index.change_metadata(patches, ServeClock::now() + std::chrono::milliseconds(50));
      ADD_FAILURE() << "changed";
    } catch (const RequestError& error) {
      EXPECT_EQ(error.refusal(), Refusal::kLate);
      EXPECT_GT(error.retry_seconds(), 0);
    }
  }
  EXPECT_EQ(index.change_metadata(patches, ServeClock::now() + std::chrono::minutes(1)), 1);
}

TEST_F(SearchRoutesTest, WithoutAPlaceThereAreNoCopies) {
  service_.emplace(served_model(false), ServeLimits(), some_keys(), silent_events());
  Call call;
  call.method = "POST";
  call.path = "/snapshot";
  call.authorization = "Bearer a";
  call.content_type = "application/json";
  call.body = R"({"name":"x"})";
  const Reply reply = service_->answer(call);
  EXPECT_EQ(reply.status, 424);
  EXPECT_THAT(reply.body, HasSubstr("--snapshots"));
}

}  // namespace
}  // namespace simile
