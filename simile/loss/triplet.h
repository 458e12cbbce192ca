// SPDX-License-Identifier: Apache-2.0
// Triplet loss: mean over rows and negatives of relu(d(u_i, v_i) - d(u_i, n_i) + margin), with d
// the Euclidean distance of raw embeddings or 1 - cosine (Schroff et al., "FaceNet", 2015, eq. 3
// without squares; Reimers and Gurevych, "Sentence-BERT", 2019, section 3).
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct TripletOptions {
  double margin = 0.5;
  std::string distance = "euclidean";

  void visit(OptionVisitor& v);
};

// One number. Targets and groups are not looked at. Errors: as check_loss_input(); kInput without
// negatives.
torch::Tensor triplet_loss(const LossInput& input, const TripletOptions& options);

}  // namespace simile
