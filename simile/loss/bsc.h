// SPDX-License-Identifier: Apache-2.0
// "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks", 2021, eq. 1-5.
//
// U, V: left and right embeddings, normalised apart; explicit negatives are further right texts,
// stacked under the right side before it is normalised. Scores S = U Vᵀ / τ, [m, m + n·m].
//
//   L0 = -(1/m) Σ_i 1[y_i > t] · log softmax_row(S)_ii        over all columns
//   L1 = -(1/m) Σ_i 1[y_i > t] · log softmax_column(S)_ii     over the m x m part
//   directions: left is L0, right is L1, both is (L0 + L1) / 2
//
// Pairs with y_i <= t are labelled negatives: no numerator, but a row and a column for the others.
// `divisor: positives` divides by their number (at least 1) instead of m.
//
// Duplicates (eq. 3, 4). Cell (i, j) holds the texts left i and right j. It is a known positive
// when left i and left j are the same text and y_j > t, or right i and right j are and y_i > t.
//   positives  the numerator of i is the mean of the log-softmax over all known positives of its
//              row (column), outside the logarithm
//   mask       known positives other than (i, i) are left out of the denominator
//   negatives  the plain loss: duplicates count as negatives
// `mask`, the default, knows no duplicates where no groups are given, and is then the plain loss.
//
// Classes. With `same_class: mask` cell (i, j) of two pairs of one class is left out of the
// denominator too, but for (i, i) and known positives under `positives`. Explicit negatives stay.
//
// `hard_negative_weight` α (Gao et al., SimCSE, 2021): in row i, exp of the scores of pair i's own
// explicit negatives counts α times; negatives of other pairs count once.
//
// mnrl and simcse are the same in the left direction alone.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct BscOptions {
  TemperatureOptions temperature;
  std::string normalize = "l2";
  std::string directions = "both";
  std::string divisor = "batch";
  double threshold = 0.5;
  std::string duplicates = "mask";
  std::string same_class = "negatives";
  double hard_negative_weight = 1.0;

  void visit(OptionVisitor& v);
};

// One number. `scale` is 1/τ as a tensor of one number; not defined, it is
// 1/options.temperature.value. Without a positive pair the loss is 0 with zero gradients. Errors:
// as check_pair_input(); kInput: duplicates: positives needs groups, same_class: mask classes.
torch::Tensor bsc_loss(const LossInput& input, const BscOptions& options,
                       const torch::Tensor& scale = {});

// The texts of the columns of S, [m + n·m, D]: right, then each explicit negative column.
torch::Tensor right_texts(const LossInput& input);

// Its two halves. S, [m, m + n·m]; `scale` and errors as above.
torch::Tensor bsc_scores(const LossInput& input, const BscOptions& options,
                         const torch::Tensor& scale = {});

// L of any S, such as the logits of all pairs of a batch; temperature and normalisation are not
// looked at, nor are the embeddings. Errors: as check_loss_input(); kInput for scores that are not
// [m, m + n·m] and for duplicates: positives without groups.
torch::Tensor bsc_loss_of_scores(const torch::Tensor& scores, const LossInput& input,
                                 const BscOptions& options);

// Multiple negatives ranking loss (Henderson et al., "Efficient Natural Language Response
// Suggestion for Smart Reply", 2017, section 4.4): bsc in the left direction alone, with scores
// s·cos(u_i, v_j), s·u_i·v_j or s times a head's number for the two texts (`similarity: head`,
// LossInput::cross_logits); explicit negatives of every row are further columns for all rows.
struct MnrlOptions {
  std::string similarity = "cosine";
  double scale = 0.0;
  double threshold = 0.5;
  std::string duplicates = "mask";
  std::string same_class = "negatives";

  void visit(OptionVisitor& v);
};

// One number. Rows with y_i <= threshold give no numerator. Errors: as bsc_loss(); with a
// head as bsc_loss_of_scores().
torch::Tensor mnrl_loss(const LossInput& input, const MnrlOptions& options);

// SimCSE (Gao et al., "SimCSE: Simple Contrastive Learning of Sentence Embeddings", 2021, eq. 1 and
// 5): bsc in the left direction alone at temperature 0.05.
//
// Unsupervised, both sides of a pair are the same text: encoded twice in one batch, under different
// dropout masks, it is its own positive. Supervised, the right side is an entailed text and the
// negative column a contradicting one; `hard_negative_weight` is the paper's α. Texts that several
// pairs share are treated as `duplicates` says; a pair's own two sides are never masked.
struct SimcseOptions {
  SimcseOptions() {
    bsc.temperature.value = 0.05;
    bsc.directions = "left";
  }

  BscOptions bsc;  // the loss itself: bsc_loss()

  void visit(OptionVisitor& v) { bsc.visit(v); }
};

}  // namespace simile
