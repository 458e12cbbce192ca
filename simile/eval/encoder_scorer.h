// SPDX-License-Identifier: Apache-2.0
// A model's scorer, with its prompts as sentence-transformers puts them in its evaluators: before
// the texts of pairs that of the options, or the model's default; before the queries and documents
// of a ranking those of their roles (EncodeOptions).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"

namespace simile {

// The heads of an encoder, as scorers ask for them; null without heads. `events` must outlive the
// result, which keeps the encoder.
EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events);

// `events` outlives the scorer. `counted` is told what happened to the texts of each call.
std::unique_ptr<EmbeddingScorer> make_encoder_scorer(
    const std::string& name, const std::shared_ptr<const SentenceEncoder>& encoder,
    std::vector<Head> heads, const EncodeOptions& options, EventSink& events,
    const std::function<void(const EncodeCounts&)>& counted = nullptr);

}  // namespace simile
