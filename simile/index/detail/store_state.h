// SPDX-License-Identifier: Apache-2.0
// The tables segments, removed, graph and state of a document store. Call these within a transaction.
// Errors (kInput): the tables are not what was written.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/index/detail/sqlite.h"
#include "simile/index/store_state.h"

namespace simile::detail {

void create_state(const Database& database, int64_t first_key);

// Verified, except for the table of removed keys, which is not read.
StoreState read_state(const Database& database);
// All removed keys, rising, verified.
std::vector<int64_t> read_removed(const Database& database, const StoreState& state);

// These change the tables and `state`; call write_state() last.
void add_removed(const Database& database, const std::vector<VectorKey>& vectors,
                 StoreState& state);
void change_segments(const Database& database, const SegmentChange& change, StoreState& state);
void write_state(const Database& database, const StoreState& state);

}  // namespace simile::detail
