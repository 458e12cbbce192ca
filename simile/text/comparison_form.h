// SPDX-License-Identifier: Apache-2.0
// The form in which two texts are the same text for a reader: case folded, compatibility characters
// unified (NFKC), and everything but letters, marks and digits one space.
//
//   "The  Cat's 9½ lives: ﬁne!" -> "the cat s 91 2 lives fine"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simile {

// `text` is UTF-8. No space at either end; empty when no letter or digit is there.
// Errors: ErrorKind::kFailed when ICU lacks its data. Thread-safe.
std::string comparison_form(std::string_view text);

// What tells a text from others: its comparison form or, where no letter or digit is there, the
// text as it is: "?" and "!" are two texts, and so are "" and " ". No form equals such a text.
std::string comparison_key(std::string_view text);

// Words of a comparison form, or of a comparison key; 0 of a key that is no form.
int64_t form_words(std::string_view form);

}  // namespace simile
