// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

constexpr int kRandomCandidates = 1000, kNearCandidates = 100, kRefined = 5, kNearest = 5;
constexpr int kMostDraws = 1000;
constexpr double kFirstStep = 0.1, kLastStep = 1e-3, kNearDeviation = 0.05;

std::vector<double> draw_unit(size_t size, RandomStream& stream) {
  std::vector<double> unit(size);
  for (double& value : unit) value = stream.uniform();
  return unit;
}

// Row `number` of a Latin hypercube of `count` rows: in each coordinate every one of `count` equal
// parts has one row.
std::vector<double> hypercube_row(size_t size, int64_t count, int64_t number, uint64_t seed) {
  std::vector<double> unit(size);
  for (size_t i = 0; i < size; ++i) {
    RandomStream stream(seed, "tune hypercube", i);
    std::vector<int64_t> parts(static_cast<size_t>(count));
    std::iota(parts.begin(), parts.end(), 0);
    shuffle(parts, stream);
    double within = 0;
    for (int64_t row = 0; row <= number; ++row) within = stream.uniform();
    unit[i] = (static_cast<double>(parts[static_cast<size_t>(number)]) + within) /
              static_cast<double>(count);
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
    for (int draw = 0; draw < kMostDraws; ++draw) {
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

}  // namespace

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

}  // namespace simile
