// SPDX-License-Identifier: Apache-2.0
#include "simile/data/score_range.h"

#include <fmt/format.h>

#include <cmath>

namespace simile {
namespace {

// A score that was divided and multiplied again may be off by a rounding.
double tidy(double score) {
  const double whole = std::round(score);
  return std::abs(score - whole) < 1e-6 ? whole : score;
}

double scale_end(double highest) {
  if (highest <= 1) return 1;
  if (highest <= 10 && highest == std::round(highest)) return highest;
  if (highest <= 4) return 4;
  if (highest <= 5) return 5;
  double end = 10;
  while (end < highest) end *= 10;
  return end;
}

}  // namespace

ScoreMapping guess_score_mapping(double minimum, double maximum) {
  const double low = tidy(minimum), high = tidy(maximum);
  double begin = 0, end = scale_end(high);
  if (low >= 1 && end > 1) begin = 1;
  if (low < 0) {
    begin = -scale_end(-low);
    if (high <= 0) end = 0;
  }
  return {begin, end - begin};
}

std::string describe_score_mapping(const ScoreMapping& mapping) {
  if (mapping.offset == 0) return fmt::format("set data.score_scale: {:g}", mapping.scale);
  return fmt::format("set data.score_offset: {:g} and data.score_scale: {:g}", mapping.offset,
                     mapping.scale);
}

}  // namespace simile
