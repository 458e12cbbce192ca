// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary_trainer.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/unused_options.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/detail/vocabulary_learning.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/utf8.h"

namespace simile {

namespace detail {
namespace {

struct TokenPair {
  int32_t left = 0;
  int32_t right = 0;
};

// Words as sequences of token ids, in which a new id replaces the most frequent pair of neighbours.
class PairMerger {
 public:
  // Adds a word that occurs `count` times.
  void add_word(const std::vector<int32_t>& ids, int64_t count) {
    words_.push_back({ids_.size(), static_cast<uint32_t>(ids.size()), count});
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }

  // Counts all pairs; call once, after the last word.
  void count_pairs() {
    for (uint32_t number = 0; number < words_.size(); ++number) {
      const Word& word = words_[number];
      for (uint32_t i = 1; i < word.size; ++i) {
        gain(ids_[word.begin + i - 1], ids_[word.begin + i], word.count, number);
      }
    }
    std::vector<Candidate> candidates;
    candidates.reserve(pairs_.size());
    for (const auto& [key, entry] : pairs_) candidates.push_back({entry.count, key});
    queue_ = std::priority_queue<Candidate>({}, std::move(candidates));
  }

  // The most frequent pair, of equals the smallest, if it occurs `min_count` times or more.
  bool find_best(int64_t min_count, TokenPair* best) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      const int64_t count = pairs_[top.key].count;
      if (count != top.count) {
        queue_.pop();
        if (count > 0) queue_.push({count, top.key});
        continue;
      }
      if (count < min_count) return false;
      *best = {static_cast<int32_t>(top.key >> 32), static_cast<int32_t>(top.key & 0xFFFFFFFFU)};
      return true;
    }
    return false;
  }

  // Replaces each occurrence of `pair`, from left to right, by `id`.
  void merge(TokenPair pair, int32_t id) {
    PairEntry& entry = pairs_[key_of(pair.left, pair.right)];
    std::vector<uint32_t> words = std::move(entry.words);
    entry = {};
    gained_.clear();
    for (const uint32_t number : words) merge_in_word(number, pair, id);
    // Also removes the entry that the loop above counted down for the pair itself ("aaa").
    pairs_.erase(key_of(pair.left, pair.right));
    std::sort(gained_.begin(), gained_.end());
    gained_.erase(std::unique(gained_.begin(), gained_.end()), gained_.end());
    for (const uint64_t key : gained_) {
      const auto found = pairs_.find(key);
      if (found != pairs_.end() && found->second.count > 0) queue_.push({found->second.count, key});
    }
  }

 private:
  struct Word {
    uint64_t begin = 0;  // in ids_
    uint32_t size = 0;
    int64_t count = 0;
  };
  struct PairEntry {
    int64_t count = 0;
    std::vector<uint32_t> words;  // where it occurs or once did; may hold a word twice
  };
  struct Candidate {
    int64_t count;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  void merge_in_word(uint32_t number, TokenPair pair, int32_t id) {
    Word& word = words_[number];
    int32_t* ids = ids_.data() + word.begin;
    for (uint32_t i = 0; i + 1 < word.size; ++i) {
      if (ids[i] != pair.left || ids[i + 1] != pair.right) continue;
      if (i > 0) {
        pairs_[key_of(ids[i - 1], pair.left)].count -= word.count;
        gained_.push_back(gain(ids[i - 1], id, word.count, number));
      }
      ids[i] = id;
      std::copy(ids + i + 2, ids + word.size, ids + i + 1);
      --word.size;
      if (i + 1 < word.size) {
        pairs_[key_of(pair.right, ids[i + 1])].count -= word.count;
        gained_.push_back(gain(id, ids[i + 1], word.count, number));
      }
    }
  }

  // Returns the pair's key.
  uint64_t gain(int32_t left, int32_t right, int64_t count, uint32_t word) {
    const uint64_t key = key_of(left, right);
    PairEntry& entry = pairs_[key];
    entry.count += count;
    if (entry.words.empty() || entry.words.back() != word) entry.words.push_back(word);
    return key;
  }

  std::vector<int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, PairEntry> pairs_;
  std::priority_queue<Candidate> queue_;  // counts may be out of date: checked when popped
  std::vector<uint64_t> gained_;          // pairs that the current merge made more frequent
};

// The vocabulary of a trainer that joins pairs, while it grows.
class GrowingVocabulary {
 public:
  // Its id; a token that is there already keeps the one it has.
  int32_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

// Joins the most frequent pair until the vocabulary is as large as wanted or no pair is frequent
// enough, which is a warning. Returns the pairs in the order they were joined.
template <typename Join>
std::vector<TokenPair> learn_merges(const VocabularyTrainerOptions& options, PairMerger& merger,
                                    GrowingVocabulary& vocabulary, const Join& join,
                                    EventSink& events) {
  constexpr int64_t kTokensPerEvent = 1000;
  const int64_t wanted = options.vocabulary_size;
  const auto token = [&](int32_t id) { return vocabulary.tokens()[id]; };
  std::vector<TokenPair> merges;
  TokenPair best;
  while (vocabulary.size() < wanted && merger.find_best(options.min_frequency, &best)) {
    merger.merge(best, vocabulary.add(join(token(best.left), token(best.right))));
    merges.push_back(best);
    if (vocabulary.size() % kTokensPerEvent == 0) {
      events.progress({"learn vocabulary", vocabulary.size(), wanted, "tokens", {}});
    }
  }
  if (vocabulary.size() < wanted) {
    events.warning(
        fmt::format("the texts give only {} tokens instead of {}: no other pair occurs {} times",
                    vocabulary.size(), wanted, options.min_frequency));
  }
  events.progress({"learn vocabulary", vocabulary.size(), vocabulary.size(), "tokens", {}});
  return merges;
}

constexpr size_t kMaxCharacters = 100;
const char kPrefix[] = "##";

// The ids of a character at the start of a word and further on; -1 outside the alphabet.
struct CharacterIds {
  int32_t first = -1;
  int32_t continuing = -1;
};

std::unordered_map<char32_t, CharacterIds> add_alphabet(const CountedWords& words, int64_t limit,
                                                        GrowingVocabulary& vocabulary) {
  std::unordered_map<char32_t, CharacterIds> ids;
  const std::vector<char32_t> alphabet = choose_alphabet(words, limit);
  const auto text_of = [](char32_t c) {
    std::string text;
    append_utf8(c, text);
    return text;
  };
  for (const char32_t c : alphabet) ids[c].first = vocabulary.add(text_of(c));
  std::unordered_set<char32_t> continuing;
  for (const auto& entry : words) {
    visit_characters(entry.first, [&](size_t position, char32_t c) {
      if (position > 0) continuing.insert(c);
    });
  }
  for (const char32_t c : alphabet) {
    if (continuing.count(c) > 0) ids[c].continuing = vocabulary.add(kPrefix + text_of(c));
  }
  return ids;
}

Tokenizer train_word_piece(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           const std::vector<std::string>& special_tokens, EventSink& events) {
  const Json normalizer = {{"type", "BertNormalizer"}, {"lowercase", options.lowercase}};
  const WordSink keep = [](std::string_view word, WordCounter& counter) {
    if (count_characters(word) <= kMaxCharacters) counter.add(word, 1);
  };
  const WordCounter counter =
      count_words(next_text, normalizer, {{"type", "BertPreTokenizer"}}, keep, events);
  const CountedWords words = counter.sorted();
  GrowingVocabulary vocabulary;
  for (const std::string& token : special_tokens) vocabulary.add(token);
  const auto alphabet = add_alphabet(words, options.alphabet_limit, vocabulary);
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               "vocabulary_size is {}, but the special tokens and characters alone are {}; raise "
               "it or lower alphabet_limit ({})",
               options.vocabulary_size, vocabulary.size(), options.alphabet_limit);
  PairMerger merger;
  std::vector<int32_t> ids;
  for (const auto& [word, count] : words) {
    ids.clear();
    visit_characters(word, [&](size_t position, char32_t c) {
      const auto found = alphabet.find(c);
      if (found == alphabet.end()) return;
      ids.push_back(position == 0 ? found->second.first : found->second.continuing);
    });
    if (ids.size() > 1) merger.add_word(ids, count);
  }
  merger.count_pairs();
  const auto join = [](const std::string& left, const std::string& right) {
    return left + right.substr(right.compare(0, 2, kPrefix) == 0 ? 2 : 0);
  };
  learn_merges(options, merger, vocabulary, join, events);
  BertTokenizerSettings settings;
  settings.lowercase = options.lowercase;
  for (const std::string& token : special_tokens) {
    const std::string own[] = {settings.pad_token, settings.unk_token, settings.cls_token,
                               settings.sep_token, settings.mask_token};
    if (std::find(std::begin(own), std::end(own), token) == std::end(own)) {
      settings.more_special_tokens.push_back(token);
    }
  }
  return Tokenizer::from_vocabulary(vocabulary.tokens(), settings, "learnt vocabulary");
}

// Longer words are cut, so that joining stays cheap.
constexpr size_t kMaxBytesPerWord = 256;

Tokenizer train_byte_pairs(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           const std::vector<std::string>& special_tokens, EventSink& events) {
  const Json normalizer = trained_normalizer(false, options.lowercase);
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  GrowingVocabulary vocabulary;
  for (const std::string& token : special_tokens) vocabulary.add(token);
  std::vector<int32_t> byte_ids;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    byte_ids.push_back(vocabulary.add(token));
  }
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               "vocabulary_size is {}, but the special tokens and the 256 bytes alone are {}",
               options.vocabulary_size, vocabulary.size());
  const WordSink keep = [](std::string_view word, WordCounter& counter) { counter.add(word, 1); };
  const WordCounter counter = count_words(next_text, normalizer, byte_level, keep, events);
  PairMerger merger;
  std::vector<int32_t> cut;
  for (const auto& [word, count] : counter.sorted()) {
    for (size_t begin = 0; begin < word.size(); begin += kMaxBytesPerWord) {
      cut.clear();
      for (const char byte : word.substr(begin, kMaxBytesPerWord)) {
        cut.push_back(byte_ids[static_cast<uint8_t>(byte)]);
      }
      if (cut.size() > 1) merger.add_word(cut, count);
    }
  }
  merger.count_pairs();
  const auto join = [](const std::string& left, const std::string& right) { return left + right; };
  const std::vector<TokenPair> merges = learn_merges(options, merger, vocabulary, join, events);
  const auto token = [&](int32_t id) -> std::string_view { return vocabulary.tokens()[id]; };
  std::vector<std::pair<std::string_view, std::string_view>> joined;
  for (const TokenPair merge : merges) joined.emplace_back(token(merge.left), token(merge.right));
  std::vector<int64_t> ids(special_tokens.size());
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const auto id_of = [&](const char* token) {
    return std::find(special_tokens.begin(), special_tokens.end(), token) - special_tokens.begin();
  };
  const Json post_processor = {{"type", "RobertaProcessing"},
                               {"sep", {"</s>", id_of("</s>")}},
                               {"cls", {"<s>", id_of("<s>")}},
                               {"trim_offsets", true},
                               {"add_prefix_space", true}};
  const std::string model =
      R"({"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":"",)"
      R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,)" +
      tokens_and_merges_text({vocabulary.tokens().begin(), vocabulary.tokens().end()}, joined);
  return Tokenizer::parse(tokenizer_document(trained_tokens(special_tokens, ids), normalizer,
                                             byte_level, post_processor, byte_level, model),
                          "learnt vocabulary");
}

struct TrainerRow {
  const char* type;
  Tokenizer (*train)(const TextSource&, const VocabularyTrainerOptions&,
                     const std::vector<std::string>&, EventSink&);
  std::vector<std::string> special_tokens;  // that the kind needs, in the order it likes
};

const TrainerRow kTrainers[] = {
    {"wordpiece", train_word_piece, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}},
    {"bpe", train_byte_pairs, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
    {"unigram", train_unigram, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
};

}  // namespace
}  // namespace detail

Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events) {
  const auto trainer =
      std::find_if(std::begin(detail::kTrainers), std::end(detail::kTrainers),
                   [&](const detail::TrainerRow& row) { return options.type == row.type; });
  SIMILE_CHECK(trainer != std::end(detail::kTrainers), ErrorKind::kRecipe,
               "type is \"{}\"; expected wordpiece, bpe or unigram", options.type);
  const std::string foreign = find_foreign_options("type", "type", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
  const auto& tokens =
      options.special_tokens.empty() ? trainer->special_tokens : options.special_tokens;
  for (const std::string& name : trainer->special_tokens) {
    SIMILE_CHECK(std::count(tokens.begin(), tokens.end(), name) == 1, ErrorKind::kRecipe,
                 "special_tokens must hold \"{}\" once", name);
  }
  for (const std::string& token : tokens) {
    SIMILE_CHECK(!token.empty() && is_valid_utf8(token) &&
                     std::count(tokens.begin(), tokens.end(), token) == 1,
                 ErrorKind::kRecipe, "special_tokens: \"{}\" is empty, given twice or not UTF-8",
                 token);
  }
  return trainer->train(next_text, options, tokens, events);
}

}  // namespace simile
