// SPDX-License-Identifier: Apache-2.0
// Learning a vocabulary from text, of one of three kinds.
//
// wordpiece, a BERT tokenizer, as Hugging Face's WordPieceTrainer: words are cut into characters,
//   all but a word's first written with "##"; then the pair of neighbouring pieces that occurs most
//   often is joined into a new token, again and again, until the vocabulary is full or no pair is
//   frequent enough (byte-pair merges, Sennrich et al., "Neural Machine Translation of Rare Words
//   with Subword Units", ACL 2016, alg. 1). Words of more than 100 characters are left out:
//   WordPiece does not cut them either.
// bpe, a RoBERTa tokenizer: the same merges over the bytes of words, which start with the space
//   before them (GPT-2's byte-level BPE). Nothing is ever unknown. `alphabet_limit` is not used.
// unigram, a tokenizer like XLM-RoBERTa's: pieces with probabilities (Kudo, "Subword
//   Regularization", ACL 2018, sect. 3.2). It starts from all frequent substrings of words, at most
//   16 characters long and not crossing between letters or digits and other characters, and in turn
//   estimates the probabilities by two rounds of expectation-maximisation and drops the quarter of
//   the pieces whose loss changes the likelihood least, until the vocabulary has the size wanted.
//   Single characters are kept. `min_frequency` is not used; a substring must occur twice.
//
// Ties go to the pair with the smaller ids, or to the piece that comes first, and sums are kept in
// whole numbers, so the result depends on the texts, not on their order or the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/text/tokenizer.h"

namespace simile {

struct VocabularyTrainerOptions {
  std::string type = "wordpiece";
  int64_t vocabulary_size = 30522;
  bool lowercase = true;
  int64_t min_frequency = 2;
  int64_t alphabet_limit = 1000;
  std::vector<std::string> special_tokens;

  void visit(OptionVisitor& v) {
    v.field("type", type,
            choice_info("kind of vocabulary: BERT's WordPiece, RoBERTa's byte-level BPE or "
                        "XLM-RoBERTa's Unigram",
                        {"wordpiece", "bpe", "unigram"}));
    v.field("vocabulary_size", vocabulary_size,
            OptionInfo{"tokens to learn, special ones included", "tokens", 10, 10000000}.named(
                "--vocab-size"));
    v.field("lowercase", lowercase,
            OptionInfo{"lower-case the text and strip its accents"}.named("--lowercase,!--cased"));
    v.only_for("type", {"wordpiece", "bpe"}, [this](OptionVisitor& of) {
      of.field("min_frequency", min_frequency,
               {"least number of times a pair must occur to become a token", "", 1});
    });
    v.only_for("type", {"wordpiece", "unigram"}, [this](OptionVisitor& of) {
      of.field("alphabet_limit", alphabet_limit,
               {"most characters to keep; rarer ones become unknown", "characters", 1, 1114112});
    });
    v.field("special_tokens", special_tokens,
            {"first tokens of the vocabulary; empty: [PAD], [UNK], [CLS], [SEP] and [MASK] for "
             "wordpiece, <s>, <pad>, </s>, <unk> and <mask> for the others, which must be there"});
  }
};

// Gives the next text and true, or false at the end. Called from the calling thread only.
using TextSource = std::function<bool(std::string& text)>;

// A tokenizer with the learnt vocabulary, which to_json() writes. Ids: the special tokens (but the
// <mask> of unigram is the last token of all), then for wordpiece the single characters and their
// "##" forms, for bpe the 256 bytes, then the joined tokens in the order they were found; for
// unigram all pieces by falling probability. If the texts do not have enough pairs or substrings,
// it is smaller than requested, with a warning. Errors: kRecipe for an unknown type, special tokens
// that are missing or occur twice, or a vocabulary_size too small for the characters; kInput for
// texts without a word, or of 500 MB each. Uses all threads for counting words and estimating.
Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events = silent_events());

}  // namespace simile
