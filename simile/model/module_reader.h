// SPDX-License-Identifier: Apache-2.0
// A module's folder inside a model folder: 2_Dense/config.json and its weights in model.safetensors
// or pytorch_model.bin (also several files, see tensor_source.h).
//
// Errors (ErrorKind::kInput) name file, key and value: an unknown key or activation, sizes that do
// not fit the module before it, a module that reads or writes anything but the sentence's vector;
// a tensor missing, left over, of another shape, or with a number that is not finite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/model/module_settings.h"
#include "simile/model/tensor_source.h"

namespace simile {

// The module of that kind in `folder`, given vectors of `inputs` numbers. Normalize needs no
// folder.
ModuleSettings read_module(const std::string& folder, ModuleKind kind, int64_t inputs);

// Writes config.json and model.safetensors (F32) into `folder`, which exists; nothing for
// Normalize.
void write_module(const std::string& folder, const ModuleSettings& module);

// The tensors of `layout` from a file that holds nothing else, one behind the other. `described_by`
// says in messages what their shapes follow from.
std::vector<float> read_tensors(const TensorSource& file, const std::vector<ParameterSlot>& layout,
                                const std::string& described_by);

}  // namespace simile
