// SPDX-License-Identifier: Apache-2.0
#include "simile/text/lower_text.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

namespace simile {

std::string lower_text(const std::string& text) {
  std::string lower;
  icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(lower);
  return lower;
}

}  // namespace simile
