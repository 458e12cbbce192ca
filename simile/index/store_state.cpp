// SPDX-License-Identifier: Apache-2.0
#include "simile/index/store_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

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
    "NULL, fused_breadth INTEGER NOT NULL, agreed INTEGER NOT NULL);CREATE TABLE state (generation "
    "INTEGER NOT NULL, next_key INTEGER NOT NULL, next_segment INTEGER NOT NULL, documents INTEGER "
    "NOT NULL, removed_rows INTEGER NOT NULL, removed_sum INTEGER NOT NULL, changed_sum INTEGER "
    "NOT NULL, metadata_generation INTEGER NOT NULL, checksum TEXT NOT NULL)";

uint64_t hash_of_key(int64_t key) {
  return hash64({reinterpret_cast<const char*>(&key), sizeof key});
}

// The columns of the tables with these rows, in their order.
template <typename Row>
auto columns_of(Row& row) {
  if constexpr (std::is_same_v<std::remove_const_t<Row>, SegmentRow>) {
    return std::tie(row.number, row.first_key, row.last_key, row.rows, row.checksum);
  } else if constexpr (std::is_same_v<std::remove_const_t<Row>, GraphRow>) {
    return std::tie(row.number, row.segments, row.rows, row.breadth, row.found, row.checksum,
                    row.fused_breadth, row.agreed);
  } else {
    return std::tie(row.generation, row.next_key, row.next_segment, row.documents, row.removed_rows,
                    row.removed_sum, row.changed_sum, row.metadata_generation);
  }
}

void take(const Statement& from, int column, int64_t& out) { out = from.number(column); }
void take(const Statement& from, int column, uint64_t& out) {
  out = static_cast<uint64_t>(from.number(column));
}
void take(const Statement& from, int column, std::string& out) { out = from.text(column); }

// The next row of a table, if there is one.
template <typename Row>
std::optional<Row> read_row(Statement& select) {
  if (!select.step()) return std::nullopt;
  Row row;
  int column = 0;
  std::apply([&](auto&... member) { (take(select, column++, member), ...); }, columns_of(row));
  return row;
}

// `more`: a last column.
template <typename Row, typename... More>
void insert_row(const Database& database, const std::string& table, const Row& row,
                const More&... more) {
  const auto columns = std::tuple_cat(columns_of(row), std::tie(more...));
  std::string places = "?";
  for (size_t i = 1; i < std::tuple_size_v<decltype(columns)>; ++i) places += ", ?";
  Statement insert(database, fmt::format("INSERT INTO {} VALUES ({})", table, places));
  int column = 0;
  std::apply([&](const auto&... value) { (insert.bind(++column, value), ...); }, columns);
  insert.run();
}

std::string seal_of_state(const StoreState& state) {
  std::string text = fmt::format("{}", fmt::join(columns_of(state), " "));
  for (const SegmentRow& segment : state.segments) {
    text += fmt::format("\n{}", fmt::join(columns_of(segment), " "));
  }
  if (state.graph) text += fmt::format("\ngraph {}", fmt::join(columns_of(*state.graph), " "));
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

void set_graph(const Database& database, const std::optional<GraphRow>& graph, StoreState& state) {
  database.execute("DELETE FROM graph");
  if (graph) insert_row(database, "graph", *graph);
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
  insert_row(database, "segments", segment);
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
  // By names, which damage may have changed.
  Statement counts(database,
                   "SELECT generation, next_key, next_segment, documents, removed_rows, "
                   "removed_sum, changed_sum, metadata_generation, checksum FROM state");
  const std::optional<StoreState> read = read_row<StoreState>(counts);
  SIMILE_CHECK(read, ErrorKind::kInput, "{}: not a document store of this program",
               database.path());
  StoreState state = *read;
  Statement segments(database, "SELECT number, first_key, last_key, rows, checksum FROM segments");
  while (auto segment = read_row<SegmentRow>(segments)) state.segments.push_back(*segment);
  sort_segments(state.segments);
  Statement graph(
      database,
      "SELECT number, segments, rows, breadth, found, checksum, fused_breadth, agreed FROM graph");
  state.graph = read_row<GraphRow>(graph);
  check_seal_of(counts.text(8) == seal_of_state(state), database, "list of segments");
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
  database.execute("DELETE FROM state");
  insert_row(database, "state", state, seal_of_state(state));
}

}  // namespace detail
}  // namespace simile
