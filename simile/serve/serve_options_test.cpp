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
  const ApiKeys keys = ApiKeys::load(files.write("keys", "first\r\n\n  second key \n"));
  EXPECT_TRUE(keys.accepts("Bearer first"));
  EXPECT_TRUE(keys.accepts("Bearer second key"));
  EXPECT_TRUE(keys.accepts("bearer first"));
  EXPECT_TRUE(keys.accepts("BEARER first"));
  EXPECT_FALSE(keys.accepts("bearer First"));
  for (const char* other : {"", "first", "Bearer", "Bearer ", "Bearer firs", "Bearer first2",
                            "Basic first", "bearer-first"}) {
    EXPECT_FALSE(keys.accepts(other)) << other;
  }
  EXPECT_TRUE(ApiKeys().accepts(""));
}

TEST(ApiKeys, AFileWithoutAKeyIsRefused) {
  const TestFiles files;
  const std::string blank = files.write("blank", "\n  \n");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { ApiKeys::load(blank); }),
              testing::HasSubstr("no API key"));
  EXPECT_NE(error_of(ErrorKind::kInput, [&] { ApiKeys::load(files.path("nowhere")); }), "");
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
