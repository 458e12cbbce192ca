// SPDX-License-Identifier: Apache-2.0
// The baseline that leaves the encoder out: a text is the mean of its tokens' word embeddings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"

namespace simile {

// Gives means [texts, E], without special tokens and prompt, by the word embedding and the
// tokenizer of a model folder, whose layers are not read; zeros for a text without tokens. Several
// threads may call it at once. Errors: as SentenceEncoder::load().
std::function<Matrix<float>(const std::vector<std::string>& texts)> load_word_means(
    const std::string& folder, EventSink& events);

}  // namespace simile
