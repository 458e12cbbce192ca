// SPDX-License-Identifier: Apache-2.0
// What a model's numbers mean, fact by fact, so that two models can be told apart with words.
#pragma once

#include <string>
#include <vector>

#include "simile/model/model_folder.h"

namespace simile::detail {

struct ModelFact {
  std::string name, value;  // "the number of layers", "6"
};

// Architecture, pooling, modules and what is done to texts and vectors, heads. Not dropout, trained
// temperatures, weights, nor the tokenizer. Those of equal architectures have the same names.
std::vector<ModelFact> model_facts(const ModelFolder& model);

}  // namespace simile::detail
