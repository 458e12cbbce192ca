// SPDX-License-Identifier: Apache-2.0
// All that a run trains and a model folder keeps: the encoder's weights and those of its heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/nn/encoder_node.h"
#include "simile/nn/head.h"

namespace simile {

// The number of the head of that name. Errors (kRecipe): there is none; names those there are.
size_t find_head(const std::vector<HeadSettings>& heads, const std::string& name);

class ModelWeights {
 public:
  ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads);

  EncoderNode& encoder() { return encoder_; }
  std::vector<HeadModule>& heads() { return heads_; }

  const std::vector<HeadSettings>& head_settings() const { return head_settings_; }

  // All weights in one list, as start models, states and kept weights hold them: the encoder's,
  // then each head's. assign() errors (kInput): another number of weights.
  int64_t count() const;
  std::vector<float> copy();
  void assign(const std::vector<float>& weights);

  // Where the weights of a head begin in that list.
  int64_t head_offset(size_t head) const;

 private:
  EncoderNode encoder_;
  std::vector<HeadSettings> head_settings_;
  std::vector<HeadModule> heads_;
};

}  // namespace simile
