// SPDX-License-Identifier: Apache-2.0
// Text in lower case as Python's str.lower() has it: full case mapping, also those mappings that
// depend on what stands around a character (the Greek sigma at the end of a word), no language's
// own rules. Broken UTF-8 becomes U+FFFD.
#pragma once

#include <string>

namespace simile {

std::string lower_text(const std::string& text);

}  // namespace simile
