// SPDX-License-Identifier: Apache-2.0
// Safetensors files that know when they are damaged: "checksum" among their metadata is a hash of
// all tensors, by name, and all other metadata. Of what a run keeps to go on from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simile/model/safetensors.h"

namespace simile {

// As write_safetensors(), of tensors whose values are stored as they are.
void write_sealed_tensors(const std::string& path, const std::vector<TensorView>& tensors,
                          std::map<std::string, std::string> metadata);

// Errors (kInput): the file has another checksum, or none.
void check_seal(const SafetensorsFile& file);

}  // namespace simile
