// SPDX-License-Identifier: Apache-2.0
// Counting the words of many texts, the first step of every vocabulary trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/detail/word_counter.h"
#include "simile/text/normalizer.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

using CountedWords = std::vector<std::pair<std::string_view, int64_t>>;

// Takes the words of one text; called from several threads, each with its own counter.
using WordSink = std::function<void(std::string_view word, WordCounter& counter)>;

// Normalises (null: not) and cuts each text, and hands its words, none of them empty, to `sink`.
// Texts are read by this thread and cut by all; the counts do not depend on the number of threads.
// Errors (kInput): a text of 500 MB or more; no words at all.
WordCounter count_words(const TextSource& next_text, const Normalizer* normalizer,
                        const PreTokenizer& pre_tokenizer, const WordSink& sink, EventSink& events);

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

}  // namespace simile::detail
