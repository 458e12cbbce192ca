// SPDX-License-Identifier: Apache-2.0
// Which point a search tries next: a pure function of what was found so far, so that a search that
// was killed goes on with the same points.
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

#include "simile/experiment/search_space.h"
#include "simile/experiment/surrogate.h"

namespace simile {

struct ProposalOptions {
  std::string method = "gp";
  int64_t initial = 15;  // points of the Latin hypercube
  uint64_t seed = 1;
};

const std::vector<std::string>& search_methods();

// Point `number`, from 0. `done` are points with their costs, `pending` such that are being tried;
// what is among them is not proposed again. None: all points that there are were proposed, or so
// it seems after 1,000 draws.
std::optional<SearchPoint> propose(const SearchSpace& space, const ProposalOptions& options,
                                   int64_t number, const std::vector<Observation>& done,
                                   const std::vector<SearchPoint>& pending);

}  // namespace simile
