// SPDX-License-Identifier: Apache-2.0
// Losses that learn from the vectors that frozen models, the teachers, gave the same texts.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// Distillation: the embedding should be the vector a teacher gave the same text (Reimers and
// Gurevych, "Making Monolingual Sentence Embeddings Multilingual ...", 2020, eq. 1).
//
//   mse     (1/(m·E)) Σ_i |W x_i - a_i|²
//   cosine  (1/m) Σ_i (1 - cos(W x_i, a_i))
//   scores  (1/m²) Σ_ij (cos(x_i, x_j) - cos(a_i, a_j))²
//
// x: left with a = left_teachers[0] and, where right_teachers is not empty, right with
// right_teachers[0]; of two sides the mean, and with scores the texts of both together. W [E, D]: a
// linear projection, or none for E = D. Scores (Tung and Mori, "Similarity-Preserving Knowledge
// Distillation", ICCV 2019, with squared differences of cosines) need none, whatever the sizes.
struct DistillOptions {
  std::string distance = "mse";
  double projection_learning_rate = 1e-3;

  void visit(OptionVisitor& v);
};

// One number, of single texts or pairs; gradients flow to the embeddings and to `projection`, not
// to the teacher, and with scores not to a projection. Negatives, targets and groups are not looked
// at. Errors: as check_loss_input(); kInput unless there is one teacher, for vectors of another
// size without a projection [E, D], and for a teacher's right side without a right side.
torch::Tensor distill_loss(const LossInput& input, const DistillOptions& options,
                           const torch::Tensor& projection = {});

// The entropy model of regularised contrastive learning (Tan, Rolland and Tian, "Regularized
// Contrastive Learning of Semantic Search", 2022, eq. 2): a contrastive loss with an entropy term
// that makes a text choose among the others of the batch (φ > 0) or find them alike (φ < 0). Models
// of several φ are the teachers of rcl_loss().
//
//   p_ij = softmax_j(s · cos(q_i, ind_j))        over all columns j
//   CE_i = -log p_ii,   H_i = -Σ_{j ≠ i} p_ij log p_ij
//   loss = (1/m) Σ_i 1[y_i > t] · (CE_i + φ · H_i)
//
// q left, ind right; explicit negatives of every row are further columns, stacked as in bsc.h. The
// paper has s = 1 and no labels. Pairs with y_i <= t give no term (CE, H) but stay columns.
struct RclEntropyOptions {
  double scale = 1.0;
  double phi = 0.01;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number; below 0 it may be for φ < 0. Groups are not looked at. Errors: as check_pair_input().
torch::Tensor rcl_entropy_loss(const LossInput& input, const RclEntropyOptions& options);

// Regularised contrastive learning (Tan et al. 2022, eq. 3): every text should also find, among the
// vectors that frozen models (of rcl_entropy_loss()) gave the texts of its side, its own.
//
//   CE_i  = -log softmax_k(s · cos(q_i, ind_k))_i                      over all columns, if y_i > t
//   Rq_i  = Σ_n -log softmax_k(s · cos(q_i, Aq^n_k))_i                 over the m texts of the side
//   Ri_i  = Σ_n -log softmax_k(s · cos(ind_i, Aind^n_k))_i
//   loss  = (1/m) Σ_i (CE_i + Rq_i + Ri_i)
//
// q left, ind right, Aq^n = left_teachers[n], Aind^n = right_teachers[n], which get no gradient.
// Explicit negatives are further columns in CE alone. Pairs with y_i <= t have no CE, but both
// regularisers: what a text means does not depend on the label of its pair.
struct RclOptions {
  double scale = 1.0;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Groups are not looked at. Errors: as check_pair_input(); kInput without teachers,
// with other numbers of them for both sides, or vectors that are not [m, D].
torch::Tensor rcl_loss(const LossInput& input, const RclOptions& options);

}  // namespace simile
