// SPDX-License-Identifier: Apache-2.0
// Heads inside a model folder: heads/NAME/config.json (HeadSettings, each under its option's name)
// and heads/NAME/model.safetensors (F32, named as in head_layout()). modules.json does not mention
// them, so sentence-transformers reads the folder as before.
//
// Errors: ErrorKind::kInput naming the file for a config or weights that cannot be used: an unknown
// key, a name that is not the folder's, a tensor missing, left over or of another shape, a number
// that is not finite; ErrorKind::kIo for what cannot be written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/model/head_settings.h"

namespace simile {

struct SavedHead {
  HeadSettings settings;
  std::string weights_path;
};

// The heads of a model folder, by name; none where it has no folder heads.
std::vector<SavedHead> open_heads(const std::string& model_folder);

// Weights [head_parameter_count(settings, H)].
std::vector<float> read_head_weights(const SavedHead& head, int64_t H);

// Writes config.json and model.safetensors into `folder`, which exists.
void write_head(const std::string& folder, const HeadSettings& settings, int64_t H,
                const float* weights);

}  // namespace simile
