// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/neighbours/clusters.h"
#include "simile/neighbours/detail/neighbours.h"
#include "simile/neighbours/exact_search.h"

namespace simile::detail {
namespace {

constexpr int64_t kSampled = 500;       // rows that decide how many cells are visited
constexpr double kWantedRecall = 0.98;  // of their neighbours
constexpr int64_t kCellShare = 4;       // at most one cell in so many is visited
constexpr int64_t kMostQueries = 8192;  // searched together, so that a cell is read once for many
constexpr KmeansOptions kCells{0, 64, 8};  // rows a centre and rounds; their number is set per call

struct InvertedFile {
  Matrix<float> centres;
  std::vector<int32_t> cell_of;  // [n]
  PackedRows rows;               // a block a cell
  PackedRows packed_centres;
};

InvertedFile make_inverted_file(const Matrix<float>& vectors) {
  KmeansOptions options = kCells;
  options.centres = std::min(
      vectors.rows, static_cast<int64_t>(4 * std::sqrt(static_cast<double>(vectors.rows))));
  RandomStream stream(0, "neighbour cells");
  Matrix<float> centres = train_centres(vectors, options, stream);
  std::vector<int32_t> cell_of = nearest_centres(vectors, centres).centre;
  GroupedRows groups = group_rows(cell_of, centres.rows);
  PackedRows rows(vectors, std::move(groups.rows), std::move(groups.offsets));
  PackedRows packed_centres(centres);
  return {std::move(centres), std::move(cell_of), std::move(rows), std::move(packed_centres)};
}

// The `count` cells nearest to each query, nearest first: [queries, count].
Matrix<int32_t> nearest_cells(const InvertedFile& file, const float* queries, int64_t query_count,
                              int64_t count) {
  Matrix<int32_t> nearest(query_count, count);
  ScoreScratch scratch;
  for (int64_t first = 0; first < query_count; first += kPackedQueries) {
    const int64_t some = std::min(kPackedQueries, query_count - first);
    std::vector<TopRows> best(some, TopRows(count));
    std::vector<TopRows*> pointers;
    for (TopRows& rows : best) pointers.push_back(&rows);
    const std::vector<int32_t> no_cell(some, -1);
    offer_block(file.packed_centres, 0, queries + first * file.centres.cols, no_cell.data(), some,
                pointers.data(), scratch);
    for (int64_t i = 0; i < some; ++i) {
      const std::vector<int32_t> cells = best[i].take_sorted();
      std::copy(cells.begin(), cells.end(), nearest.row(first + i));
    }
  }
  return nearest;
}

// The true neighbours of some rows: [rows, top_n].
Matrix<int32_t> true_neighbours(const Matrix<float>& vectors, const std::vector<int32_t>& ids,
                                int64_t top_n) {
  Matrix<float> queries(static_cast<int64_t>(ids.size()), vectors.cols);
  gather_rows(vectors, ids.data(), queries.rows, queries.values.data());
  const auto hits =
      exact_search(vectors.values.data(), vectors.rows, queries.values.data(), queries.rows,
                   vectors.cols, top_n + 1, VectorMetric::kSquaredDistance);
  Matrix<int32_t> neighbours(queries.rows, top_n);
  for (int64_t i = 0; i < queries.rows; ++i) {
    int64_t column = 0;
    for (const Hit& hit : hits[i]) {
      if (hit.id == ids[i] || column == top_n) continue;
      neighbours.at(i, column++) = static_cast<int32_t>(hit.id);
    }
  }
  return neighbours;
}

// The least number of cells that hold the wanted share of the sample's true neighbours.
int64_t choose_visits(const Matrix<float>& vectors, const InvertedFile& file,
                      const std::vector<int32_t>& sample, int64_t top_n) {
  const int64_t cells = file.centres.rows, most = std::max<int64_t>(1, cells / kCellShare);
  const Matrix<int32_t> truth = true_neighbours(vectors, sample, top_n);
  std::vector<int64_t> found_at(cells, 0);
  std::vector<int32_t> rank(cells);
  for (int64_t i = 0; i < truth.rows; ++i) {
    const Matrix<int32_t> order = nearest_cells(file, vectors.row(sample[i]), 1, cells);
    for (int64_t c = 0; c < cells; ++c) rank[order.at(0, c)] = static_cast<int32_t>(c);
    for (int64_t j = 0; j < top_n; ++j) {
      const int32_t cell = file.cell_of[truth.at(i, j)];
      ++found_at[rank[cell]];
    }
  }
  const double wanted = kWantedRecall * static_cast<double>(truth.values.size());
  int64_t visits = 0;
  for (int64_t found = 0; visits < most && static_cast<double>(found) < wanted; ++visits) {
    found += found_at[visits];
  }
  return std::max<int64_t>(1, visits);
}

// Which queries (by place) visit each cell: first the few cells that hold twice the neighbours
// wanted, so that few rows of the others need more than a look.
struct VisitPlan {
  GroupedRows near, far;
};

// Visits in the order of the queries.
struct Visits {
  std::vector<int32_t> cells, places;

  GroupedRows by_cell(int64_t cell_count) const {
    GroupedRows plan = group_rows(cells, cell_count);
    for (int32_t& entry : plan.rows) entry = places[entry];
    return plan;
  }
};

VisitPlan plan_visits(const InvertedFile& file, const Matrix<float>& queries, int64_t visits,
                      int64_t top_n) {
  Visits near, far;
  const Matrix<int32_t> nearest = nearest_cells(file, queries.values.data(), queries.rows, visits);
  for (int64_t i = 0; i < queries.rows; ++i) {
    int64_t met = 0;
    const auto visit = [&](int32_t cell) {
      Visits& some = met < 2 * top_n ? near : far;
      some.cells.push_back(cell);
      some.places.push_back(static_cast<int32_t>(i));
      met += file.rows.size(cell);
    };
    std::for_each(nearest.row(i), nearest.row(i) + visits, visit);
    // Cells with few rows: further ones until there are enough, the query itself not counted.
    for (int64_t more = visits; met <= top_n && more < file.centres.rows;) {
      const int64_t end = std::min(file.centres.rows, 2 * more);
      const Matrix<int32_t> further = nearest_cells(file, queries.row(i), 1, end);
      std::for_each(further.row(0) + more, further.row(0) + end, visit);
      more = end;
    }
  }
  return {near.by_cell(file.centres.rows), far.by_cell(file.centres.rows)};
}

// The queries of one task, and what they have met.
struct QueryBatch {
  const int32_t* ids;
  Matrix<float> vectors;
  std::vector<TopRows> best;
};

void visit_cells(const InvertedFile& file, const GroupedRows& plan, QueryBatch& batch) {
  const int64_t D = batch.vectors.cols;
  std::vector<float> queries(kPackedQueries * D);
  std::vector<int32_t> ids(kPackedQueries);
  std::vector<TopRows*> best(static_cast<size_t>(kPackedQueries));
  ScoreScratch scratch;
  for (int64_t cell = 0; cell < file.centres.rows; ++cell) {
    const int64_t end = plan.offsets[static_cast<size_t>(cell) + 1];
    for (int64_t at = plan.offsets[cell]; at < end; at += kPackedQueries) {
      const int64_t count = std::min(kPackedQueries, end - at);
      const int32_t* places = plan.rows.data() + at;
      gather_rows(batch.vectors, places, count, queries.data());
      for (int64_t i = 0; i < count; ++i) {
        ids[i] = batch.ids[places[i]];
        best[i] = &batch.best[places[i]];
      }
      offer_block(file.rows, cell, queries.data(), ids.data(), count, best.data(), scratch);
    }
  }
}

// The neighbours of the rows ids[0] .. ids[count - 1].
void search_cells(const Matrix<float>& vectors, const InvertedFile& file, const int32_t* ids,
                  int64_t count, int64_t visits, Matrix<int32_t>& neighbours) {
  QueryBatch batch{ids, Matrix<float>(count, vectors.cols),
                   std::vector<TopRows>(static_cast<size_t>(count), TopRows(neighbours.cols))};
  gather_rows(vectors, ids, count, batch.vectors.values.data());
  const VisitPlan plan = plan_visits(file, batch.vectors, visits, neighbours.cols);
  visit_cells(file, plan.near, batch);
  for (TopRows& rows : batch.best) rows.tighten();
  visit_cells(file, plan.far, batch);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<int32_t> nearest = batch.best[i].take_sorted();
    std::copy_n(nearest.begin(), neighbours.cols, neighbours.row(ids[i]));
  }
}

double measure_recall(const Matrix<float>& vectors, const std::vector<int32_t>& sample,
                      const Matrix<int32_t>& neighbours) {
  Matrix<int32_t> truth = true_neighbours(vectors, sample, neighbours.cols);
  int64_t found = 0;
  std::vector<int32_t> row;
  for (int64_t i = 0; i < truth.rows; ++i) {
    const int32_t* begin = neighbours.row(sample[i]);
    row.assign(begin, begin + neighbours.cols);
    std::sort(row.begin(), row.end());
    found += std::count_if(truth.row(i), truth.row(i) + truth.cols, [&](int32_t id) {
      return std::binary_search(row.begin(), row.end(), id);
    });
  }
  return static_cast<double>(found) / static_cast<double>(truth.values.size());
}

}  // namespace

void approximate_neighbours(const Matrix<float>& vectors, Matrix<int32_t>& neighbours,
                            NeighbourReport* report) {
  RandomStream stream(0, "neighbour sample");
  std::vector<int32_t> tuned =
      sample_rows(vectors.rows, std::min(2 * kSampled, vectors.rows), stream);
  shuffle(tuned, stream);
  const std::vector<int32_t> measured(tuned.begin() + tuned.size() / 2, tuned.end());
  tuned.resize(std::max<size_t>(1, tuned.size() / 2));
  {
    const InvertedFile file = make_inverted_file(vectors);
    const int64_t visits = choose_visits(vectors, file, tuned, neighbours.cols);
    if (report != nullptr) {
      report->method =
          fmt::format("inverted file, nearest {} of {} cells", visits, file.centres.rows);
    }
    // Rows in the order of their cells: those that are searched together visit the same cells.
    const int64_t together = std::clamp<int64_t>(vectors.rows / 64, 256, kMostQueries);
    run_parallel((vectors.rows + together - 1) / together, 1, [&](int64_t task) {
      const int64_t first = task * together;
      search_cells(vectors, file, file.rows.ids().data() + first,
                   std::min(together, vectors.rows - first), visits, neighbours);
    });
  }
  if (report == nullptr) return;
  report->recall = measure_recall(vectors, measured, neighbours);
  report->sampled = static_cast<int64_t>(measured.size());
}

}  // namespace simile::detail
