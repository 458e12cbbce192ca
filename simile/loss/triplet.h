// SPDX-License-Identifier: Apache-2.0
// Triplet loss: mean over rows and negatives of relu(d(u_i, v_i) - d(u_i, n_i) + margin), with d
// the Euclidean distance of raw embeddings or 1 - cosine (Schroff et al., "FaceNet", 2015, eq. 3
// without squares; Reimers and Gurevych, "Sentence-BERT", 2019, section 3). With `mining` the
// triplets are found among single texts with classes instead: batch_triplet.h.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct TripletOptions {
  double margin = 0.5;
  std::string distance = "euclidean";
  std::string mining = "none";

  void visit(OptionVisitor& v);
};

// One number. Targets and groups are not looked at. Errors: as check_pair_input(); kInput without
// negatives; with mining as batch_triplet_loss().
torch::Tensor triplet_loss(const LossInput& input, const TripletOptions& options);

LossRow triplet_row();  // its row in loss_table.h

}  // namespace simile
