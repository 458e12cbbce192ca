// SPDX-License-Identifier: Apache-2.0
// How scores as annotators give them (0 to 5, 1 to 5, -1 to 1) are brought to 0 .. 1.
#pragma once

#include <string>

namespace simile {

// (score - offset) / scale
struct ScoreMapping {
  double offset = 0;
  double scale = 1;
};

// The mapping that brings the range of an annotation scale to [0, 1], guessed from the lowest and
// highest score found: the scale ends at the highest if that is a whole number up to 10, otherwise
// at the next of 1, 4, 5, 10, 100 and so on; it begins at 0, at 1 if no score is lower and it ends
// above 1, and below zero at the mirror of such an end.
ScoreMapping guess_score_mapping(double minimum, double maximum);

// "set data.score_scale: 5", "set data.score_offset: 1 and data.score_scale: 4".
std::string describe_score_mapping(const ScoreMapping& mapping);

}  // namespace simile
