// SPDX-License-Identifier: Apache-2.0
// Whether training made all texts alike, which a loss may reward.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/loss/triplet.h"
#include "simile/train/objective.h"

namespace simile {

// Token ids of up to 200 different texts, spread over the first set of single texts that is
// trained on; none where all are joint sequences. `data`: [stages][objectives].
std::vector<std::vector<int32_t>> sample_texts(const std::vector<std::vector<ObjectiveData>>& data);

// What to say of the vectors of sample_texts() under trained weights: a warning where their mean
// cosine is above 0.99, otherwise an empty text.
std::string describe_collapse(const Matrix<float>& vectors);

// The same of a stage that a triplet loss trained, from its recent mean `loss` and the vectors, not
// normalised, of sample_texts() under its last weights: a warning where the loss stands at its
// margin (within 15 %), as it does when an anchor's positive is as far as its negative, because the
// distances of the loss's kind are near 0 (20 % of the margin on average, or less). At other
// distances the same loss is one that may still fall.
std::string describe_margin(const std::string& stage, const TripletOptions& options, double loss,
                            const Matrix<float>& vectors);

}  // namespace simile
