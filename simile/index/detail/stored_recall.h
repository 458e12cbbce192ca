// SPDX-License-Identifier: Apache-2.0
// What is lost by keeping less of a vector than floats.
#pragma once

#include <optional>

#include "simile/index/detail/segment_set.h"

namespace simile::detail {

// The mean share of the ten nearest vectors that a search of `stored` finds for up to 1,000 vectors
// of its own, at even distances, each in fp32 and without itself, rounded down to four digits.
// `floats` has the same vectors under the same keys in fp32. None for fewer than two vectors.
std::optional<double> measure_stored_recall(const SegmentSet& stored, const SegmentSet& floats,
                                            const IndexedModel& model);

}  // namespace simile::detail
