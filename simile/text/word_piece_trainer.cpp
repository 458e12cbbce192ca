// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/text/detail/growing_vocabulary.h"
#include "simile/text/detail/pair_merger.h"
#include "simile/text/detail/trainers.h"
#include "simile/text/detail/word_counting.h"
#include "simile/text/normalizer.h"
#include "simile/text/pre_tokenizer.h"

namespace simile::detail {
namespace {

constexpr size_t kMaxCharactersPerWord = 100;
const char kPrefix[] = "##";

// The token that the pieces `left` and `right` make when they are joined.
std::string join(const std::string& left, const std::string& right) {
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

PairMerger cut_words(const CountedWords& words,
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

}  // namespace

Tokenizer train_word_piece(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           const std::vector<std::string>& special_tokens, EventSink& events) {
  BertNormalizerSettings normalizer_settings;
  normalizer_settings.lowercase = options.lowercase;
  normalizer_settings.strip_accents = options.lowercase;
  const BertNormalizer normalizer(normalizer_settings);
  const WordSink keep = [](std::string_view word, WordCounter& counter) {
    if (count_characters(word) <= kMaxCharactersPerWord) counter.add(word, 1);
  };
  const WordCounter counter = count_words(next_text, &normalizer, BertPreTokenizer(), keep, events);
  const CountedWords words = counter.sorted();
  GrowingVocabulary vocabulary;
  for (const std::string& token : special_tokens) vocabulary.add(token);
  const auto alphabet = add_alphabet(words, options.alphabet_limit, vocabulary);
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               fmt::format("vocabulary_size is {}, but the special tokens and characters alone are "
                           "{}; raise it or lower alphabet_limit ({})",
                           options.vocabulary_size, vocabulary.size(), options.alphabet_limit));
  PairMerger merger = cut_words(words, alphabet);
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

}  // namespace simile::detail
