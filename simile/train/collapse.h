// SPDX-License-Identifier: Apache-2.0
// Whether training made all texts alike, which a loss may reward.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/train/objective.h"

namespace simile {

// Token ids of up to 200 different texts, spread over the first set of single texts that is
// trained on; none where all are joint sequences. `data`: [stages][objectives].
std::vector<std::vector<int32_t>> sample_texts(const std::vector<std::vector<ObjectiveData>>& data);

// The mean cosine of all pairs of rows; 0 for fewer than two.
double mean_cosine(const Matrix<float>& vectors);

// What to say of the vectors of sample_texts() under trained weights: a warning where their mean
// cosine is above 0.99, otherwise an empty text.
std::string describe_collapse(const Matrix<float>& vectors);

}  // namespace simile
