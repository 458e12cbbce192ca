// SPDX-License-Identifier: Apache-2.0
// Distillation: the embedding should be the vector a teacher gave the same text (Reimers and
// Gurevych, "Making Monolingual Sentence Embeddings Multilingual using Knowledge Distillation",
// 2020, eq. 1).
//
//   mse     (1/(m·E)) Σ_i |W x_i - a_i|²
//   cosine  (1/m) Σ_i (1 - cos(W x_i, a_i))
//   scores  (1/m²) Σ_ij (cos(x_i, x_j) - cos(a_i, a_j))²
//
// x: left with a = left_teachers[0] and, where right_teachers is not empty, right with
// right_teachers[0]; of two sides the mean, and with scores the texts of both together. W [E, D]: a
// linear projection, or none for E = D. Scores (Tung and Mori, "Similarity-Preserving Knowledge
// Distillation", ICCV 2019, with squared differences of cosines) need none, whatever the sizes.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct DistillOptions {
  std::string distance = "mse";
  double projection_learning_rate = 1e-3;

  void visit(OptionVisitor& v);
};

// One number, of single texts or pairs; gradients flow to the embeddings and to `projection`, not
// to the teacher, and with scores not to a projection. Negatives, targets and groups are not looked
// at. Errors: as check_loss_input(); kInput unless there is one teacher, for vectors of another
// size without a projection or one that is not [E, D], and for a teacher's right side without a
// right side.
torch::Tensor distill_loss(const LossInput& input, const DistillOptions& options,
                           const torch::Tensor& projection = {});

}  // namespace simile
