// SPDX-License-Identifier: Apache-2.0
// What is lost by keeping less of a vector than floats.
#pragma once

#include <optional>

#include "simile/index/detail/segment_set.h"
#include "simile/index/detail/vector_log.h"

namespace simile::detail {

// Up to 1,000 vectors of the set, at even distances, each in floats as a query for the others: of
// the ten nearest by floats, which `log` has in the order of the segments' rows, the mean share
// that the set finds, rounded down to four digits. Nothing where there are fewer than two vectors.
std::optional<double> measure_stored_recall(const SegmentSet& set, const VectorLog& log,
                                            const IndexedModel& model);

}  // namespace simile::detail
