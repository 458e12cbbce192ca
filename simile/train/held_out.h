// SPDX-License-Identifier: Apache-2.0
// How well an encoder and its masked-language-model head guess words of texts they never saw.
#pragma once

#include <string>
#include <vector>

#include "simile/eval/report.h"
#include "simile/nn/masked_lm_module.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/masked_batches.h"

namespace simile {

class HeldOut {
 public:
  // Reads and masks the texts. Without a path there is nothing to evaluate. Errors: as TextStream;
  // ErrorKind::kInput when no word was masked.
  HeldOut(const PretrainOptions& options, const Tokenizer& tokenizer,
          const MaskVocabulary& vocabulary, EventSink& events);

  bool empty() const { return batches_.empty(); }

  // Report `held_out` with masked_accuracy and perplexity, of weights as they are.
  Report evaluate(TrainableEncoder& encoder, MaskedLmModule& head, const std::string& model) const;

 private:
  std::vector<MaskedBatch> batches_;
};

}  // namespace simile
