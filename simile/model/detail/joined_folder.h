// SPDX-License-Identifier: Apache-2.0
// The module simile.Joined of a model folder (simile/kernel/joined_encoder.h), which only Simile
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
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simile::detail {

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

}  // namespace simile::detail
