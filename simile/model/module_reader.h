// SPDX-License-Identifier: Apache-2.0
// Folders inside a model folder: modules after pooling, and task heads.
//
// A module has 2_Dense/config.json and its weights in model.safetensors or pytorch_model.bin (also
// several files, see tensor_source.h); a head heads/NAME/config.json (HeadSettings, each under its
// option's name) and heads/NAME/model.safetensors (F32, named as in head_layout()). modules.json
// does not mention heads, so sentence-transformers ignores them.
//
// Errors: kInput naming file, key and value: an unknown key or activation, a name that is not the
// folder's, sizes that do not fit the module before, a module that reads or writes anything but the
// sentence's vector; a tensor missing, left over, of another shape, or not finite. kIo.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"

namespace simile {

// The module of that kind in `folder` (Normalize: none), given vectors of `inputs` numbers.
ModuleSettings read_module(const std::string& folder, ModuleKind kind, int64_t inputs);

// Writes config.json and model.safetensors (F32) into an existing folder; nothing for Normalize.
void write_module(const std::string& folder, const ModuleSettings& module);

struct SavedHead {
  HeadSettings settings;
  std::string weights_path;
  std::shared_ptr<const std::vector<float>> weights = nullptr;  // where they are read already
};

// The heads of a model folder, by name; none where it has no folder heads.
std::vector<SavedHead> open_heads(const std::string& model_folder);

// Weights [head_parameter_count(settings, H)].
std::vector<float> read_head_weights(const SavedHead& head, int64_t H);

// Writes config.json and model.safetensors into `folder`, which exists.
void write_head(const std::string& folder, const HeadSettings& settings, int64_t H,
                const float* weights);

}  // namespace simile
