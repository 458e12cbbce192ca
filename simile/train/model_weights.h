// SPDX-License-Identifier: Apache-2.0
// All that a run trains and a model folder keeps: the encoder's weights and those of its heads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/nn/head.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/placement.h"

namespace simile {

class ModelWeights {
 public:
  ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads,
               const Placement& placement = {});

  const Placement& placement() const { return placement_; }
  TrainableEncoder& encoder() { return *encoder_; }
  std::vector<HeadModule>& heads() { return heads_; }

  const std::vector<HeadSettings>& head_settings() const { return head_settings_; }

  // All weights in one list, as start models, states and kept weights hold them: the encoder's,
  // then each head's. assign() errors (kInput): another number of weights.
  int64_t count() const;
  std::vector<float> copy() const;
  void assign(const std::vector<float>& weights);

 private:
  Placement placement_;
  std::unique_ptr<TrainableEncoder> encoder_;
  std::vector<HeadSettings> head_settings_;
  std::vector<HeadModule> heads_;
};

}  // namespace simile
