// SPDX-License-Identifier: Apache-2.0
// When an index gets a graph, and how far a search by it has to look.
#pragma once

#include <optional>
#include <string>

#include "simile/index/approximate_options.h"
#include "simile/index/detail/segment_set.h"
#include "simile/neighbours/detail/graph.h"

namespace simile::detail {

// Whether an index of these segments and removed rows is to get a graph, in place of the one that
// it may have, which `state` does not name where it goes. A graph stays while fewer than 50,000
// vectors were added and less than a quarter of its own removed.
bool needs_graph(const StoreState& state, const ApproximateOptions& options);

// Builds the graph `number` of all segments of the snapshot and measures with vectors of its own
// how far a search must look to find the share that the options ask for, with a likelihood of 97 %.
// If none reaches it, nothing is kept but under "always".
std::optional<GraphRow> make_graph(const std::string& folder, const IndexedModel& model,
                                   const StoreSnapshot& snapshot, const Segments& segments,
                                   int64_t number, const ApproximateOptions& options,
                                   const GraphProgress& progress);

}  // namespace simile::detail
