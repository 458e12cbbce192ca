// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary_trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/owned_options.h"
#include "simile/text/detail/trainers.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using Trainer = Tokenizer (*)(const TextSource&, const VocabularyTrainerOptions&,
                              const std::vector<std::string>&, EventSink&);

struct TrainerRow {
  const char* type;
  Trainer train;
  std::vector<std::string> special_tokens;  // that the kind needs, in the order it likes
};

const std::vector<TrainerRow>& trainers() {
  static const std::vector<TrainerRow> rows = {
      {"wordpiece", detail::train_word_piece, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}},
      {"bpe", detail::train_byte_pairs, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
      {"unigram", detail::train_unigram, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}},
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

Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events) {
  const TrainerRow& trainer = find_trainer(options.type);
  const std::string foreign = find_foreign_options("type", "type", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
  const auto& tokens =
      options.special_tokens.empty() ? trainer.special_tokens : options.special_tokens;
  check_special_tokens(tokens, trainer.special_tokens);
  return trainer.train(next_text, options, tokens, events);
}

}  // namespace simile
