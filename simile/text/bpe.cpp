// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "simile/core/check.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/token_model.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr size_t kLongestWhole = 64;  // bytes of a word that is looked for as a whole
// Up to here looking at all pairs is faster than keeping them in a heap.
constexpr size_t kShortWord = 48;
constexpr size_t kKeptSymbols = size_t{1} << 16;

// A token in a word, and the number of bytes that it covers.
struct MergeSymbol {
  int32_t id = 0;
  uint32_t size = 0;
};

struct Merge {
  uint32_t rank = std::numeric_limits<uint32_t>::max();  // the largest: no merge
  int32_t id = -1;
  bool exists() const { return id >= 0; }
};

// A merge that may be done at symbol `at`; the smallest rank comes first, of these the leftmost.
struct Candidate {
  uint32_t rank;
  uint32_t at;
  int32_t id;
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

struct LongWord {
  std::vector<Candidate> heap;
  std::vector<int32_t> previous;
  std::vector<int32_t> next;  // -1 at the end
};

// The merges, looked up by pair of tokens.
class MergeTable {
 public:
  void reserve(size_t merges) {
    size_t count = 64;
    shift_ = 58;
    while (count < merges * 2) {
      count *= 2;
      --shift_;
    }
    slots_.assign(count, {});
    mask_ = count - 1;
  }

  // A pair that is there already gets the new merge.
  void insert(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t slot = slot_of(key);
    while (slots_[slot].merge.exists() && slots_[slot].key != key) slot = (slot + 1) & mask_;
    slots_[slot] = {key, merge};
  }

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key); slots_[slot].merge.exists(); slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return slots_[slot].merge;
    }
    return {};
  }

  // Joins the symbols of a word until no merge is left.
  void apply(std::vector<MergeSymbol>& symbols) const {
    if (symbols.size() > kShortWord) return apply_to_long_word(symbols);
    Merge merges[kShortWord];  // of symbol i and the next
    size_t size = symbols.size();
    for (size_t i = 0; i + 1 < size; ++i) merges[i] = find(symbols[i].id, symbols[i + 1].id);
    while (size > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < size; ++i) {
        if (merges[i].rank < merges[best].rank) best = i;
      }
      if (!merges[best].exists()) break;
      symbols[best] = {merges[best].id, symbols[best].size + symbols[best + 1].size};
      std::copy(symbols.begin() + best + 2, symbols.begin() + size, symbols.begin() + best + 1);
      --size;
      std::copy(merges + best + 1, merges + size, merges + best);
      if (best + 1 < size) merges[best] = find(symbols[best].id, symbols[best + 1].id);
      if (best > 0) merges[best - 1] = find(symbols[best - 1].id, symbols[best].id);
    }
    symbols.resize(size);
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key ^ (key >> 29)) * 0x9E3779B97F4A7C15ULL >> shift_);
  }

  void apply_to_long_word(std::vector<MergeSymbol>& symbols) const {
    thread_local LongWord word;
    const auto size = static_cast<int32_t>(symbols.size());
    word.heap.clear();
    word.previous.resize(symbols.size());
    word.next.resize(symbols.size());
    for (int32_t i = 0; i < size; ++i) {
      word.previous[i] = i - 1;
      word.next[i] = i + 1 < size ? i + 1 : -1;
      if (i + 1 == size) break;
      const Merge merge = find(symbols[i].id, symbols[i + 1].id);
      if (merge.exists()) word.heap.push_back({merge.rank, static_cast<uint32_t>(i), merge.id});
    }
    std::make_heap(word.heap.begin(), word.heap.end());
    const auto push = [&](int32_t left) {
      const Merge merge = find(symbols[left].id, symbols[word.next[left]].id);
      if (!merge.exists()) return;
      word.heap.push_back({merge.rank, static_cast<uint32_t>(left), merge.id});
      std::push_heap(word.heap.begin(), word.heap.end());
    };
    while (!word.heap.empty()) {
      std::pop_heap(word.heap.begin(), word.heap.end());
      const Candidate candidate = word.heap.back();
      word.heap.pop_back();
      const auto left = static_cast<int32_t>(candidate.at);
      const int32_t right = word.next[left];
      if (symbols[left].size == 0 || right < 0) continue;
      // The symbols may have changed since.
      const Merge merge = find(symbols[left].id, symbols[right].id);
      if (merge.id != candidate.id) continue;
      symbols[left] = {merge.id, symbols[left].size + symbols[right].size};
      symbols[right].size = 0;
      const int32_t after = word.next[right];
      word.next[left] = after;
      if (after >= 0) {
        word.previous[after] = left;
        push(left);
      }
      if (word.previous[left] >= 0) push(word.previous[left]);
    }
    symbols.erase(std::remove_if(symbols.begin(), symbols.end(),
                                 [](const MergeSymbol& symbol) { return symbol.size == 0; }),
                  symbols.end());
    if (symbols.capacity() > kKeptSymbols) word = LongWord();
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);  // open addressing, a power of two
  size_t mask_ = 1;
  int shift_ = 63;
};

class Bpe : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, const BpeMerges& merges, const BpeSettings& settings,
      const std::string& source)
      : TokenModel(std::move(vocabulary)), settings_(settings), source_(source) {
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
    add_merges(merges);
    reads_bytes_ =
        plain_characters_ && std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
    std::vector<std::pair<std::string, int64_t>> words;  // tokens as the bytes they stand for
    std::string bytes;
    for (int32_t id = 0; reads_bytes_ && id < vocabulary_.size(); ++id) {
      bytes.clear();
      const std::string_view token = vocabulary_.token(id);
      if (!token.empty() && decode_byte_level(token, bytes)) words.emplace_back(bytes, id);
    }
    if (reads_bytes_) byte_words_ = Vocabulary(std::move(words), vocabulary_.size(), source_);
    const auto size = static_cast<size_t>(vocabulary_.size());
    whole_.reset(new std::atomic<uint8_t>[size]);
    for (size_t id = 0; id < size; ++id) whole_[id].store(0, std::memory_order_relaxed);
  }

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override {
    tokenize_words(text, words, false, limit, tokens);
  }

  bool tokenize_bytes(std::string_view text, const std::vector<Span>& words, size_t limit,
                      std::vector<Token>& tokens) const override {
    if (!reads_bytes_) return false;
    tokenize_words(text, words, true, limit, tokens);
    return true;
  }

 private:
  using Symbols = std::vector<MergeSymbol>;

  void add_merges(const BpeMerges& merges) {
    merges_.reserve(merges.size());
    const std::string& prefix = settings_.continuing_prefix;
    uint32_t rank = 0;
    for (const auto& [left, right] : merges) {
      SIMILE_CHECK(
          right.size() >= prefix.size(), ErrorKind::kInput,
          "{}: merge {} joins \"{}\" and \"{}\", which is shorter than continuing_subword_prefix",
          source_, rank + 1, left, right);
      const std::string joined = left + right.substr(prefix.size());
      const auto find = [&, &left = left, &right = right](const std::string& token) {
        const int32_t id = vocabulary_.find(token);
        SIMILE_CHECK(id >= 0, ErrorKind::kInput,
                     "{}: merge {} joins \"{}\" and \"{}\", but \"{}\" is not in the vocabulary",
                     source_, rank + 1, left, right, token);
        return id;
      };
      const int32_t first = find(left);
      const int32_t second = find(right);
      merges_.insert(first, second, {rank, find(joined)});
      ++rank;
    }
  }

  // The token that a whole word is; -1: it is none, or its merges lead elsewhere.
  int32_t whole_word(std::string_view word, bool bytes) const {
    if (word.size() > kLongestWhole && !settings_.ignore_merges) return -1;
    if (!plain_characters_ && !settings_.ignore_merges) return -1;
    const int32_t id = bytes ? byte_words_.find(word) : vocabulary_.find(word);
    if (id < 0 || settings_.ignore_merges) return id;
    uint8_t state = whole_[id].load(std::memory_order_relaxed);
    if (state == 0) {
      Symbols symbols;
      list_symbols(word, bytes, symbols);
      merges_.apply(symbols);
      state = symbols.size() == 1 && symbols[0].id == id ? 1 : 2;
      whole_[id].store(state, std::memory_order_relaxed);
    }
    return state == 1 ? id : -1;
  }

  void list_symbols(std::string_view word, bool bytes, Symbols& symbols) const {
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
      if (!plain_characters_) {
        if (i > 0) decorated = settings_.continuing_prefix;
        decorated += character;
        if (i + size == word.size()) decorated += settings_.word_suffix;
      }
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
                     "{}: \"{}\" is not in the vocabulary, and neither is the unknown token \"{}\"",
                     source_, character, *settings_.unknown_token);
        if (!settings_.fuse_unknown) flush();
        unknown += size;
      }
    }
    flush();
  }

  bool add_fallback_bytes(std::string_view name, Symbols& symbols) const {
    for (const char byte : name) {
      if (fallback_ids_[static_cast<uint8_t>(byte)] < 0) return false;
    }
    for (const char byte : name) symbols.push_back({fallback_ids_[static_cast<uint8_t>(byte)], 1});
    return true;
  }

  void tokenize_words(std::string_view text, const std::vector<Span>& words, bool bytes,
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
      merges_.apply(symbols);
      uint32_t begin = word.begin;
      for (const MergeSymbol symbol : symbols) {
        const uint32_t end = std::min(begin + symbol.size, word.end);
        tokens.push_back({symbol.id, {std::min(begin, word.end - 1), end}});
        begin = end;
      }
    }
    if (symbols.capacity() > kKeptSymbols) symbols = Symbols();
  }

  BpeSettings settings_;
  std::string source_;
  MergeTable merges_;
  bool plain_characters_ = true;        // neither prefix nor suffix
  bool reads_bytes_ = false;            // the vocabulary has all byte-level characters
  std::array<int32_t, 128> ascii_ids_;  // of plain characters
  std::array<int32_t, 256> byte_ids_;   // of byte-level characters
  std::array<int32_t, 256> fallback_ids_;
  Vocabulary byte_words_;  // the tokens as the bytes that they stand for
  // By token: 0 not yet known, 1 its own merges lead to it, 2 they do not.
  std::unique_ptr<std::atomic<uint8_t>[]> whole_;
};

}  // namespace

std::unique_ptr<const TokenModel> make_bpe(Vocabulary vocabulary, const BpeMerges& merges,
                                           const BpeSettings& settings, const std::string& source) {
  return std::make_unique<Bpe>(std::move(vocabulary), merges, settings, source);
}

}  // namespace simile
