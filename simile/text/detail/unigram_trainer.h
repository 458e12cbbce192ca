// SPDX-License-Identifier: Apache-2.0
// The trainer of unigram models behind train_vocabulary().
#pragma once

#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

// `special_tokens` have been checked: those that the kind needs are among them, none twice. Errors:
// kRecipe for a vocabulary_size that the special tokens and characters alone exceed; kInput as
// count_words() (word_counting.h).
Tokenizer train_unigram(const TextSource& next_text, const VocabularyTrainerOptions& options,
                        const std::vector<std::string>& special_tokens, EventSink& events);

}  // namespace simile::detail
