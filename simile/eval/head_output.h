// SPDX-License-Identifier: Apache-2.0
// What a model's head says about n texts or pairs of texts, and how tasks read it. Logits z [n, k]:
//
//   kind         k   class probabilities        score of a pair
//   classes      k   softmax(z)                 probability of the class at place 1; only for k = 2
//   probability  1   1 - sigmoid(z), sigmoid(z) sigmoid(z)
//   score        1   none                       z
//
// Errors: ErrorKind::kRecipe for a head that does not give what is asked for; ErrorKind::kFailed
// for logits of another shape than above or that are not finite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct HeadOutput {
  std::string kind;
  std::vector<std::string>
      class_names;       // of `classes`: k; of `probability`: 2, or none for 0 and 1
  Matrix<float> logits;  // [n, k]
};

// The classes that class_probabilities() has columns for.
std::vector<std::string> head_classes(const HeadOutput& output);

// [examples, classes]; rows sum to 1.
Matrix<double> class_probabilities(const HeadOutput& output, int64_t examples);

// [examples]
std::vector<double> head_scores(const HeadOutput& output, int64_t examples);

}  // namespace simile
