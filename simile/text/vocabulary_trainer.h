// SPDX-License-Identifier: Apache-2.0
// Learning a WordPiece vocabulary from text.
//
// As Hugging Face's WordPieceTrainer: words are cut into characters, all but a word's first written
// with "##"; then the pair of neighbouring pieces that occurs most often is joined into a new
// token, again and again, until the vocabulary is full or no pair is frequent enough (byte-pair
// merges, Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016,
// alg. 1). Ties go to the pair with the smaller ids, so that the result depends on the texts alone,
// not on their order or on the number of threads. Words of more than 100 characters are left out:
// WordPiece does not cut them either.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/options.h"
#include "simile/text/tokenizer.h"

namespace simile {

struct VocabularyTrainerOptions {
  int64_t vocabulary_size = 30522;
  bool lowercase = true;
  int64_t min_frequency = 2;
  int64_t alphabet_limit = 1000;
  std::vector<std::string> special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

  void visit(OptionVisitor& v) {
    v.field("vocabulary_size", vocabulary_size,
            {"tokens to learn, special ones included", "tokens", 10, 10000000});
    v.field("lowercase", lowercase, {"lower-case the text and strip its accents"});
    v.field("min_frequency", min_frequency,
            {"least number of times a pair must occur to become a token", "", 1});
    v.field("alphabet_limit", alphabet_limit,
            {"most characters to keep; rarer ones become unknown", "characters", 1, 1114112});
    v.field(
        "special_tokens", special_tokens,
        {"first tokens of the vocabulary; [PAD], [UNK], [CLS], [SEP] and [MASK] must be there"});
  }
};

// Gives the next text and true, or false at the end. Called from the calling thread only.
using TextSource = std::function<bool(std::string& text)>;

// A BERT tokeniser with the learnt vocabulary: special tokens, single characters, their "##" forms,
// then the joined tokens in the order they were found. It may be smaller than asked for when the
// texts do not have enough pairs, which is a warning.
// Errors: kRecipe for special tokens that are missing or occur twice, or a vocabulary_size too
// small for the characters; kInput for texts without a word. Uses all threads for counting words.
Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events = silent_events());

}  // namespace simile
