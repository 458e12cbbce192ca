// SPDX-License-Identifier: Apache-2.0
#include "simile/train/recent_losses.h"

#include <algorithm>

namespace simile {

void RecentLosses::add(const std::string& objective, double loss) {
  constexpr double kDecay = 0.95;
  auto mean = std::find_if(losses_.begin(), losses_.end(), [&objective](const Mean& other) {
    return other.objective == objective;
  });
  if (mean == losses_.end()) mean = losses_.insert(mean, Mean{objective});
  mean->sum = kDecay * mean->sum + loss;
  mean->weight = kDecay * mean->weight + 1;
}

std::vector<std::pair<std::string, double>> RecentLosses::values() const {
  std::vector<std::pair<std::string, double>> values;
  for (const Mean& mean : losses_) {
    values.emplace_back(mean.objective.empty() ? "loss" : "loss (" + mean.objective + ")",
                        mean.sum / mean.weight);
  }
  return values;
}

}  // namespace simile
