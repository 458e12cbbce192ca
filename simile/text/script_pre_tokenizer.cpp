// SPDX-License-Identifier: Apache-2.0
#include <unicode/uscript.h>

#include "simile/text/split_pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr int kScriptVersion = 9;  // of the `tokenizers` library's table
constexpr UScriptCode kAnyScript = USCRIPT_INVALID_CODE;

UScriptCode script_of(char32_t c) {
  if (c == ' ' || !exists_in_unicode(c, kScriptVersion)) return kAnyScript;
  // Characters whose script has changed since.
  if (c == 0x589 || c == 0x61C) return USCRIPT_COMMON;
  if (c == 0x953 || c == 0x954) return USCRIPT_DEVANAGARI;
  if (c == 0x30FC) return USCRIPT_HAN;  // the long vowel mark of Hiragana and Katakana
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  if (U_FAILURE(status) || script == USCRIPT_UNKNOWN) return kAnyScript;
  return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
}

}  // namespace

void ScriptPreTokenizer::split(NormalizedText& text, std::vector<Span>& words, bool) const {
  const std::vector<Span> parts = std::move(words);
  words = {};
  for (const Span part : parts) {
    // Before the first character that has a script, nothing is a word.
    const size_t first = words.size();
    UScriptCode last = USCRIPT_CODE_LIMIT;
    for (uint32_t i = part.begin; i < part.end;) {
      const DecodedCharacter character = decode_valid_character(text.text, i);
      const UScriptCode script = script_of(character.code_point);
      if (script != kAnyScript && script != last) {
        if (words.size() > first) words.back().end = i;
        words.push_back({i, part.end});
        last = script;
      }
      i += character.size;
    }
  }
}

}  // namespace simile
