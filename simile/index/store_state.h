// SPDX-License-Identifier: Apache-2.0
// The segments and the graph of an index, as document_store.h stores them, and a change of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/index/segment_file.h"

namespace simile {

// The graph of an index (docs/decisions/0019-approximate-index.md).
struct GraphRow {
  int64_t number = 0;    // of its file
  int64_t segments = 0;  // the graph holds the vectors of so many segments, from the first on
  int64_t rows = 0;
  int64_t breadth = 0;  // of a search for ten documents
  int64_t found = 0;    // of the 10,000 nearest that such searches should have found
  std::string checksum = {};
  // The breadth of a search by both for ten documents; 0: its vectors are scanned.
  int64_t fused_breadth = 0;
  int64_t agreed = 0;  // of 10,000 hits of such searches as many are those without the graph
};

// The committed state of an index.
struct StoreState {
  int64_t generation = 0;  // changes so far
  int64_t next_key = 1;
  int64_t next_segment = 1;
  int64_t documents = 0;
  int64_t removed_rows = 0;          // number of keys in the table `removed`
  uint64_t removed_sum = 0;          // of hash64() of each of them, modulo 2^64
  uint64_t changed_sum = 0;          // of the hashes of metadata that were changed, modulo 2^64
  int64_t metadata_generation = 0;   // the last one that changed metadata alone
  std::vector<SegmentRow> segments;  // by their keys
  std::optional<GraphRow> graph = {};

  int64_t vectors() const;  // whose document is there
};

struct StoreSnapshot {
  StoreState state;
  std::vector<int64_t> removed;  // rising
};

// The `keys`, which rise, that are within the segment.
std::vector<int64_t> keys_within(const SegmentRow& segment, const std::vector<int64_t>& keys);

// The changes to the segments in one commit.
struct SegmentChange {
  std::vector<SegmentRow> dropped;  // with their removed keys
  std::vector<SegmentRow> written;
  bool drops_graph = false;            // the graph is dropped with any of its segments in any case
  std::optional<GraphRow> graph = {};  // a new one
  int64_t reserved = 0;                // numbers after those written that no later change may use

  bool may_lose_graph() const { return drops_graph || graph || !dropped.empty(); }
};

}  // namespace simile

// The tables segments, removed, graph and state of a document store. Call these within a
// transaction. Errors (kInput): the tables are not what was written.
namespace simile::detail {

class Database;

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
