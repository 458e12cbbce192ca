// SPDX-License-Identifier: Apache-2.0
// The heads of an encoder, as scorers ask for them.
#pragma once

#include <memory>
#include <vector>

#include "simile/core/event.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/eval/embedding_scorer.h"

namespace simile {

// Null without heads. `events` must outlive the result, which keeps the encoder.
EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events);

}  // namespace simile
