// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "simile/core/random.h"

namespace simile {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274;
constexpr double kWorstOverBest = 5;

// Finite, and without extremes that would flatten all else.
std::vector<double> tame_costs(const std::vector<Observation>& observations) {
  std::vector<double> finite, costs;
  for (const Observation& one : observations) {
    if (std::isfinite(one.cost)) finite.push_back(one.cost);
  }
  if (finite.empty()) return std::vector<double>(observations.size(), 0.0);
  const double best = *std::min_element(finite.begin(), finite.end());
  const double worst = *std::max_element(finite.begin(), finite.end());
  const auto middle = finite.begin() + finite.size() / 2;
  std::nth_element(finite.begin(), middle, finite.end());
  const double median = *middle;
  const double bound =
      median > best ? std::min(worst, median + kWorstOverBest * (median - best)) : worst;
  for (const Observation& one : observations) {
    costs.push_back(std::isfinite(one.cost) ? std::min(one.cost, bound) : bound);
  }
  return costs;
}

// The costs scaled to mean 0 and variance 1.
GpData scaled_data(const SearchSpace& space, const std::vector<Observation>& observations,
                   double& mean, double& scale) {
  GpData data;
  data.groups = space.feature_settings();
  data.x = Matrix<double>(0, static_cast<int64_t>(data.groups.size()));
  for (const Observation& one : observations) {
    const std::vector<double> features = space.features(one.point);
    data.x.values.insert(data.x.values.end(), features.begin(), features.end());
    ++data.x.rows;
  }
  data.y = tame_costs(observations);
  const auto count = static_cast<double>(data.y.size());
  mean = 0;
  for (const double value : data.y) mean += value / count;
  double squares = 0;
  for (const double value : data.y) squares += (value - mean) * (value - mean) / count;
  scale = squares > 0 ? std::sqrt(squares) : 1.0;
  for (double& value : data.y) value = (value - mean) / scale;
  return data;
}

GaussianProcess fit_process(const SearchSpace& space, GpData data,
                            const std::vector<SearchPoint>& believed, uint64_t seed) {
  GpSettings settings = fit_gp_settings(data, seed);
  if (believed.empty()) return {std::move(data), std::move(settings)};
  const GaussianProcess measured(data, settings);
  for (const SearchPoint& point : believed) {
    const std::vector<double> features = space.features(point);
    data.x.values.insert(data.x.values.end(), features.begin(), features.end());
    ++data.x.rows;
    data.y.push_back(measured.predict(features).mean);
  }
  return {std::move(data), std::move(settings)};
}

constexpr int kRandomCandidates = 1000, kNearCandidates = 100, kRefined = 5, kNearest = 5;
constexpr int kMaxDraws = 1000;
constexpr double kFirstStep = 0.1, kLastStep = 1e-3, kNearDeviation = 0.05;

std::vector<double> draw_unit(size_t size, RandomStream& stream) {
  std::vector<double> unit(size);
  for (double& value : unit) value = stream.uniform();
  return unit;
}

// Row `number` of a Latin hypercube: in each coordinate each of `count` equal parts has one row.
std::vector<double> hypercube_row(size_t size, int64_t count, int64_t number, uint64_t seed) {
  std::vector<double> unit(size);
  for (size_t i = 0; i < size; ++i) {
    RandomStream stream(seed, "tune hypercube", i);
    std::vector<int64_t> parts(count);
    std::iota(parts.begin(), parts.end(), 0);
    shuffle(parts, stream);
    double within = 0;
    for (int64_t row = 0; row <= number; ++row) within = stream.uniform();
    unit[i] = (static_cast<double>(parts[number]) + within) / static_cast<double>(count);
  }
  return unit;
}

class Proposer {
 public:
  Proposer(const SearchSpace& space, const ProposalOptions& options, int64_t number,
           const std::vector<Observation>& done, const std::vector<SearchPoint>& pending)
      : space_(space),
        options_(options),
        done_(done),
        pending_(pending),
        stream_(options.seed, "tune proposal", static_cast<uint64_t>(number)) {}

  std::optional<SearchPoint> from_grid() const {
    for (const SearchPoint& point : space_.grid()) {
      if (!is_taken(point)) return point;
    }
    return std::nullopt;
  }

  std::optional<SearchPoint> from_hypercube(int64_t count, int64_t number) {
    const SearchPoint point =
        space_.decode(hypercube_row(space_.size(), count, number, options_.seed));
    return is_taken(point) ? at_random() : std::optional(point);
  }

  std::optional<SearchPoint> at_random() {
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      const SearchPoint point = space_.decode(draw_unit(space_.size(), stream_));
      if (!is_taken(point)) return point;
    }
    return std::nullopt;
  }

  std::optional<SearchPoint> from_surrogate() {
    const Surrogate surrogate(space_, done_, pending_, options_.seed);
    const auto gain = [&](const std::vector<double>& unit) {
      const SearchPoint point = space_.decode(unit);
      if (is_taken(point)) return -std::numeric_limits<double>::infinity();
      const GpPrediction predicted = surrogate.predict(point);
      return log_expected_improvement(surrogate.lowest_mean(), predicted.mean,
                                      std::sqrt(predicted.variance));
    };
    std::vector<Candidate> candidates;
    for (std::vector<double>& unit : draw_candidates()) {
      candidates.push_back({gain(unit), std::move(unit)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    candidates.resize(std::min<size_t>(candidates.size(), kRefined));
    for (Candidate& candidate : candidates) refine(gain, candidate);
    const auto best =
        std::max_element(candidates.begin(), candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.gain < b.gain; });
    if (std::isinf(best->gain)) return at_random();
    return space_.decode(best->unit);
  }

 private:
  struct Candidate {
    double gain = 0;
    std::vector<double> unit;
  };

  bool is_taken(const SearchPoint& point) const {
    return std::any_of(done_.begin(), done_.end(),
                       [&](const Observation& one) { return one.point == point; }) ||
           std::count(pending_.begin(), pending_.end(), point) > 0;
  }

  std::vector<std::vector<double>> draw_candidates() {
    std::vector<std::vector<double>> all;
    for (int i = 0; i < kRandomCandidates; ++i) all.push_back(draw_unit(space_.size(), stream_));
    std::vector<const Observation*> best;
    for (const Observation& one : done_) best.push_back(&one);
    std::stable_sort(best.begin(), best.end(), [](const Observation* a, const Observation* b) {
      return !std::isnan(a->cost) && (std::isnan(b->cost) || a->cost < b->cost);
    });
    best.resize(std::min<size_t>(best.size(), kNearest));
    for (int i = 0; i < kNearCandidates; ++i) {
      std::vector<double> unit = space_.encode(best[static_cast<size_t>(i) % best.size()]->point);
      for (double& value : unit) {
        value = std::clamp(value + kNearDeviation * stream_.normal(), 0.0, 1.0);
      }
      all.push_back(std::move(unit));
    }
    return all;
  }

  template <typename Gain>
  bool try_value(const Gain& gain, Candidate& candidate, size_t setting, double value) const {
    Candidate moved = candidate;
    moved.unit[setting] = std::clamp(value, 0.0, 1.0);
    moved.gain = gain(moved.unit);
    if (moved.gain <= candidate.gain) return false;
    candidate = std::move(moved);
    return true;
  }

  template <typename Gain>
  void refine(const Gain& gain, Candidate& candidate) const {
    for (double step = kFirstStep; step >= kLastStep;) {
      bool has_moved = false;
      for (size_t i = 0; i < space_.size(); ++i) {
        const SearchSetting& setting = space_.settings()[i];
        if (setting.kind != SearchSetting::Kind::kChoice) {
          const double at = candidate.unit[i];
          has_moved |=
              try_value(gain, candidate, i, at + step) || try_value(gain, candidate, i, at - step);
          continue;
        }
        const auto count = static_cast<double>(setting.choices);
        for (size_t choice = 0; choice < setting.choices; ++choice) {
          has_moved |= try_value(gain, candidate, i, (static_cast<double>(choice) + 0.5) / count);
        }
      }
      if (!has_moved) step /= 2;
    }
  }

  const SearchSpace& space_;
  const ProposalOptions& options_;
  const std::vector<Observation>& done_;
  const std::vector<SearchPoint>& pending_;
  RandomStream stream_;
};

constexpr int kEffectSamples = 256, kEffectPlaces = 25;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size());
}

}  // namespace

Surrogate::Surrogate(const SearchSpace& space, const std::vector<Observation>& observations,
                     const std::vector<SearchPoint>& believed, uint64_t seed)
    : space_(space),
      process_(
          fit_process(space, scaled_data(space, observations, mean_, scale_), believed, seed)) {
  lowest_mean_ = std::numeric_limits<double>::infinity();
  for (const Observation& one : observations) {
    lowest_mean_ = std::min(lowest_mean_, predict(one.point).mean);
  }
}

GpPrediction Surrogate::predict(const SearchPoint& point) const {
  const GpPrediction scaled = process_.predict(space_.features(point));
  return {mean_ + scale_ * scaled.mean, scale_ * scale_ * scaled.variance};
}

double Surrogate::noise() const { return scale_ * std::sqrt(process_.settings().noise); }

double log_expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) {
    return best > mean ? std::log(best - mean) : -std::numeric_limits<double>::infinity();
  }
  const double z = (best - mean) / deviation;
  const double log_density = -z * z / 2 - kLogRootTwoPi;
  if (z < -30) return std::log(deviation) + log_density - 2 * std::log(-z);  // its limit
  const double tail = std::erfc(-z / std::sqrt(2.0)) / 2;
  return std::log(deviation) + std::log(std::exp(log_density) + z * tail);
}

const std::vector<std::string>& search_methods() {
  static const std::vector<std::string> names = {"gp", "random", "grid", "halving"};
  return names;
}

std::optional<SearchPoint> propose(const SearchSpace& space, const ProposalOptions& options,
                                   int64_t number, const std::vector<Observation>& done,
                                   const std::vector<SearchPoint>& pending) {
  Proposer proposer(space, options, number, done, pending);
  if (options.method == "grid") return proposer.from_grid();
  if (options.method == "random") return proposer.at_random();
  if (number < options.initial) return proposer.from_hypercube(options.initial, number);
  if (options.method == "halving" || done.empty()) return proposer.at_random();
  return proposer.from_surrogate();
}

std::vector<SettingEffect> measure_effects(const SearchSpace& space, const Surrogate& surrogate,
                                           uint64_t seed) {
  RandomStream stream(seed, "tune effects");
  std::vector<std::vector<double>> samples(kEffectSamples, std::vector<double>(space.size()));
  for (auto& sample : samples) {
    for (double& value : sample) value = stream.uniform();
  }
  const double level = surrogate.predict(space.decode(samples[0])).mean;  // keeps rounding small
  std::vector<SettingEffect> effects(space.size());
  for (size_t s = 0; s < space.size(); ++s) {
    const SearchSetting& setting = space.settings()[s];
    SettingEffect& effect = effects[s];
    effect.length_scale = surrogate.length_scales()[s];
    const bool is_choice = setting.kind == SearchSetting::Kind::kChoice;
    const int places = is_choice ? static_cast<int>(setting.choices) : kEffectPlaces;
    std::vector<double> at_places, spreads;  // of all samples, with the setting at each place
    for (int place = 0; place < places; ++place) {
      std::vector<double> all;
      double mean = 0, deviation = 0, count = 0, value = 0;
      for (std::vector<double> sample : samples) {
        sample[s] = (place + 0.5) / places;
        const SearchPoint point = space.decode(sample);
        const GpPrediction predicted = surrogate.predict(point);
        all.push_back(predicted.mean - level);
        if (!point[s]) continue;
        mean += predicted.mean;
        deviation += std::sqrt(predicted.variance);
        value = *point[s];
        ++count;
      }
      at_places.push_back(mean_of(all));
      spreads.push_back(variance_of(all));
      if (count == 0 || (!effect.values.empty() && effect.values.back() == value)) continue;
      effect.values.push_back(value);
      effect.means.push_back(mean / count);
      effect.deviations.push_back(deviation / count);
    }
    const double by_setting = variance_of(at_places), total = by_setting + mean_of(spreads);
    if (total > 0) effect.share = by_setting / total;
  }
  return effects;
}

}  // namespace simile
