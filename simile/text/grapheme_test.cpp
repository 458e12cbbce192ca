// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/grapheme.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace simile::detail {
namespace {

// Clusters separated by '|'.
std::string cut(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t end = grapheme_end(text, i);
    if (!result.empty()) result += '|';
    result += text.substr(i, end - i);
    i = end;
  }
  return result;
}

TEST(Grapheme, TextIsCutIntoClusters) {
  for (const char* expected : {
           "a|b", "e\u0301|x", "\r\n|\n|\r|a",
           "a|\t|\u0301|b",  // a control character stays alone
           "\u1100\u1161\u11A8|\u1100\u1161|\uAC00\u11A8|\uAC01|\u1161",  // Hangul
           "\U0001F1E9\U0001F1EA|\U0001F1EB\U0001F1F7|\U0001F1E9",        // flags
           "\U0001F469\u200D\U0001F469\u200D\U0001F467|\U0001F44D\U0001F3FD",
           "a\u200D|\U0001F469",                      // a joiner joins pictographs only
           "\u0600\u0661|\u0E01\u0E33|\u0915\u093F",  // prepended, spacing marks
           "\u0915\u094D\u0937\u0301|\u0915",         // conjunct
           "\u0915\u0301\u094D\u200D\u0937",
           "\u1000\u103A|\u1000",  // Burmese has no conjuncts
       }) {
    std::string text;
    for (const char* c = expected; *c != 0; ++c) {
      if (*c != '|') text += *c;
    }
    EXPECT_EQ(cut(text), expected);
  }
}

}  // namespace
}  // namespace simile::detail
