// SPDX-License-Identifier: Apache-2.0
// Losses with a margin: on pairs that are positive (target above t) or negative, by their distance
// d_i = row_distance(u_i, v_i), and on triplets of an anchor, a positive and a negative text.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// Contrastive loss (Hadsell, Chopra and LeCun, "Dimensionality Reduction by Learning an Invariant
// Mapping", 2006, eq. 4):
//
//   (1/m) Σ_i 1/2 · [ p_i · d_i² + (1 - p_i) · relu(margin - d_i)² ]
//
// d_i: the distance of u_i and v_i (row_distance()); p_i = 1[y_i > t].
struct ContrastiveOptions {
  std::string distance = "cosine";
  double margin = 0.5;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Negatives and groups are not looked at. Errors: as check_pair_input().
torch::Tensor contrastive_loss(const LossInput& input, const ContrastiveOptions& options);

// Contrastive loss on the batch's hard pairs (sentence-transformers' OnlineContrastiveLoss):
//
//   Σ_{i in P} d_i² + Σ_{i in N} relu(margin - d_i)²
//
// A sum, not a mean, and without the factor 1/2. Positive pairs are those with y_i > t.
//   P  positive pairs farther apart than the nearest negative pair
//   N  negative pairs nearer than the farthest positive pair
// Without a pair of the other kind, P holds the positive pairs farther apart than their mean, and N
// the negative pairs nearer than theirs. So does version 6 of sentence-transformers; earlier ones
// did the same with a single pair of the other kind.
// Which pairs are hard is decided on values; gradients flow through the distances of those.
struct OnlineContrastiveOptions : ContrastiveOptions {};

// One number: 0 with zero gradients when no pair is hard. Errors: as contrastive_loss().
torch::Tensor online_contrastive_loss(const LossInput& input,
                                      const OnlineContrastiveOptions& options);

// Triplet loss: mean over rows and negatives of relu(d(u_i, v_i) - d(u_i, n_i) + margin), with d
// the Euclidean distance of raw embeddings or 1 - cosine (Schroff et al., "FaceNet", 2015, eq. 3
// without squares; Reimers and Gurevych, "Sentence-BERT", 2019, section 3). With `mining` the
// triplets are found among single texts with classes instead: batch_triplet_loss().
struct TripletOptions {
  double margin = 0.5;
  std::string distance = "euclidean";
  std::string mining = "none";

  void visit(OptionVisitor& v);
};

// One number. Targets and groups are not looked at. Errors: as check_pair_input(); kInput without
// negatives; with mining as batch_triplet_loss().
torch::Tensor triplet_loss(const LossInput& input, const TripletOptions& options);

// Triplet loss on triplets found in the batch by the classes of its single texts: the mean of
// relu(d(x_a, x_p) - d(x_a, x_n) + margin) over triplets (anchor a, p ≠ a of its class, n of
// another), by `mining`:
//
//   batch_hard       one for each anchor: farthest p, nearest n (Hermans et al., "In Defense of the
//                    Triplet Loss for Person Re-Identification", 2017, eq. 5). An anchor without a
//                    p counts with d(x_a, x_p) = 0, as in sentence-transformers: texts that are
//                    alone of their class are moved away from the others too
//   batch_semi_hard  one for each (a, p): the nearest n farther than p (Schroff et al., "FaceNet",
//                    2015, eq. 4), or the farthest n if none is
//   batch_all        all triplets; the mean is over those above zero (Hermans et al., eq. 6)
//
// d: Euclidean distance of raw embeddings or 1 - cosine. Otherwise an anchor without a p or without
// an n gives no triplet; a batch without triplets gives 0 with zero gradients. Triplets are chosen
// on values, the first of equals; gradients flow through the distances of those above zero.
// One number, of `left`. Errors: as check_loss_input(); kInput without classes [m]; kRecipe.
torch::Tensor batch_triplet_loss(const LossInput& input, const TripletOptions& options);

}  // namespace simile
