// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "simile/core/error.h"

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
        put(part.id, part.span);
        continue;
      }
      const std::string_view piece = text.substr(part.span.begin, part.span.end - part.span.begin);
      out_.replaced += work_.raw.assign(piece, part.span.begin, tracked_);
      if (core_.normalizer == nullptr) {
        run_normalized(work_.raw);
      } else {
        core_.normalizer->normalize(work_.raw, work_.normalized);
        run_normalized(work_.normalized);
      }
    }
  }

 private:
  void put(int32_t id, Span offsets) {
    out_.ids.push_back(id);
    if (tracked_) out_.offsets.push_back(offsets);
  }

  void run_normalized(NormalizedText& text) {
    if (core_.normalized_finder.empty()) return run_words(text);
    core_.normalized_finder.split(text.text, work_.normalized_parts);
    for (const TextPart& part : work_.normalized_parts) {
      if (part.id >= 0) {
        put(part.id, tracked_ ? text.origin_of(part.span) : Span());
      } else {
        text.copy_part(part.span, work_.part);
        run_words(work_.part);
      }
    }
  }

  void run_words(NormalizedText& text) {
    if (text.text.empty()) return;
    work_.words.assign(1, {0, static_cast<uint32_t>(text.text.size())});
    if (core_.pre_tokenizer != nullptr) core_.pre_tokenizer->split(text, work_.words);
    work_.tokens.clear();
    const size_t wanted = limit_ - std::min(limit_, out_.ids.size());
    core_.model->tokenize(text.text, work_.words, wanted, work_.tokens);
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

}  // namespace

void TokenizerCore::tokenize(std::string_view text, bool tracked, size_t limit,
                             TextTokens& tokens) const {
  SIMILE_CHECK(text.size() < std::numeric_limits<uint32_t>::max() / 8, ErrorKind::kInput,
               fmt::format("a text of {} bytes is too long to be tokenised; cut it into pieces of "
                           "at most 500 MB",
                           text.size()));
  thread_local Workspace workspace;
  tokens.ids.clear();
  tokens.offsets.clear();
  tokens.replaced = 0;
  TextRun(*this, tracked, limit, workspace, tokens).run(text);
  if (text.size() > kKeptBytes) workspace = Workspace();
}

}  // namespace simile
