// SPDX-License-Identifier: Apache-2.0
// The documents of a segment beside its vectors.
#pragma once

#include <functional>
#include <optional>

#include "simile/index/detail/segment_set.h"
#include "simile/index/document_store.h"

namespace simile::detail {

// Calls take(i, document, passage) for each i of `live`, whose vector is that of the passage.
// Returns the key of the first document that is missing or not the one of its vector, if any.
using TakeLive = std::function<void(int64_t i, const Document& document, int64_t passage)>;
std::optional<int64_t> for_each_live(const DocumentStore& store, const LiveSegment& live,
                                     const TakeLive& take);

// The same for one i; whether it was taken.
bool take_live(const DocumentStore& store, const LiveSegment& live, int64_t i,
               const TakeLive& take);

}  // namespace simile::detail
