// SPDX-License-Identifier: Apache-2.0
// Proposes a search's next point: a pure function of the results so far, so that a killed search
// continues with the same points.
//
//   gp       `initial` points of a Latin hypercube, then the point of the highest expected
//            improvement over the lowest mean that the surrogate has at points tried: of 1,000
//            random ones and 100 near the best, the best five are moved setting by setting until
//            nothing is gained
//   random   uniform in unit coordinates
//   grid     the points of SearchSpace::grid(), in its order
//   halving  the Latin hypercube of all trials
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/experiment/gaussian_process.h"
#include "simile/experiment/search_space.h"

namespace simile {

struct Observation {
  SearchPoint point;
  double cost = 0;  // lower is better; not finite: it failed, and counts as the worst of the others
};

// A search's prediction for untried points: a Gaussian process over the features of a search space,
// of costs scaled to mean 0 and variance 1.
class Surrogate {
 public:
  // `space` outlives this; one observation at least. Costs further above the median than 5 times
  // the distance of the best below it are clipped there: how bad they are does not matter. Settings
  // are fitted (fit_gp_settings()) and then `believed` points are taken as measured at their own
  // mean, so that the next ones stay away from them (the kriging believer; Ginsbourger et al.
  // 2010).
  Surrogate(const SearchSpace& space, const std::vector<Observation>& observations,
            const std::vector<SearchPoint>& believed, uint64_t seed);

  GpPrediction predict(const SearchPoint& point) const;  // in the unit of costs
  const std::vector<double>& length_scales() const { return process_.settings().length_scales; }
  double noise() const;                                // standard deviation, in the unit of costs
  double lowest_mean() const { return lowest_mean_; }  // at the points observed

 private:
  const SearchSpace& space_;
  double mean_ = 0, scale_ = 1;
  GaussianProcess process_;
  double lowest_mean_ = 0;
};

// log E[max(best - f, 0)] for f of N(mean, deviation^2), also where that is too small for a double
// (Jones et al. 1998; Ament et al., NeurIPS 2023, on its logarithm).
double log_expected_improvement(double best, double mean, double deviation);

struct ProposalOptions {
  std::string method = "gp";
  int64_t initial = 15;  // points of the Latin hypercube
  uint64_t seed = 1;
};

const std::vector<std::string>& search_methods();

// Point `number`, from 0. `done` are points with their costs, `pending` such that are being tried;
// these are not proposed again. None: all were proposed, or so it seems after 1,000 draws.
std::optional<SearchPoint> propose(const SearchSpace& space, const ProposalOptions& options,
                                   int64_t number, const std::vector<Observation>& done,
                                   const std::vector<SearchPoint>& pending);

// Over one setting: the mean of the surrogate's means at 256 random points of the rest, with this
// setting in each of them (partial dependence), and the mean of its standard deviations.
struct SettingEffect {
  std::vector<double> values;  // of the setting; of choices their places
  std::vector<double> means, deviations;
  // The part of the variance of the surrogate's mean over the space that the setting alone makes
  // (the first-order Sobol index of the surrogate): 1 where nothing else matters. At points without
  // the setting it has no effect.
  double share = 0;
  double length_scale = 0;  // in features, see search_space.h
};

// One for each setting of the space.
std::vector<SettingEffect> measure_effects(const SearchSpace& space, const Surrogate& surrogate,
                                           uint64_t seed);

}  // namespace simile
