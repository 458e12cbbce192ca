// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/test_files.h"

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

}  // namespace
}  // namespace simile
