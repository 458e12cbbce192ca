// SPDX-License-Identifier: Apache-2.0
// The tables segments, removed and state of a document store, within a transaction of the caller.
// Errors (kInput): what they hold is not what was written.
#pragma once

#include <vector>

#include "simile/index/detail/sqlite.h"
#include "simile/index/store_state.h"

namespace simile::detail {

// `with_passages`: the documents are counted.
void create_state(const Database& database, bool with_passages);

// Verified by the checksum, but for the table of removed keys, which is not read.
StoreState read_state(const Database& database, bool with_passages);
// All of them, rising, verified.
std::vector<int64_t> read_removed(const Database& database, const StoreState& state);
std::vector<int64_t> read_removed_within(const Database& database, const SegmentRow& segment);

// These change the tables and `state`; write_state() makes it count.
void add_removed(const Database& database, const std::vector<VectorKey>& vectors,
                 StoreState& state);
void change_segments(const Database& database, const SegmentChange& change, StoreState& state);
void write_state(const Database& database, const StoreState& state);

}  // namespace simile::detail
