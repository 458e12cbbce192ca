// SPDX-License-Identifier: Apache-2.0
// Losses on what a head gives: its number for each pair or text, or its logits of classes.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// Binary cross-entropy of a head's logit with the target, as for re-ranking (Nogueira and Cho,
// "Passage Re-ranking with BERT", 2019, eq. 1):
//
//   (1/m) Σ_i [ -w · y_i · log σ(z_i) - (1 - y_i) · log σ(-z_i) ]
//
// y in [0, 1], also between its ends; w: `positive_weight`. Computed without overflow.
struct BceOptions {
  double positive_weight = 1.0;

  void visit(OptionVisitor& v) {
    v.field("positive_weight", positive_weight,
            {"how many times positives count; negatives per positive evens out the two", "", 0.0});
  }
};

// One number, of single texts or pairs. Only logits and targets are looked at. Errors: as
// check_loss_input(); kInput without logits [m, 1].
torch::Tensor bce_loss(const LossInput& input, const BceOptions& options);

// Cross-entropy of a head's k logits with the class of each text or pair (Reimers and Gurevych,
// "Sentence-BERT", 2019, section 3, classification objective, where the head sees u, v and
// |u - v|):
//
//   (1/m) Σ_i [ -(1 - ε) · log softmax(z_i)_{c_i} - (ε/k) · Σ_j log softmax(z_i)_j ]
//
// ε: `label_smoothing` (Szegedy et al., "Rethinking the Inception Architecture", 2016, section 7).
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

}  // namespace simile
