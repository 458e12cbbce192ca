// SPDX-License-Identifier: Apache-2.0
// Models side by side as one (simile/kernel/joined_encoder.h): what their settings are together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/model/model_folder.h"
#include "simile/model/model_settings.h"

namespace simile {

struct ModelPart {
  ModelFolder folder;
  double weight = 1;
};

// Each part's vector is divided by its length, whether it has Normalize or not, and so is the
// whole. Prompts, similarity and lower-casing are those that the parts agree on; the length limit
// is the longest of theirs, and each part keeps its own. `closing_tokens`: special tokens that the
// tokenizer puts behind a text. Whether the parts' tokenizers are one is the caller's to know.
//
// Errors (ErrorKind::kInput, naming folders and what to do): a part with Dense or LayerNorm, with
// fewer dimensions than its vectors have, or with prompts that it leaves out of pooling; parts that
// disagree on prompts, similarity or lower-casing; those of joined_encoder_config().
ModelSettings joined_settings(const std::vector<ModelPart>& parts, int64_t closing_tokens,
                              const std::string& source);

// The settings that part `number` of a joined model has as a model of its own.
ModelSettings settings_of_part(const ModelSettings& joined, size_t number);

}  // namespace simile
