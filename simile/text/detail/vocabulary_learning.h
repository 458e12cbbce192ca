// SPDX-License-Identifier: Apache-2.0
// What the trainers of vocabularies share: the words of many texts, counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/utf8.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

// How often each word occurs.
class WordCounter {
 public:
  void add(std::string_view word, int64_t count);
  void add_all(const WordCounter& other);
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // All words in the order of their bytes, with their counts. Valid while the counter lives
  // unchanged.
  std::vector<std::pair<std::string_view, int64_t>> sorted() const;

 private:
  struct Word {
    uint64_t begin = 0;  // in arena_
    uint32_t size = 0;
    uint32_t tag = 0;  // part of the hash
    int64_t count = 0;
  };

  std::string_view text(const Word& word) const {
    return std::string_view(arena_).substr(word.begin, word.size);
  }
  void grow();

  std::string arena_;
  std::vector<Word> words_;
  std::vector<uint32_t> slots_;  // open addressing, a power of two: the word's number + 1, or 0
};

using CountedWords = std::vector<std::pair<std::string_view, int64_t>>;

// Takes the words of one text; called from several threads, each with its own counter.
using WordSink = std::function<void(std::string_view word, WordCounter& counter)>;

// Normalises and cuts each text by these components of a tokenizer.json, and hands its words, none
// of them empty, to `sink`. Texts are read by this thread and cut by all; the counts do not depend
// on the number of threads.
// Errors (kInput): a text of 500 MB or more; no words at all.
WordCounter count_words(const TextSource& next_text, const Json& normalizer,
                        const Json& pre_tokenizer, const WordSink& sink, EventSink& events);

// Calls visit(position, character) for each character of a word.
template <typename Visit>
void visit_characters(std::string_view word, const Visit& visit) {
  for (size_t i = 0; i < word.size();) {
    const DecodedCharacter character = decode_valid_character(word, i);
    visit(i, character.code_point);
    i += character.size;
  }
}

// The most frequent characters, at most `limit`, in the order of their code points.
std::vector<char32_t> choose_alphabet(const CountedWords& words, int64_t limit);

// The trainer of unigram models behind train_vocabulary(). `special_tokens` have been checked: those
// that the kind needs are among them, none twice. Errors: kRecipe for a vocabulary_size that the
// special tokens and characters alone exceed; kInput as count_words().
Tokenizer train_unigram(const TextSource& next_text, const VocabularyTrainerOptions& options,
                        const std::vector<std::string>& special_tokens, EventSink& events);

}  // namespace simile::detail
