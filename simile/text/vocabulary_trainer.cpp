// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/owned_options.h"
#include "simile/text/byte_level.h"
#include "simile/text/detail/pair_merger.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/detail/unigram_trainer.h"
#include "simile/text/detail/word_counting.h"
#include "simile/text/utf8.h"

namespace simile {

namespace detail {
namespace {

constexpr size_t kMaxCharacters = 100;
const char kPrefix[] = "##";

// The token that the pieces `left` and `right` make when they are joined.
std::string join_pieces(const std::string& left, const std::string& right) {
  return left + right.substr(right.compare(0, 2, kPrefix) == 0 ? 2 : 0);
}

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

PairMerger cut_into_characters(const CountedWords& words,
                               const std::unordered_map<char32_t, CharacterIds>& alphabet) {
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
  return merger;
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
               fmt::format("vocabulary_size is {}, but the special tokens and characters alone are "
                           "{}; raise it or lower alphabet_limit ({})",
                           options.vocabulary_size, vocabulary.size(), options.alphabet_limit));
  PairMerger merger = cut_into_characters(words, alphabet);
  learn_merges(options, merger, vocabulary, join_pieces, events);
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

// The ids of the 256 bytes.
std::vector<int32_t> add_bytes(GrowingVocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    ids.push_back(vocabulary.add(token));
  }
  return ids;
}

PairMerger cut_into_bytes(const CountedWords& words, const std::vector<int32_t>& byte_ids) {
  PairMerger merger;
  std::vector<int32_t> ids;
  for (const auto& [word, count] : words) {
    for (size_t begin = 0; begin < word.size(); begin += kMaxBytesPerWord) {
      ids.clear();
      for (const char byte : word.substr(begin, kMaxBytesPerWord)) {
        ids.push_back(byte_ids[static_cast<uint8_t>(byte)]);
      }
      if (ids.size() > 1) merger.add_word(ids, count);
    }
  }
  merger.count_pairs();
  return merger;
}

Tokenizer train_byte_pairs(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           const std::vector<std::string>& special_tokens, EventSink& events) {
  const Json normalizer = trained_normalizer(false, options.lowercase);
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  GrowingVocabulary vocabulary;
  for (const std::string& token : special_tokens) vocabulary.add(token);
  const std::vector<int32_t> byte_ids = add_bytes(vocabulary);
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               fmt::format("vocabulary_size is {}, but the special tokens and the 256 bytes alone "
                           "are {}",
                           options.vocabulary_size, vocabulary.size()));
  const WordSink keep = [](std::string_view word, WordCounter& counter) { counter.add(word, 1); };
  const WordCounter counter = count_words(next_text, normalizer, byte_level, keep, events);
  PairMerger merger = cut_into_bytes(counter.sorted(), byte_ids);
  const auto join = [](const std::string& left, const std::string& right) { return left + right; };
  const std::vector<TokenPair> merges = learn_merges(options, merger, vocabulary, join, events);
  const auto token = [&](int32_t id) -> std::string_view {
    return vocabulary.tokens()[static_cast<size_t>(id)];
  };
  std::vector<std::pair<std::string_view, std::string_view>> joined;
  for (const TokenPair merge : merges) joined.emplace_back(token(merge.left), token(merge.right));
  std::vector<int64_t> ids(special_tokens.size());
  const auto id_of = [&](const char* token) {
    return std::find(special_tokens.begin(), special_tokens.end(), token) - special_tokens.begin();
  };
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  const Json post_processor = {{"type", "RobertaProcessing"},
                               {"sep", {"</s>", id_of("</s>")}},
                               {"cls", {"<s>", id_of("<s>")}},
                               {"trim_offsets", true},
                               {"add_prefix_space", true}};
  const std::string model =
      R"({"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":"",)"
      R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,)" +
      tokens_and_merges_text({vocabulary.tokens().begin(), vocabulary.tokens().end()}, joined);
  return Tokenizer::parse(trained_document(special_tokens, ids, normalizer, byte_level,
                                           post_processor, byte_level, model),
                          "learnt vocabulary");
}

using Trainer = Tokenizer (*)(const TextSource&, const VocabularyTrainerOptions&,
                              const std::vector<std::string>&, EventSink&);

struct TrainerRow {
  const char* type;
  Trainer train;
  std::vector<std::string> special_tokens;  // that the kind needs, in the order it likes
};

const std::vector<TrainerRow>& trainers() {
  static const std::vector<TrainerRow> rows = {
      {"wordpiece", train_word_piece, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}},
      {"bpe", train_byte_pairs, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
      {"unigram", train_unigram, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
  };
  return rows;
}

const TrainerRow& find_trainer(const std::string& type) {
  for (const TrainerRow& row : trainers()) {
    if (type == row.type) return row;
  }
  throw Error(ErrorKind::kRecipe,
              fmt::format("type is \"{}\"; expected wordpiece, bpe or unigram", type));
}

void check_special_tokens(const std::vector<std::string>& tokens,
                          const std::vector<std::string>& needed) {
  for (const std::string& name : needed) {
    SIMILE_CHECK(std::count(tokens.begin(), tokens.end(), name) == 1, ErrorKind::kRecipe,
                 fmt::format("special_tokens must hold \"{}\" once", name));
  }
  for (const std::string& token : tokens) {
    SIMILE_CHECK(!token.empty() && is_valid_utf8(token) &&
                     std::count(tokens.begin(), tokens.end(), token) == 1,
                 ErrorKind::kRecipe,
                 fmt::format("special_tokens: \"{}\" is empty, given twice or not UTF-8", token));
  }
}

}  // namespace
}  // namespace detail

Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events) {
  const detail::TrainerRow& trainer = detail::find_trainer(options.type);
  const std::string foreign = find_foreign_options("type", "type", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
  const auto& tokens =
      options.special_tokens.empty() ? trainer.special_tokens : options.special_tokens;
  detail::check_special_tokens(tokens, trainer.special_tokens);
  return trainer.train(next_text, options, tokens, events);
}

}  // namespace simile
