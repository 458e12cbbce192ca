// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/effects.h"

#include <algorithm>
#include <cmath>

#include "simile/core/random.h"

namespace simile {
namespace {

constexpr int kEffectSamples = 256, kEffectPlaces = 25;

double variance_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size());
}

}  // namespace

std::vector<SettingEffect> measure_effects(const SearchSpace& space, const Surrogate& surrogate,
                                           uint64_t seed) {
  RandomStream stream(seed, "tune effects");
  std::vector<std::vector<double>> samples(kEffectSamples, std::vector<double>(space.size()));
  std::vector<double> all;
  for (auto& sample : samples) {
    for (double& value : sample) value = stream.uniform();
    all.push_back(surrogate.predict(space.decode(sample)).mean);
  }
  const double total = variance_of(all);
  std::vector<SettingEffect> effects(space.size());
  for (size_t s = 0; s < space.size(); ++s) {
    const SearchSetting& setting = space.settings()[s];
    SettingEffect& effect = effects[s];
    effect.length_scale = surrogate.length_scales()[s];
    const bool is_choice = setting.kind == SearchSetting::Kind::kChoice;
    const int places = is_choice ? static_cast<int>(setting.choices) : kEffectPlaces;
    for (int place = 0; place < places; ++place) {
      double mean = 0, deviation = 0, count = 0, value = 0;
      for (std::vector<double> sample : samples) {
        sample[s] = (place + 0.5) / places;
        const SearchPoint point = space.decode(sample);
        if (!point[s]) continue;
        const GpPrediction predicted = surrogate.predict(point);
        mean += predicted.mean;
        deviation += std::sqrt(predicted.variance);
        value = *point[s];
        ++count;
      }
      if (count == 0 || (!effect.values.empty() && effect.values.back() == value)) continue;
      effect.values.push_back(value);
      effect.means.push_back(mean / count);
      effect.deviations.push_back(deviation / count);
    }
    if (total > 0 && !effect.means.empty()) effect.share = variance_of(effect.means) / total;
  }
  return effects;
}

}  // namespace simile
