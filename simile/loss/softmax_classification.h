// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of a head's k logits with the class of each text or pair (Reimers and Gurevych,
// "Sentence-BERT", 2019, section 3, classification objective, where the head sees u, v and
// |u - v|):
//
//   (1/m) Σ_i [ -(1 - ε) · log softmax(z_i)_{c_i} - (ε/k) · Σ_j log softmax(z_i)_j ]
//
// ε: `label_smoothing` (Szegedy et al., "Rethinking the Inception Architecture", 2016, section 7).
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct SoftmaxClassificationOptions {
  double label_smoothing = 0.0;

  void visit(OptionVisitor& v) {
    v.field("label_smoothing", label_smoothing,
            {"share of the target spread evenly over all classes", "", 0.0, 1.0});
  }
};

// One number, of single texts or pairs. Only logits and classes are looked at. Errors: as
// check_loss_input(); kInput without logits [m, k] or classes [m], for a class outside 0..k-1.
torch::Tensor softmax_classification_loss(const LossInput& input,
                                          const SoftmaxClassificationOptions& options);

LossRow softmax_classification_row();  // its row in loss_table.h

}  // namespace simile
