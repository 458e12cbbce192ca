// SPDX-License-Identifier: Apache-2.0
// Softmax over a batch in the left direction alone: bsc.h under two other names.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/bsc.h"
#include "simile/loss/loss_input.h"

namespace simile {

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

// The bsc options that compute the same numbers; with a head, of the scores it gives.
BscOptions bsc_options(const MnrlOptions& options);

// The scores of every left with every right, [m, m + n·m]. Errors: as mnrl_loss().
torch::Tensor mnrl_scores(const LossInput& input, const MnrlOptions& options);

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
