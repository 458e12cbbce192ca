// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/serve_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/packed_files_test.h"
#include "simile/serve/detail/serve_fixture_test.h"

namespace simile {
namespace {

TEST(ApiKeys, EveryKeyOfTheFileIsTakenAndNothingElse) {
  const TestFiles files;
  const ApiKeys keys = ApiKeys::load(files.write("keys", "# keys\nfirst\r\n  second-key \n"));
  EXPECT_NE(keys.find("Bearer first"), nullptr);
  EXPECT_NE(keys.find("Bearer second-key"), nullptr);
  EXPECT_NE(keys.find("bearer first"), nullptr);
  EXPECT_NE(keys.find("BEARER first"), nullptr);
  EXPECT_EQ(keys.find("bearer First"), nullptr);
  for (const char* other : {"", "first", "Bearer", "Bearer ", "Bearer firs", "Bearer first2",
                            "Basic first", "bearer-first"}) {
    EXPECT_EQ(keys.find(other), nullptr) << other;
  }
  EXPECT_EQ(keys.find("Bearer second-key")->name, "line 3");
  EXPECT_EQ(ApiKeys().find(""), nullptr);
  EXPECT_EQ(keys.find("Bearer # keys"), nullptr);
  EXPECT_EQ(keys.describe(), "2 keys: line 2 (write), line 3 (write)");
}

TEST(ApiKeys, AFileWithoutAKeyIsRefused) {
  const TestFiles files;
  const std::string blank = files.write("blank", "\n  \n");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { ApiKeys::load(blank); }),
              testing::HasSubstr("no API key"));
  EXPECT_NE(error_of(ErrorKind::kInput, [&] { ApiKeys::load(files.path("nowhere")); }), "");
}

TEST(ApiKeys, HaveNamesRolesAndLimitsWhereTheirLineSaysSo) {
  const TestFiles files;
  const ApiKeys keys = ApiKeys::load(
      files.write("keys",
                  "plain\n  {key: a b, name: app, role: read, requests_per_minute: 2}\n"
                  "{key: root, role: admin}\n"));
  EXPECT_EQ(keys.find("Bearer plain")->role, "write");
  EXPECT_EQ(keys.find("Bearer a b")->role, "read");
  EXPECT_EQ(keys.find("Bearer a b")->name, "app");
  EXPECT_EQ(keys.find("Bearer root")->role, "admin");
  EXPECT_EQ(keys.find("Bearer root")->name, "line 3");
  const auto refused = [&](const std::string& line) {
    const std::string path = files.write("bad", "good\n" + line + "\n");
    return error_of(ErrorKind::kInput, [&] { ApiKeys::load(path); });
  };
  EXPECT_THAT(refused("{key: a, role: owner}"), testing::HasSubstr("bad:2"));
  EXPECT_THAT(refused("{key: a, role: owner}"), testing::HasSubstr("admin"));
  EXPECT_THAT(refused("{name: a}"), testing::HasSubstr("key"));
  EXPECT_THAT(refused("{key: a, rolle: read}"), testing::HasSubstr("role"));
  EXPECT_THAT(refused("{key: a, tokens_per_minute: -1}"), testing::HasSubstr("tokens_per_minute"));
  for (const char* line : {"broken {", "\"quoted\"", "two words", "a,b"}) {
    EXPECT_THAT(refused(line), testing::HasSubstr("bad:2: spaces, quotes")) << line;
  }
  EXPECT_THAT(refused("{key: a"), testing::HasSubstr("bad:2"));
  EXPECT_THAT(refused("{key: '  '}"), testing::HasSubstr("key"));
  EXPECT_THAT(refused("{key: ' good ', role: read}"), testing::HasSubstr("bad:2: this key"));
}

// The seconds that a key has to wait; 0: it may send a request.
int ask(ApiKey& key, double seconds) {
  static const ApiKey::Time start = std::chrono::steady_clock::now();
  try {
    key.begin_request(start + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  } catch (const RequestError& error) {
    EXPECT_EQ(error.refusal(), Refusal::kOverloaded);
    return error.retry_seconds();
  }
  return 0;
}

TEST(ApiKey, HasWhatAMinuteGivesAtOnceOrEvenly) {
  ApiKey any, requests, tokens;
  requests.requests_per_minute = tokens.tokens_per_minute = 6;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(any, 0), 0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask(requests, 1000), 0) << i;
  EXPECT_EQ(ask(requests, 1000), 10);
  EXPECT_EQ(ask(requests, 1004.5), 6);
  EXPECT_EQ(ask(requests, 1010.001), 0);
  EXPECT_EQ(ask(requests, 1010.001), 10);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask(requests, 5000), 0) << i;
  EXPECT_EQ(ask(requests, 5000), 10);  // nothing was saved beyond a minute's
  EXPECT_EQ(ask(tokens, 9000), 0);
  tokens.take_tokens(17);  // 11 too many
  EXPECT_EQ(ask(tokens, 9000), 120);
  EXPECT_EQ(ask(tokens, 9119.5), 1);
  EXPECT_EQ(ask(tokens, 9120.001), 0);
}

TEST(ApiKey, ARefusalForItsTokensLosesNoRequests) {
  ApiKey key;
  key.requests_per_minute = key.tokens_per_minute = 6;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask(key, 1000), 0) << i;
  key.take_tokens(12);
  EXPECT_EQ(ask(key, 1000), 70);
  EXPECT_EQ(ask(key, 1060), 10);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask(key, 1070.001), 0) << i;
  EXPECT_EQ(ask(key, 1070.001), 10);
}

TEST(ApiKeys, AKeyThatIsReadAgainGetsNoNewAllowance) {
  const TestFiles files;
  const ApiKeys before = ApiKeys::load(files.write(
      "keys", "{key: a, requests_per_minute: 2}\n{key: b, requests_per_minute: 2}\nc\n"));
  ApiKeys keys = ApiKeys::load(files.write(
      "keys", "new\n{key: b, requests_per_minute: 3}\n{key: a, requests_per_minute: 2}\n"));
  for (const char* bearer : {"Bearer a", "Bearer b"}) {
    EXPECT_EQ(ask(*before.find(bearer), 1000), 0);
    EXPECT_EQ(ask(*before.find(bearer), 1000), 0);
  }
  keys.keep_balances(before);
  EXPECT_EQ(ask(*keys.find("Bearer a"), 1000), 30);
  EXPECT_EQ(ask(*keys.find("Bearer b"), 1000), 0);  // its limit is another
  EXPECT_EQ(ask(*keys.find("Bearer new"), 1000), 0);
  before.find("Bearer a")->take_tokens(1);  // of a request that began before
  EXPECT_EQ(ask(*keys.find("Bearer a"), 1030.001), 0);
  EXPECT_EQ(ask(*before.find("Bearer a"), 1030.001), 30);
}

TEST(ApiKey, RolesHaveWhatThoseBeforeThemHave) {
  const std::vector<std::string> roles = {"read", "write", "admin"};
  for (size_t i = 0; i < 3; ++i) {
    ApiKey key;
    key.role = roles[i];
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(key.may(roles[j]), j <= i);
  }
}

using testing::HasSubstr;

ServeOptions options_of(const std::string& host, const std::vector<std::string>& allowed = {}) {
  ServeOptions options;
  options.host = host;
  options.allow_host = allowed;
  return options;
}

std::string refusal(const AllowedHosts& hosts, const std::string& host,
                    const std::string& origin = "") {
  return refusal_of(Refusal::kForbidden, [&] { hosts.check(host, origin); });
}

TEST(AllowedHosts, OnLoopbackOnlyNamesOfThisMachine) {
  const AllowedHosts hosts(options_of("127.0.0.1"));
  for (const char* own :
       {"", "localhost", "LocalHost:8080", "127.0.0.1", "127.8.9.1:1", "[::1]", "[::1]:8080"}) {
    EXPECT_EQ(refusal(hosts, own), "") << own;
    EXPECT_EQ(refusal(hosts, "localhost", *own == '\0' ? "" : std::string("http://") + own), "");
  }
  for (const char* other :
       {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "127.evil.example",
        "localhost.evil.example", "0.0.0.0", "[::2]:80", "[", ":80"}) {
    EXPECT_THAT(refusal(hosts, other), HasSubstr("the header Host")) << other;
  }
  for (const char* other : {"http://evil.example", "https://evil.example:8080", "null",
                            "http://127.0.0.1.evil.example"}) {
    EXPECT_THAT(refusal(hosts, "localhost", other), HasSubstr("the header Origin")) << other;
  }
  EXPECT_THAT(refusal(hosts, "Evil.example:80"),
              HasSubstr("answers this machine alone; if that is its name, start it with "
                        "--allow-host evil.example"));
}

TEST(AllowedHosts, NamesThatWereGivenAreLetInToo) {
  const AllowedHosts hosts(options_of("127.0.0.1", {"Vectors.example.org"}));
  EXPECT_EQ(refusal(hosts, "vectors.example.org", "https://vectors.example.org"), "");
  EXPECT_EQ(refusal(hosts, "localhost:80"), "");
  EXPECT_THAT(refusal(hosts, "example.org"),
              HasSubstr("answers only to this machine's names and those it was given; if"));
  EXPECT_EQ(refusal(AllowedHosts(options_of("127.0.0.1", {"*"})), "any", "null"), "");
}

TEST(AllowedHosts, WhereKeysAreAskedForOrOthersMayAskItLooksForNamesThatWereGiven) {
  ServeOptions guarded = options_of("127.0.0.1");
  guarded.api_key_file = "keys";
  EXPECT_EQ(refusal(AllowedHosts(guarded), "evil.example", "http://evil.example"), "");
  guarded.allow_host = {"own.example"};
  EXPECT_EQ(refusal(AllowedHosts(guarded), "own.example"), "");
  EXPECT_THAT(refusal(AllowedHosts(guarded), "evil.example"), HasSubstr("those it was given"));
  EXPECT_EQ(refusal(AllowedHosts(options_of("0.0.0.0")), "evil.example"), "");
  EXPECT_THAT(refusal(AllowedHosts(options_of("0.0.0.0", {"own.example"})), "evil.example"),
              HasSubstr("those it was given"));
  EXPECT_EQ(refusal(AllowedHosts(), "evil.example", "null"), "");
}

}  // namespace

}  // namespace simile
