// SPDX-License-Identifier: Apache-2.0
#include "simile/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "simile/core/error.h"
#include "simile/text/detail/parallel.h"
#include "simile/text/detail/tokenizer_core.h"

namespace simile {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
// A single huge text should not keep its memory for ever.
constexpr size_t kKeptTokens = size_t{1} << 20;

const std::vector<TemplatePiece>& bare_template(bool pair) {
  static const PostProcessor bare;
  return pair ? bare.pair : bare.single;
}

// Appends the tokens of one template piece, of which `count` are kept.
void append_text(const TextTokens& tokens, int64_t count, const TemplatePiece& piece,
                 Encoding& encoding) {
  const auto kept = static_cast<size_t>(count);
  encoding.ids.insert(encoding.ids.end(), tokens.ids.begin(), tokens.ids.begin() + count);
  encoding.type_ids.insert(encoding.type_ids.end(), kept, piece.type_id);
  for (size_t i = 0; i < kept; ++i) {
    encoding.offsets.emplace_back(tokens.offsets[i].begin, tokens.offsets[i].end);
  }
  encoding.special.insert(encoding.special.end(), kept, 0);
  encoding.from_second.insert(encoding.from_second.end(), kept,
                              piece.kind == TemplatePiece::Kind::kSecond);
}

Encoding assemble(const std::vector<TemplatePiece>& pieces, const TextTokens& first,
                  const TextTokens& second, PairLengths kept) {
  Encoding encoding;
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind == TemplatePiece::Kind::kFirst) {
      append_text(first, kept.first, piece, encoding);
    } else if (piece.kind == TemplatePiece::Kind::kSecond) {
      append_text(second, kept.second, piece, encoding);
    } else {
      encoding.ids.push_back(piece.id);
      encoding.type_ids.push_back(piece.type_id);
      encoding.offsets.emplace_back(0, 0);
      encoding.special.push_back(1);
      encoding.from_second.push_back(0);
    }
  }
  encoding.replaced = first.replaced + second.replaced;
  encoding.dropped =
      static_cast<int64_t>(first.ids.size() + second.ids.size()) - kept.first - kept.second;
  return encoding;
}

// Tokens of text that fit beside the special tokens of `pieces`; no limit gives a number that no
// text reaches.
int64_t room_for_text(const std::vector<TemplatePiece>& pieces, int64_t max_length) {
  if (max_length == 0) return std::numeric_limits<int64_t>::max() / 4;
  const int64_t special = count_special_tokens(pieces);
  SIMILE_CHECK(max_length > special, ErrorKind::kRecipe,
               fmt::format("a maximum length of {} tokens leaves no room for text: the special "
                           "tokens alone are {}; give at least {}",
                           max_length, special, special + 1));
  return max_length - special;
}

}  // namespace

Encoding Tokenizer::encode(std::string_view text, bool special_tokens) const {
  const auto& pieces = special_tokens ? core_->post_processor.single : bare_template(false);
  const int64_t room = room_for_text(pieces, max_length_);
  TextTokens tokens;
  core_->tokenize(text, true, kNoLimit, tokens);
  const auto size = static_cast<int64_t>(tokens.ids.size());
  return assemble(pieces, tokens, {}, {std::min(size, room), 0});
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                bool special_tokens) const {
  const auto& pieces = special_tokens ? core_->post_processor.pair : bare_template(true);
  const int64_t room = room_for_text(pieces, max_length_);
  TextTokens a;
  TextTokens b;
  core_->tokenize(first, true, kNoLimit, a);
  core_->tokenize(second, true, kNoLimit, b);
  const PairLengths kept = truncate_longest_first(static_cast<int64_t>(a.ids.size()),
                                                  static_cast<int64_t>(b.ids.size()), room);
  return assemble(pieces, a, b, kept);
}

int64_t Tokenizer::encode_ids(std::string_view text, std::vector<int32_t>& ids) const {
  thread_local TextTokens tokens;
  const auto room = static_cast<size_t>(room_for_text(core_->post_processor.single, max_length_));
  core_->tokenize(text, false, room, tokens);
  const size_t kept = std::min(room, tokens.ids.size());
  for (const TemplatePiece& piece : core_->post_processor.single) {
    if (piece.kind == TemplatePiece::Kind::kSpecial) {
      ids.push_back(piece.id);
    } else if (piece.kind == TemplatePiece::Kind::kFirst) {
      ids.insert(ids.end(), tokens.ids.begin(),
                 tokens.ids.begin() + static_cast<std::ptrdiff_t>(kept));
    }
  }
  const int64_t replaced = tokens.replaced;
  if (tokens.ids.capacity() > kKeptTokens) tokens = TextTokens();
  return replaced;
}

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<std::string>& texts) const {
  std::vector<Encoding> encodings(texts.size());
  detail::run_parallel(texts.size(), [&](size_t i) { encodings[i] = encode(texts[i]); });
  return encodings;
}

std::vector<Encoding> Tokenizer::encode_pair_batch(const std::vector<std::string>& first,
                                                   const std::vector<std::string>& second) const {
  SIMILE_CHECK(first.size() == second.size(), ErrorKind::kInput,
               fmt::format("pairs need as many first texts ({}) as second ones ({})", first.size(),
                           second.size()));
  std::vector<Encoding> encodings(first.size());
  detail::run_parallel(first.size(),
                       [&](size_t i) { encodings[i] = encode_pair(first[i], second[i]); });
  return encodings;
}

std::vector<std::vector<int32_t>> Tokenizer::encode_ids_batch(const std::vector<std::string>& texts,
                                                              int64_t* replaced) const {
  std::vector<std::vector<int32_t>> ids(texts.size());
  std::vector<int64_t> replacements(texts.size());
  detail::run_parallel(texts.size(),
                       [&](size_t i) { replacements[i] = encode_ids(texts[i], ids[i]); });
  if (replaced != nullptr) {
    for (const int64_t count : replacements) *replaced += count;
  }
  return ids;
}

void Tokenizer::set_max_length(int64_t tokens) {
  SIMILE_CHECK(tokens >= 0, ErrorKind::kRecipe,
               fmt::format("a maximum length must not be negative, but it is {}", tokens));
  room_for_text(core_->post_processor.single, tokens);
  max_length_ = tokens;
}

int64_t Tokenizer::vocabulary_size() const { return core_->vocabulary.size(); }

std::string_view Tokenizer::token(int32_t id) const {
  SIMILE_CHECK(id >= 0 && id < vocabulary_size(), ErrorKind::kInput,
               fmt::format("{}: token id {} is not between 0 and {}", core_->source, id,
                           vocabulary_size() - 1));
  return core_->vocabulary.token(id);
}

int32_t Tokenizer::find(std::string_view token) const { return core_->vocabulary.find(token); }

const SpecialTokens& Tokenizer::special_tokens() const { return core_->special; }

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocabulary_size() && core_->is_special[static_cast<size_t>(id)] != 0;
}

std::string Tokenizer::to_json() const { return core_->document; }

std::string Tokenizer::vocabulary_text() const {
  std::string text;
  for (int32_t id = 0; id < vocabulary_size(); ++id) {
    text += core_->vocabulary.token(id);
    text += '\n';
  }
  return text;
}

}  // namespace simile
