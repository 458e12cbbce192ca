// SPDX-License-Identifier: Apache-2.0
// Masked-language-model pre-training: text in, a model folder out.
#pragma once

#include <string>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/train/trainer.h"

namespace simile {

// Trains an encoder by the recipe (its options: pretrain_options.h) in `folder`, runs/NAME when
// that is empty. The folder then holds what train() leaves; model/ is written anew at each look at
// the held-out texts, with the pooling of the start model or of the recipe's architecture and the
// dropout of its configuration, not that of the recipe. The masked-language-model head is
// kept in the saved states only.
//
// The loss of a step is the mean over its masked tokens, in nats; held-out texts are always masked
// alike. Reported: masked_accuracy and perplexity = exp(mean loss).
//
// Same bits on any number of threads, and after resume. Interruption and errors as train();
// ErrorKind::kInput also for a corpus that cannot be read to its end, before the first step, and
// for a resume when its texts or the tokenizer are not those of the run.
TrainResult pretrain(const ConfigNode& recipe, const std::string& folder, bool resume,
                     bool overwrite, EventSink& events);

}  // namespace simile
