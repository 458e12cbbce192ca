// SPDX-License-Identifier: Apache-2.0
// Whether an index has a graph of its vectors, by which a search looks at few of them
// (docs/decisions/0019-approximate-index.md). An index keeps the options in search.json; building
// and merging go by them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

inline const std::vector<std::string> kApproximate = {"auto", "never", "always"};
constexpr int64_t kApproximateRows = 50000;  // documents from which on auto makes a graph
constexpr double kLeastRecall = 0.5, kMostRecall = 0.999;

struct ApproximateOptions {
  std::string approximate = "auto";
  double recall = 0.95;

  void visit(OptionVisitor& v) {
    v.field("approximate", approximate,
            choice_info("a graph for searches by vectors alone: auto from 50,000 vectors on, and "
                        "only if it reaches the recall; never; always",
                        kApproximate));
    OptionInfo info{
        "share of the ten nearest documents that a search by the graph should find, as "
        "measured with vectors of the index's own"};
    info.minimum = kLeastRecall;
    info.maximum = kMostRecall;
    v.field("recall", recall, info);
  }
};

}  // namespace simile
