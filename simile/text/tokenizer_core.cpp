// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "simile/core/error.h"
#include "simile/text/byte_level.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// Buffers that one thread uses again and again.
struct Workspace {
  NormalizedText raw;
  NormalizedText normalized;
  NormalizedText part;
  std::vector<TextPart> parts;
  std::vector<TextPart> normalized_parts;
  std::vector<Span> words;
  std::vector<Token> tokens;
};

// A single huge text should not keep its memory for ever.
constexpr size_t kKeptBytes = size_t{4} << 20;

class TextRun {
 public:
  TextRun(const TokenizerCore& core, bool tracked, size_t limit, Workspace& workspace,
          TextTokens& out)
      : core_(core), tracked_(tracked), limit_(limit), work_(workspace), out_(out) {}

  void run(std::string_view text) {
    core_.raw_finder.split(text, work_.parts);
    for (const TextPart& part : work_.parts) {
      if (out_.ids.size() >= limit_) return;
      if (part.id >= 0) {
        put_added(part.id, part.span);
        continue;
      }
      const std::string_view piece = text.substr(part.span.begin, part.span.end - part.span.begin);
      out_.replaced += work_.raw.assign(piece, part.span.begin, tracked_);
      if (core_.normalizer == nullptr) {
        run_normalized(work_.raw, part.span.begin);
      } else {
        core_.normalizer->normalize(work_.raw, work_.normalized);
        check_text_size(work_.normalized.text.size());
        run_normalized(work_.normalized, part.span.begin);
      }
    }
  }

 private:
  void put_added(int32_t id, Span offsets) {
    if (tracked_) out_.added.push_back(static_cast<uint32_t>(out_.ids.size()));
    put(id, offsets);
  }

  void put(int32_t id, Span offsets) {
    out_.ids.push_back(id);
    if (tracked_) out_.offsets.push_back(offsets);
  }

  // `offset`: where in the original the text that was normalised begins.
  void run_normalized(NormalizedText& text, uint32_t offset) {
    if (core_.normalized_finder.empty()) return run_words(text, offset == 0);
    core_.normalized_finder.split(text.text, work_.normalized_parts);
    for (const TextPart& part : work_.normalized_parts) {
      if (part.id >= 0) {
        put_added(part.id, tracked_ ? text.origin_of(part.span) : Span());
      } else {
        text.copy_part(part.span, work_.part);
        run_words(work_.part, offset == 0 && part.span.begin == 0);
      }
    }
  }

  void run_words(NormalizedText& text, bool at_start) {
    if (text.text.empty()) return;
    if (tracked_) at_start = text.origins.front().begin == 0;
    work_.words.assign(1, {0, static_cast<uint32_t>(text.text.size())});
    if (core_.pre_tokenizer != nullptr) {
      core_.pre_tokenizer->split(text, work_.words, at_start);
    }
    work_.tokens.clear();
    const size_t wanted = limit_ - std::min(limit_, out_.ids.size());
    const bool bytes = core_.pre_tokenizer != nullptr && core_.pre_tokenizer->leaves_bytes();
    if (!bytes || !core_.model->tokenize_bytes(text.text, work_.words, wanted, work_.tokens)) {
      if (bytes) map_bytes(text, work_.words);
      core_.model->tokenize(text.text, work_.words, wanted, work_.tokens);
    }
    for (const Token& token : work_.tokens) {
      put(token.id, tracked_ ? text.origin_of(token.span) : Span());
    }
  }

  const TokenizerCore& core_;
  const bool tracked_;
  const size_t limit_;
  Workspace& work_;
  TextTokens& out_;
};

// The size of the character, a byte-level space or white space, that `token` begins with; else 0.
size_t leading_space(std::string_view token) {
  if (token.empty()) return 0;
  const DecodedCharacter character = decode_character(token, 0);
  const bool space = character.code_point == byte_level_character(' ') ||
                     (character_properties(character.code_point) & kWhiteSpace) != 0;
  return space ? character.size : 0;
}

size_t trailing_space(std::string_view token) {
  size_t begin = token.size();
  while (begin > 0 && continues_character(token[--begin])) {
  }
  return leading_space(token.substr(begin));
}

// `offsets` in `text` without the white space that `token` has at its ends, character by character.
Span trim(std::string_view text, std::string_view token, Span offsets, bool keep_prefix) {
  uint32_t leading = 0;
  uint32_t trailing = 0;
  size_t size = 0;
  for (std::string_view rest = token; (size = leading_space(rest)) > 0; ++leading) {
    rest.remove_prefix(size);
  }
  for (std::string_view rest = token; (size = trailing_space(rest)) > 0; ++trailing) {
    rest.remove_suffix(size);
  }
  if (keep_prefix && leading == 1) leading = 0;
  for (; leading > 0 && offsets.begin < offsets.end; --leading) {
    do {
      ++offsets.begin;
    } while (offsets.begin < offsets.end && inside_character(text, offsets.begin));
  }
  uint32_t end = offsets.end;
  for (; trailing > 0 && end > 0; --trailing) {
    do {
      --end;
    } while (end > 0 && inside_character(text, end));
  }
  if (trailing == 0) offsets.end = std::max(end, offsets.begin);
  return offsets;
}

}  // namespace

void TokenizerCore::trim_offsets(std::string_view text, TextTokens& tokens) const {
  size_t next = 0;  // of tokens.added
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    Span& offsets = tokens.offsets[i];
    // An added token may have taken white space that its name does not have.
    const bool added = next < tokens.added.size() && tokens.added[next] == i;
    next += added;
    const std::string_view token = added ? text.substr(offsets.begin, offsets.end - offsets.begin)
                                         : vocabulary.token(tokens.ids[i]);
    if (leading_space(token) == 0 && trailing_space(token) == 0) continue;
    const bool first = i == 0 || offsets.begin == 0;
    offsets = trim(text, token, offsets, first && post_processor.prefix_space);
  }
}

void TokenizerCore::tokenize(std::string_view text, bool tracked, size_t limit,
                             TextTokens& tokens) const {
  SIMILE_CHECK(text.size() < std::numeric_limits<uint32_t>::max() / 8, ErrorKind::kInput,
               fmt::format("a text of {} bytes is too long to be tokenised; cut it into pieces of "
                           "at most 500 MB",
                           text.size()));
  thread_local Workspace workspace;
  tokens.ids.clear();
  tokens.offsets.clear();
  tokens.added.clear();
  tokens.replaced = 0;
  const bool needs_origins = pre_tokenizer != nullptr && pre_tokenizer->needs_start();
  TextRun(*this, tracked || needs_origins, limit, workspace, tokens).run(text);
  if (tracked && post_processor.trim_offsets) trim_offsets(text, tokens);
  if (text.size() > kKeptBytes) workspace = Workspace();
}

}  // namespace simile
