// SPDX-License-Identifier: Apache-2.0
// SimCSE (Gao et al., "SimCSE: Simple Contrastive Learning of Sentence Embeddings", 2021, eq. 1 and
// 5): bsc in the left direction alone at temperature 0.05.
//
// Unsupervised, both sides of a pair are the same text: encoded twice in one batch, under different
// dropout masks, it is its own positive. Supervised, the right side is an entailed text and the
// negative column a contradicting one; `hard_negative_weight` is the paper's α. Texts that several
// pairs share are treated as `duplicates` says; a pair's own two sides are never masked.
#pragma once

#include "simile/loss/bsc.h"

namespace simile {

struct LossRow;

struct SimcseOptions {
  SimcseOptions() {
    bsc.temperature.value = 0.05;
    bsc.directions = "left";
  }

  BscOptions bsc;  // the loss itself: bsc_loss()

  void visit(OptionVisitor& v) { bsc.visit(v); }
};

LossRow simcse_row();  // its row in loss_table.h

}  // namespace simile
