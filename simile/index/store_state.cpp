// SPDX-License-Identifier: Apache-2.0
#include "simile/index/store_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/index/detail/sqlite.h"

namespace simile {

int64_t StoreState::vectors() const {
  int64_t rows = -removed_rows;
  for (const SegmentRow& segment : segments) rows += segment.rows;
  return rows;
}

std::vector<int64_t> keys_within(const SegmentRow& segment, const std::vector<int64_t>& keys) {
  return {std::lower_bound(keys.begin(), keys.end(), segment.first_key),
          std::upper_bound(keys.begin(), keys.end(), segment.last_key)};
}

namespace detail {
namespace {

constexpr const char* kTables =
    "CREATE TABLE segments (number INTEGER PRIMARY KEY, first_key INTEGER NOT NULL, last_key "
    "INTEGER NOT NULL, rows INTEGER NOT NULL, checksum TEXT NOT NULL);CREATE TABLE removed (key "
    "INTEGER PRIMARY KEY);CREATE TABLE graph (number INTEGER NOT NULL, segments INTEGER NOT NULL, "
    "rows INTEGER NOT NULL, breadth INTEGER NOT NULL, found INTEGER NOT NULL, checksum TEXT NOT "
    "NULL);CREATE TABLE state (generation INTEGER NOT NULL, next_key INTEGER NOT NULL, "
    "next_segment INTEGER NOT NULL, documents INTEGER NOT NULL, removed_rows INTEGER NOT NULL, "
    "removed_sum INTEGER NOT NULL, checksum TEXT NOT NULL);INSERT INTO state VALUES (0, 0, 0, 0, "
    "0, 0, '')";

uint64_t hash_of_key(int64_t key) {
  return hash64({reinterpret_cast<const char*>(&key), sizeof key});
}

std::string seal_of_state(const StoreState& state) {
  std::string text =
      fmt::format("{} {} {} {} {} {}", state.generation, state.next_key, state.next_segment,
                  state.documents, state.removed_rows, state.removed_sum);
  for (const SegmentRow& segment : state.segments) {
    text += fmt::format("\n{} {} {} {} {}", segment.number, segment.first_key, segment.last_key,
                        segment.rows, segment.checksum);
  }
  if (state.graph) {
    const GraphRow& graph = *state.graph;
    text += fmt::format("\ngraph {} {} {} {} {} {}", graph.number, graph.segments, graph.rows,
                        graph.breadth, graph.found, graph.checksum);
  }
  return hash_bytes(text);
}

void check_seal_of(bool good, const Database& database, const char* what) {
  SIMILE_CHECK(good, ErrorKind::kInput,
               "{} is damaged: checksum mismatch in its {}; build the index again", database.path(),
               what);
}

void sort_segments(std::vector<SegmentRow>& segments) {
  std::sort(segments.begin(), segments.end(),
            [](const SegmentRow& a, const SegmentRow& b) { return a.first_key < b.first_key; });
}

std::optional<GraphRow> read_graph(const Database& database) {
  Statement select(database, "SELECT number, segments, rows, breadth, found, checksum FROM graph");
  if (!select.step()) return std::nullopt;
  return GraphRow{select.number(0), select.number(1), select.number(2),
                  select.number(3), select.number(4), select.text(5)};
}

void set_graph(const Database& database, const std::optional<GraphRow>& graph, StoreState& state) {
  Statement(database, "DELETE FROM graph").run();
  if (graph) {
    Statement(database, "INSERT INTO graph VALUES (?, ?, ?, ?, ?, ?)")
        .bind(1, graph->number)
        .bind(2, graph->segments)
        .bind(3, graph->rows)
        .bind(4, graph->breadth)
        .bind(5, graph->found)
        .bind(6, graph->checksum)
        .run();
  }
  state.graph = graph;
}

// Whether the change drops the graph, or a segment whose vectors are in it.
bool loses_graph(const SegmentChange& change, const StoreState& state) {
  if (change.drops_graph || !state.graph) return change.drops_graph;
  const auto end = state.segments.begin() + state.graph->segments;
  return std::any_of(change.dropped.begin(), change.dropped.end(), [&](const SegmentRow& dropped) {
    return std::any_of(state.segments.begin(), end,
                       [&](const SegmentRow& row) { return row.number == dropped.number; });
  });
}

void drop_segment(const Database& database, const SegmentRow& segment, StoreState& state) {
  Statement select(database, "SELECT key FROM removed WHERE key BETWEEN ? AND ?");
  select.bind(1, segment.first_key).bind(2, segment.last_key);
  while (select.step()) {
    --state.removed_rows;
    state.removed_sum -= hash_of_key(select.number(0));
  }
  Statement(database, "DELETE FROM removed WHERE key BETWEEN ? AND ?")
      .bind(1, segment.first_key)
      .bind(2, segment.last_key)
      .run();
  Statement(database, "DELETE FROM segments WHERE number = ?").bind(1, segment.number).run();
  state.segments.erase(
      std::remove_if(state.segments.begin(), state.segments.end(),
                     [&](const SegmentRow& row) { return row.number == segment.number; }),
      state.segments.end());
}

void insert_segment(const Database& database, const SegmentRow& segment, StoreState& state) {
  Statement(database, "INSERT INTO segments VALUES (?, ?, ?, ?, ?)")
      .bind(1, segment.number)
      .bind(2, segment.first_key)
      .bind(3, segment.last_key)
      .bind(4, segment.rows)
      .bind(5, segment.checksum)
      .run();
  state.segments.push_back(segment);
  state.next_segment = std::max(state.next_segment, segment.number + 1);
}

}  // namespace

void create_state(const Database& database, int64_t first_key) {
  database.execute(kTables);
  StoreState state;
  state.next_key = first_key;
  write_state(database, state);
}

StoreState read_state(const Database& database) {
  StoreState state;
  Statement counts(database,
                   "SELECT generation, next_key, next_segment, documents, removed_rows, "
                   "removed_sum, checksum FROM state");
  SIMILE_CHECK(counts.step(), ErrorKind::kInput, "{}: not a document store of this program",
               database.path());
  state.generation = counts.number(0);
  state.next_key = counts.number(1);
  state.next_segment = counts.number(2);
  state.documents = counts.number(3);
  state.removed_rows = counts.number(4);
  state.removed_sum = static_cast<uint64_t>(counts.number(5));
  Statement segments(database, "SELECT number, first_key, last_key, rows, checksum FROM segments");
  while (segments.step()) {
    state.segments.push_back({segments.number(0), segments.number(1), segments.number(2),
                              segments.number(3), segments.text(4)});
  }
  sort_segments(state.segments);
  state.graph = read_graph(database);
  check_seal_of(counts.text(6) == seal_of_state(state), database, "list of segments");
  return state;
}

std::vector<int64_t> read_removed(const Database& database, const StoreState& state) {
  std::vector<int64_t> keys;
  uint64_t sum = 0;
  Statement select(database, "SELECT key FROM removed ORDER BY key");
  while (select.step()) {
    keys.push_back(select.number(0));
    sum += hash_of_key(keys.back());
  }
  check_seal_of(static_cast<int64_t>(keys.size()) == state.removed_rows && sum == state.removed_sum,
                database, "list of removed documents");
  return keys;
}

void add_removed(const Database& database, const std::vector<VectorKey>& vectors,
                 StoreState& state) {
  Statement insert(database, "INSERT INTO removed VALUES (?)");
  for (const VectorKey& vector : vectors) {
    insert.bind(1, vector.key).run();
    ++state.removed_rows;
    state.removed_sum += hash_of_key(vector.key);
  }
}

void change_segments(const Database& database, const SegmentChange& change, StoreState& state) {
  if (change.graph || loses_graph(change, state)) set_graph(database, change.graph, state);
  for (const SegmentRow& segment : change.dropped) drop_segment(database, segment, state);
  for (const SegmentRow& segment : change.written) insert_segment(database, segment, state);
  sort_segments(state.segments);
  state.next_segment += change.reserved;
}

void write_state(const Database& database, const StoreState& state) {
  Statement(database,
            "UPDATE state SET generation = ?, next_key = ?, next_segment = ?, documents = ?, "
            "removed_rows = ?, removed_sum = ?, checksum = ?")
      .bind(1, state.generation)
      .bind(2, state.next_key)
      .bind(3, state.next_segment)
      .bind(4, state.documents)
      .bind(5, state.removed_rows)
      .bind(6, static_cast<int64_t>(state.removed_sum))
      .bind(7, seal_of_state(state))
      .run();
}

}  // namespace detail
}  // namespace simile
