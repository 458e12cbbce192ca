// SPDX-License-Identifier: Apache-2.0
#include "simile/text/split_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitWords, LiteralCases) {
  EXPECT_THAT(split_words(""), IsEmpty());
  EXPECT_THAT(split_words(" ,.- \n"), IsEmpty());
  EXPECT_THAT(split_words("Hello, World! It's 3.14"),
              ElementsAre("hello", "world", "it", "s", "3", "14"));
  EXPECT_THAT(split_words("CAF\xC3\x89 \xCE\xA3\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"),
              ElementsAre("caf\xC3\xA9", "\xCF\x83\xCE\xBF\xCF\x86\xCE\xAF\xCE\xB1"));
  EXPECT_THAT(split_words("e\xCC\x81t\xC3\xA9"), ElementsAre("e\xCC\x81t\xC3\xA9"));
  EXPECT_THAT(split_words("ab\xE4\xB8\xAD\xE6\x96\x87"
                          "c"),
              ElementsAre("ab", "\xE4\xB8\xAD", "\xE6\x96\x87", "c"));
  EXPECT_THAT(split_words("a\xFF"
                          "b\xC3"),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace simile
