// SPDX-License-Identifier: Apache-2.0
#include "simile/train/held_out.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {

HeldOut::HeldOut(const PretrainOptions& options, const Tokenizer& tokenizer,
                 const MaskVocabulary& vocabulary, EventSink& events) {
  const HeldOutOptions& held_out = options.held_out;
  if (held_out.path.empty()) return;
  inspect_corpus({held_out.path}, events);
  const auto seed = stream_key(static_cast<uint64_t>(options.seed), "held out");
  int64_t masked = 0;
  PackedBatch packed;
  const auto finish_batch = [&] {
    MaskedBatch batch;
    batch.tokens = std::move(packed);
    batch.masked = mask_words(options.mask, vocabulary, seed, batches_.size(), batch.tokens);
    masked += batch.masked.size();
    batches_.push_back(std::move(batch));
    packed = {};
  };
  for (const std::string& text : read_texts(held_out.path, {true, held_out.limit})) {
    pack_windows(tokenizer, text, options.max_length, packed);
    if (packed.tokens() >= options.batch_tokens) finish_batch();
  }
  if (packed.size() > 0) finish_batch();
  SIMILE_CHECK(masked > 0, ErrorKind::kInput,
               fmt::format("'{}' has too little text: no word of it was masked; give more texts or "
                           "leave held_out.path empty",
                           held_out.path));
}

Report HeldOut::evaluate(TrainableEncoder& encoder, MaskedLmModule& head,
                         const std::string& model) const {
  torch::NoGradGuard guard;
  VocabularyLoss total;
  int64_t masked = 0;
  for (const MaskedBatch& batch : batches_) {
    const torch::Tensor hidden = encoder.forward(batch.tokens, {});
    const VocabularyLoss loss = head.losses(encoder, hidden, batch.masked);
    total.sum += loss.sum;
    total.correct += loss.correct;
    masked += batch.masked.size();
  }
  Report report;
  report.task = "masked_lm";
  report.name = "held_out";
  report.model = model;
  report.examples = masked;
  report.metrics = {{"masked_accuracy", static_cast<double>(total.correct) / masked},
                    {"perplexity", std::exp(total.sum / static_cast<double>(masked))}};
  return report;
}

}  // namespace simile
