// SPDX-License-Identifier: Apache-2.0
// Losses made of others, and a regulariser to be added to another loss. A `sum` of losses on the
// same embeddings, Σ w · L ("Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks",
// 2021, section 7), has no function here: Loss adds up its terms.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "simile/core/options.h"
#include "simile/loss/bsc.h"
#include "simile/loss/loss_input.h"

namespace simile {

// μ·bsc + (1 - μ)·mse on the same embeddings (BSC-loss, eq. 6).
struct ComboOptions {
  double mu = 0.1;
  BscOptions bsc;  // its options stand beside mu in a recipe

  void visit(OptionVisitor& v) {
    v.field("mu", mu, {"share of bsc; mse has the rest", "", 0.0, 1.0});
    bsc.visit(v);
  }
};

// One number; `scale` as in bsc_loss(). A part of weight 0 is not computed. Errors: as bsc_loss().
torch::Tensor combo_loss(const LossInput& input, const ComboOptions& options,
                         const torch::Tensor& scale = {});

// Losses summed over prefixes of the embedding (Kusupati et al., "Matryoshka Representation
// Learning", NeurIPS 2022, eq. 1): Σ_d w_d · L(x_1..d / |x_1..d|), so that a vector that is cut
// after d numbers is still a good one.
struct MatryoshkaOptions {
  std::vector<int64_t> dimensions;  // the whole embedding is not added by itself
  std::vector<double> weights;      // as many, or none: all 1

  void visit(OptionVisitor& v);
};

// `loss` is called once a prefix, with every embedding (teachers' too) cut and each row divided by
// its L2 norm. Errors: ErrorKind::kRecipe for none or dimensions that are not from 1 to D,
// for another number of weights than of dimensions; as check_loss_input() and `loss`.
torch::Tensor matryoshka_loss(const LossInput& input, const MatryoshkaOptions& options,
                              const std::function<torch::Tensor(const LossInput&)>& loss);

// Global orthogonal regularisation (Zhang et al., "Learning Spread-out Local Feature Descriptors",
// 2017, section 3): texts that do not belong together should have cosines like random directions of
// the sphere, with mean 0 and second moment 1/D.
//
//   M1 = mean of cos(u_i, v_j), M2 = mean of cos(u_i, v_j)²     over i ≠ j
//   loss = M1² + relu(M2 - 1/D)
//
// A regulariser, to be added to a loss that brings pairs together. One pair gives 0.
// One number. Only the embeddings of both sides are looked at. Errors: as check_pair_input().
torch::Tensor global_orthogonal_loss(const LossInput& input);

}  // namespace simile
