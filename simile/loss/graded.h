// SPDX-License-Identifier: Apache-2.0
// Losses on scores: they compare one score of each pair, a cosine or a head's number, with its
// target y; or a head's output with a target or class. Each is one number. Negatives and groups are
// not looked at. Errors, unless stated otherwise: as pair_scores().
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// Mean squared error of the score: (1/m) Σ_i (c_i - y_i)², y in [0, 1], c_i the cosine of u_i and
// v_i or a head's number (Reimers and Gurevych, "Sentence-BERT", 2019, section 3, regression).
torch::Tensor mse_loss(const LossInput& input);

// One minus Pearson's correlation of scores and targets over the batch ("Batch-Softmax
// Contrastive Loss for Pairwise Sentence Scoring Tasks", 2021, section 7):
//
//   1 - Σ_i (c_i - mean c) (y_i - mean y) / (|c - mean c| · |y - mean y|)
//
// c_i: the cosine of u_i and v_i or a head's number; y_i on any scale. From 0 to 2. If scores or
// targets are equal within rounding (so m = 1), the loss is 1 with zero gradients.
torch::Tensor pearson_loss(const LossInput& input);

// CoSENT (Su, "CoSENT: a sentence embedding scheme more effective than Sentence-BERT", 2022): pairs
// with a higher target should have a higher score, whatever the value.
//
//   log(1 + Σ_{i, j: y_i < y_j} exp(s · (c_i - c_j)))
//
// c_i: the cosine of u_i and v_i or a head's number; y on any scale. Computed without overflow. A
// batch without two different targets gives 0 with zero gradients.
struct CosentOptions {
  double scale = 20.0;

  void visit(OptionVisitor& v) {
    v.field("scale", scale, {"what differences of scores are multiplied by", "", 0.0});
  }
};

torch::Tensor cosent_loss(const LossInput& input, const CosentOptions& options);

// The same of any scores [m] and targets [m].
torch::Tensor ordered_pairs_loss(const torch::Tensor& scores, const torch::Tensor& targets,
                                 double scale);

// AnglE (Li and Li, "AnglE-optimized Text Embeddings", 2023, eq. 4-7, angle objective): CoSENT's
// loss with a score of the angle between the embeddings as complex vectors, which does not
// flatten near its ends as the cosine does.
//
//   u = [a; b], v = [c; d]: real and imaginary halves; an odd D is filled up with one zero
//   score = |Σ_k (a_k c_k + b_k d_k + b_k c_k - a_k d_k)| / (|u| · |v|)
//
// A zero embedding has score 0 with zero gradient.
struct AngleOptions : CosentOptions {};

// Errors: as check_pair_input().
torch::Tensor angle_loss(const LossInput& input, const AngleOptions& options);

// The score of matching rows of u and v, both [m, D]: [m].
torch::Tensor angle_scores(const torch::Tensor& u, const torch::Tensor& v);

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

// For texts or pairs; sees logits and targets. Errors: check_loss_input()'s; no logits [m, 1].
torch::Tensor bce_loss(const LossInput& input, const BceOptions& options);

// Cross-entropy of a head's k logits with the class of each text or pair (Reimers and Gurevych,
// "Sentence-BERT", 2019, section 3, classification: the head sees u, v and |u - v|):
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

// For single texts or pairs; only logits and classes are looked at. Errors: as check_loss_input();
// kInput without logits [m, k] or classes [m], for a class outside 0..k-1.
torch::Tensor softmax_classification_loss(const LossInput& input,
                                          const SoftmaxClassificationOptions& options);

}  // namespace simile
