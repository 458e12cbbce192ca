// SPDX-License-Identifier: Apache-2.0
// README.md of a model folder: a front matter that model hubs read, what the model is, and how to
// use it from Simile and from sentence-transformers.
#pragma once

#include <string>
#include <vector>

#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"

namespace simile {

struct ModelCard {
  std::string title;
  std::string base_model;    // the model it was made from; empty where there is none
  std::string introduction;  // a paragraph
  std::string body;          // sections: data, results, recipe
  std::string front_matter;  // more lines of front matter, as front_matter_of() gives them
  // Of a joined model: the models its parts were, and how the weights of each part are stored where
  // that differs.
  std::vector<std::string> part_models;
  std::vector<TensorType> part_types;
};

// `type`: how the weights are stored; I8 is a format of Simile's own and the card says so.
std::string make_model_card(const ModelCard& card, const ModelSettings& settings,
                            TensorType type = TensorType::kF32);

// The front matter of another card, without the keys that make_model_card() writes itself, and what
// stands behind it.
struct CardParts {
  std::string front_matter, body;
};
CardParts split_model_card(const std::string& card);

}  // namespace simile
