// SPDX-License-Identifier: Apache-2.0
#include "simile/text/bpe.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/text/byte_level.h"
#include "simile/text/detail/merge_table.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr size_t kLongestWhole = 64;  // bytes of a word that is looked for as a whole
constexpr size_t kKeptSymbols = size_t{1} << 16;

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, const Merges& merges, const BpeSettings& settings,
         const std::string& source)
    : vocabulary_(std::move(vocabulary)),
      settings_(settings),
      source_(source),
      merges_(std::make_unique<detail::MergeTable>()) {
  if (settings_.unknown_token) unknown_id_ = vocabulary_.find(*settings_.unknown_token);
  plain_characters_ = settings_.continuing_prefix.empty() && settings_.word_suffix.empty();
  for (uint32_t c = 0; c < ascii_ids_.size(); ++c) {
    const char byte = static_cast<char>(c);
    ascii_ids_[c] = vocabulary_.find({&byte, 1});
  }
  for (uint32_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string character;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), character);
    byte_ids_[byte] = vocabulary_.find(character);
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
  }
  add_merges(merges, source);
  reads_bytes_ =
      plain_characters_ && std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
  if (reads_bytes_) add_byte_words(source);
  const auto size = static_cast<size_t>(vocabulary_.size());
  whole_.reset(new std::atomic<uint8_t>[size]);
  for (size_t id = 0; id < size; ++id) whole_[id].store(0, std::memory_order_relaxed);
}

Bpe::~Bpe() = default;

void Bpe::add_merges(const Merges& merges, const std::string& source) {
  merges_->reserve(merges.size());
  const std::string& prefix = settings_.continuing_prefix;
  uint32_t rank = 0;
  for (const auto& merge : merges) {
    const std::string &left = merge.first, &right = merge.second;
    SIMILE_CHECK(right.size() >= prefix.size(), ErrorKind::kInput,
                 fmt::format("{}: merge {} joins \"{}\" and \"{}\", which is shorter than "
                             "continuing_subword_prefix",
                             source, rank + 1, left, right));
    const std::string joined = left + right.substr(prefix.size());
    const auto find = [&](const std::string& token) {
      const int32_t id = vocabulary_.find(token);
      SIMILE_CHECK(id >= 0, ErrorKind::kInput,
                   fmt::format("{}: merge {} joins \"{}\" and \"{}\", but \"{}\" is not in the "
                               "vocabulary",
                               source, rank + 1, left, right, token));
      return id;
    };
    const int32_t first = find(left);
    const int32_t second = find(right);
    merges_->insert(first, second, {rank, find(joined)});
    ++rank;
  }
}

void Bpe::add_byte_words(const std::string& source) {
  std::vector<std::pair<std::string, int64_t>> words;
  std::string bytes;
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    bytes.clear();
    const std::string_view token = vocabulary_.token(id);
    if (!token.empty() && decode_byte_level(token, bytes)) words.emplace_back(bytes, id);
  }
  byte_words_ = Vocabulary(std::move(words), vocabulary_.size(), source);
}

int32_t Bpe::whole_word(std::string_view word, bool bytes) const {
  if (word.size() > kLongestWhole && !settings_.ignore_merges) return -1;
  if (!plain_characters_ && !settings_.ignore_merges) return -1;
  const int32_t id = bytes ? byte_words_.find(word) : vocabulary_.find(word);
  if (id < 0 || settings_.ignore_merges) return id;
  uint8_t state = whole_[static_cast<size_t>(id)].load(std::memory_order_relaxed);
  if (state == 0) {
    state = merges_to_itself(id, word, bytes) ? 1 : 2;
    whole_[static_cast<size_t>(id)].store(state, std::memory_order_relaxed);
  }
  return state == 1 ? id : -1;
}

bool Bpe::merges_to_itself(int32_t id, std::string_view word, bool bytes) const {
  Symbols symbols;
  list_symbols(word, bytes, symbols);
  merges_->apply(symbols);
  return symbols.size() == 1 && symbols[0].id == id;
}

// A character as the vocabulary writes it at its place in a word.
std::string Bpe::name_of(std::string_view character, bool first, bool last) const {
  std::string name = first ? std::string() : settings_.continuing_prefix;
  name += character;
  if (last) name += settings_.word_suffix;
  return name;
}

bool Bpe::add_fallback_bytes(std::string_view name, Symbols& symbols) const {
  for (const char byte : name) {
    if (fallback_ids_[static_cast<uint8_t>(byte)] < 0) return false;
  }
  for (const char byte : name) {
    symbols.push_back({fallback_ids_[static_cast<uint8_t>(byte)], 1});
  }
  return true;
}

void Bpe::list_symbols(std::string_view word, bool bytes, Symbols& symbols) const {
  symbols.clear();
  if (bytes) {
    symbols.resize(word.size());
    for (size_t i = 0; i < word.size(); ++i) {
      symbols[i] = {byte_ids_[static_cast<uint8_t>(word[i])], 1};
    }
    return;
  }
  uint32_t unknown = 0;  // bytes of unknown characters not yet written
  const auto flush = [&] {
    if (unknown > 0) symbols.push_back({unknown_id_, unknown});
    unknown = 0;
  };
  for (size_t i = 0; i < word.size();) {
    const uint32_t size = decode_valid_character(word, i).size;
    const std::string_view character = word.substr(i, size);
    std::string decorated;
    if (!plain_characters_) decorated = name_of(character, i == 0, i + size == word.size());
    const std::string_view name = plain_characters_ ? character : std::string_view(decorated);
    const bool ascii = plain_characters_ && size == 1;
    const int32_t id = ascii ? ascii_ids_[static_cast<uint8_t>(name[0])] : vocabulary_.find(name);
    i += size;
    if (id >= 0) {
      flush();
      symbols.push_back({id, size});
    } else if (settings_.byte_fallback && add_fallback_bytes(name, symbols)) {
      continue;
    } else if (settings_.unknown_token) {
      SIMILE_CHECK(unknown_id_ >= 0, ErrorKind::kInput,
                   fmt::format("{}: \"{}\" is not in the vocabulary, and neither is the unknown "
                               "token \"{}\"",
                               source_, character, *settings_.unknown_token));
      if (!settings_.fuse_unknown) flush();
      unknown += size;
    }
  }
  flush();
}

void Bpe::tokenize_words(std::string_view text, const std::vector<Span>& words, bool bytes,
                         size_t limit, std::vector<Token>& tokens) const {
  thread_local Symbols symbols;
  for (const Span word : words) {
    if (tokens.size() >= limit) break;
    const std::string_view piece = text.substr(word.begin, word.end - word.begin);
    const int32_t whole = whole_word(piece, bytes);
    if (whole >= 0) {
      tokens.push_back({whole, word});
      continue;
    }
    list_symbols(piece, bytes, symbols);
    merges_->apply(symbols);
    uint32_t begin = word.begin;
    for (const detail::MergeSymbol symbol : symbols) {
      const uint32_t end = std::min(begin + symbol.size, word.end);
      tokens.push_back({symbol.id, {std::min(begin, word.end - 1), end}});
      begin = end;
    }
  }
  if (symbols.capacity() > kKeptSymbols) symbols = Symbols();
}

void Bpe::tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                   std::vector<Token>& tokens) const {
  tokenize_words(text, words, false, limit, tokens);
}

bool Bpe::tokenize_bytes(std::string_view text, const std::vector<Span>& words, size_t limit,
                         std::vector<Token>& tokens) const {
  if (!reads_bytes_) return false;
  tokenize_words(text, words, true, limit, tokens);
  return true;
}

}  // namespace simile
