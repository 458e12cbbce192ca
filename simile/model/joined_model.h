// SPDX-License-Identifier: Apache-2.0
// Models side by side as one (simile/kernel/sequence_encoders.h): what their settings are together,
// and how a model folder names them.
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

// The module simile.Joined of a model folder (simile/kernel/sequence_encoders.h), which only Simile
// reads: 0_Joined/config.json
//
//   {"parts": [{"path": "0", "weight": 1.0}, {"path": "1", "weight": 0.3}], "closing_tokens": 1}
//
// names folders inside 0_Joined, each a model folder of its own that sentence-transformers loads,
// with the same tokenizer.json, and says how many special tokens the tokenizer puts behind a text.
// 0_Joined/sentence_bert_config.json has the length limit of the whole.
//
// Errors (ErrorKind::kInput) name file and key: one that is missing, not known or absurd, a path
// that leads out of the folder.
inline constexpr const char* kJoinedFolder = "0_Joined";
inline constexpr const char* kJoinedList = "config.json";

struct JoinedPart {
  std::string folder;  // inside that of the module
  double weight = 1;
};

struct JoinedList {
  std::vector<JoinedPart> parts;
  int64_t closing_tokens = 0;
};

JoinedList read_joined_list(const std::string& path);
std::string joined_list_to_json(const JoinedList& list);

// Whether a model's weights_path is such a list, whose parts have the weights.
bool is_joined_list(const std::string& weights_path);

// The weights of each part (find_weights()), in their order.
std::vector<std::string> joined_weights(const std::string& path);

}  // namespace simile
