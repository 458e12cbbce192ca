// SPDX-License-Identifier: Apache-2.0
// What a surrogate says of each setting by itself.
#pragma once

#include <optional>
#include <vector>

#include "simile/experiment/proposal.h"

namespace simile {

// Over one setting: the mean of the surrogate's means at 256 random points of the rest, with this
// setting in each of them (partial dependence), and the mean of its standard deviations.
struct SettingEffect {
  std::vector<double> values;  // of the setting; of choices their places
  std::vector<double> means, deviations;
  // The variance of `means` over the setting, part of that of the surrogate's mean over the space
  // (the first-order Sobol index of the surrogate): 1 where nothing else matters. What settings do
  // only together is in none of them.
  double share = 0;
  double length_scale = 0;  // in features, see search_space.h
};

// One for each setting of the space.
std::vector<SettingEffect> measure_effects(const SearchSpace& space, const Surrogate& surrogate,
                                           uint64_t seed);

}  // namespace simile
