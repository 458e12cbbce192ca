// SPDX-License-Identifier: Apache-2.0
// Several models made one (simile/kernel/sequence_encoders.h): a model folder whose parts are the
// folders of the models, and whose vectors are theirs side by side, each a unit vector times its
// weight.
//
// Static models come first in it, whatever the order they are given in. Where another part needs
// special tokens, their rows become zeros in the tables of static ones. Weights are stored in the
// type they were stored in; cards and licences of the models go with the parts. Task heads,
// temperatures and tensors that are no part of an encoder are left out: the vectors are others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/model/tensor_source.h"

namespace simile {

struct ModelToJoin {
  std::string model;  // a folder, or a built-in model's name
  double weight = 1;  // of its unit vector
};

struct JoinedPartReport {
  std::string model, folder;  // `folder` inside the output
  double weight = 1;
  int64_t dimensions = 0;
  TensorType type = TensorType::kF32;  // of its weights
};

struct JoinReport {
  std::vector<JoinedPartReport> parts;  // in their order in the output
  int64_t dimensions = 0;
};

// Errors: kUsage for fewer than two models, a weight that is not above 0, an output that would
// replace one of the models; kInput for models whose tokenizers differ, naming both, and those of
// joined_settings(), open_model_folder() and save_model_folder().
JoinReport join_models(const std::vector<ModelToJoin>& models, const std::string& output,
                       EventSink& events);

}  // namespace simile
