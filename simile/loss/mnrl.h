// SPDX-License-Identifier: Apache-2.0
// Multiple negatives ranking loss (Henderson et al., "Efficient Natural Language Response
// Suggestion for Smart Reply", 2017, section 4.4): bsc in the left direction alone, with scores
// s·cos(u_i, v_j), s·u_i·v_j or s times a head's number for the two texts (`similarity: head`,
// LossInput::cross_logits); explicit negatives of every row are further columns for all rows.
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/bsc.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

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

LossRow mnrl_row();  // its row in loss_table.h

}  // namespace simile
