// SPDX-License-Identifier: Apache-2.0
#include "simile/text/comparison_form.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(ComparisonForm, LettersAndDigitsOfOneCaseRemain) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {" ?! ", ""},
      {"Hello, World!", "hello world"},
      {"  it 's   2nd\t(time) ", "it s 2nd time"},
      {"The Cat's 9½ lives: ﬁne!", "the cat s 91 2 lives fine"},
      {"STRASSE Straße", "strasse strasse"},
      {"Ｆｕｌｌ ﬁle", "full file"},
      {"E\xCC\x81lan \xC3\x89LAN", "\xC3\xA9lan \xC3\xA9lan"},
      {"हिन्दी है", "हिन्दी है"},
      {"“quoted” – dashed…", "quoted dashed"},
      {"a\xFF b", "a b"},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(comparison_form(text), form) << text;
}

TEST(ComparisonForm, AFormIsItsOwnForm) {
  for (const char* text : {"Über 3 Äpfel!", "İstanbul", "ΣΊΣΥΦΟΣ", "x² + y₂", "ǅ"}) {
    const std::string form = comparison_form(text);
    EXPECT_EQ(comparison_form(form), form) << text;
  }
}

TEST(ComparisonForm, WordsAreWhatSpacesSeparate) {
  EXPECT_EQ(form_words(""), 0);
  EXPECT_EQ(form_words("one"), 1);
  EXPECT_EQ(form_words("one two three"), 3);
}

}  // namespace
}  // namespace simile
