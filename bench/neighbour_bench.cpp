// SPDX-License-Identifier: Apache-2.0
// An index with a graph, beside libraries of approximate neighbours called directly on the same
// vectors: the figures of docs/decisions/0019-approximate-index.md and docs/results/index-segments.md. One
// JSON line on stdout for each setting.
//
//   simile_neighbour_bench VECTORS.npy ROWS QUERIES THREADS WAY [FOLDER]
//
// VECTORS: float32 [at least ROWS + QUERIES, D] of length 1, as `simile encode` writes them; the
// rows are the first ROWS, the queries those behind them. WAY: simile (an index in FOLDER, which
// must not be there and is removed), hnswlib, and, where libfaiss-dev is installed, faiss-hnsw and
// faiss-ivf. THREADS build; one searches, a query at a time. Recall is of the ten nearest by an
// exact search, queries_per_second of a processor's time, p50 and p99 as the clock says.
#include <fmt/format.h>
#include <hnswlib/hnswlib.h>
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef SIMILE_HAS_FAISS
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFFlat.h>
#endif

#include "bench/memory.h"
#include "simile/core/parallel.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"

namespace {

constexpr int64_t kTop = 10;
using Found = std::vector<int64_t>;

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Processor time of this thread, which other work on the machine changes little.
double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t resident_mb() { return simile::bench::resident_memory() / 1000000; }

struct Vectors {
  int64_t rows = 0, D = 0;
  std::vector<float> values;
  const float* row(int64_t i) const { return values.data() + i * D; }
};

Vectors read_npy(const std::string& path, int64_t rows) {
  std::ifstream file(path, std::ios::binary);
  char start[10] = {};
  file.read(start, sizeof start);
  uint16_t length = 0;
  std::memcpy(&length, start + 8, 2);
  std::string header(length, ' ');
  file.read(header.data(), length);
  const size_t shape = header.find("'shape': (");
  if (!file || shape == std::string::npos) throw std::runtime_error("not a .npy file");
  Vectors vectors;
  long long in_file = 0, D = 0;
  std::sscanf(header.c_str() + shape, "'shape': (%lld, %lld", &in_file, &D);
  if (rows > in_file) throw std::runtime_error("it has fewer rows");
  vectors.rows = rows;
  vectors.D = D;
  vectors.values.resize(static_cast<size_t>(rows * D));
  file.read(reinterpret_cast<char*>(vectors.values.data()),
            static_cast<std::streamsize>(vectors.values.size() * sizeof(float)));
  return vectors;
}

struct Task {
  Vectors vectors;
  int64_t rows, queries;
  std::vector<Found> exact;
  const float* query(int64_t i) const { return vectors.row(rows + i); }
};

std::vector<Found> exact_neighbours(const Task& task) {
  std::vector<Found> found;
  for (const auto& hits :
       simile::exact_search(task.vectors.row(0), task.rows, task.query(0), task.queries,
                            task.vectors.D, kTop, simile::VectorMetric::kInnerProduct)) {
    Found& ids = found.emplace_back();
    for (const simile::Hit& hit : hits) ids.push_back(hit.id);
  }
  return found;
}

using Search = std::function<Found(const float*)>;

void measure(const Task& task, const char* way, int setting, double build, int64_t memory,
             const Search& search) {
  int64_t hits = 0;
  std::vector<double> times;
  double processor = 0;
  for (int64_t i = 0; i < task.queries; ++i) {
    const double begin = seconds(), begun = processor_seconds();
    const Found found = search(task.query(i));
    times.push_back(seconds() - begin);
    processor += processor_seconds() - begun;
    const std::set<int64_t> expected(task.exact[i].begin(), task.exact[i].end());
    for (const int64_t id : found) hits += static_cast<int64_t>(expected.count(id));
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"way\":\"%s\",\"setting\":%d,\"recall\":%.4f,\"queries_per_second\":%.0f,\"p50_ms\":%.3f,"
      "\"p99_ms\":%.3f,\"build_s\":%.1f,\"memory_mb\":%ld}\n",
      way, setting, static_cast<double>(hits) / static_cast<double>(task.queries * kTop),
      static_cast<double>(task.queries) / processor, 1e3 * times[times.size() / 2],
      1e3 * times[times.size() * 99 / 100], build, static_cast<long>(memory));
  std::fflush(stdout);
}

constexpr int kLinks = 16, kBuildBreadth = 100;
constexpr int kSettings[] = {10, 16, 24, 32, 48, 64, 96, 128, 192, 256};

void run_hnswlib(const Task& task) {
  const int64_t before = resident_mb();
  const double begin = seconds();
  hnswlib::InnerProductSpace space(static_cast<size_t>(task.vectors.D));
  hnswlib::HierarchicalNSW<float> graph(&space, static_cast<size_t>(task.rows), kLinks,
                                        kBuildBreadth);
  graph.addPoint(task.vectors.row(0), 0);
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 1; i < task.rows; ++i) {
    graph.addPoint(task.vectors.row(i), static_cast<size_t>(i));
  }
  const double build = seconds() - begin;
  const int64_t memory = resident_mb() - before;
  for (const int ef : kSettings) {
    graph.setEf(static_cast<size_t>(ef));
    measure(task, "hnswlib", ef, build, memory, [&](const float* query) {
      auto queue = graph.searchKnn(query, kTop);
      Found found;
      for (; !queue.empty(); queue.pop()) found.push_back(static_cast<int64_t>(queue.top().second));
      return found;
    });
  }
}

// Documents of one word, numbered.
void run_simile(const Task& task, const std::string& folder) {
  using simile::Matrix;
  constexpr int64_t kBlock = 4096;
  const int64_t D = task.vectors.D;
  const auto take = [&](const float* from, int64_t count) {
    Matrix<float> block(count, D);
    std::copy_n(from, count * D, block.values.begin());
    return block;
  };
  const int64_t before = resident_mb();
  const double begin = seconds();
  simile::SearchSettings settings;
  settings.approximate.approximate = "always";
  simile::IndexBuilder builder(folder, {"bench", "bench", D}, true, settings);
  for (int64_t first = 0; first < task.rows; first += kBlock) {
    const int64_t count = std::min(kBlock, task.rows - first);
    std::vector<simile::Document> documents;
    for (int64_t i = 0; i < count; ++i) documents.push_back({std::to_string(first + i), "word"});
    builder.add(documents, take(task.vectors.row(first), count));
  }
  simile::bench::reset_peak_memory();
  builder.commit();
  const double build = seconds() - begin;
  const int64_t built = simile::bench::peak_memory() / 1000000 - before;
  const auto index = simile::SearchIndex::open(folder, "bench", "bench");
  const simile::IndexInfo info = index.info();
  std::fprintf(stderr, "most memory of building: %ld MB; breadth %ld, recall %.4f of its own\n",
               static_cast<long>(built), static_cast<long>(info.graph->breadth),
               info.graph->recall);
  index.search(take(task.query(0), 1), kTop);
  const int64_t memory = resident_mb() - before;
  omp_set_num_threads(1);
  for (const bool exact : {false, true}) {
    simile::SearchQueries queries;
    queries.exact = exact;
    measure(task, exact ? "simile, exact" : "simile",
            exact ? 0 : static_cast<int>(info.graph->breadth), build, memory,
            [&](const float* query) {
              queries.vectors = take(query, 1);
              Found found;
              const auto hits = index.search(queries, kTop, {"vector", {}, {}});
              for (const auto& hit : hits[0]) found.push_back(std::atoll(hit.id.c_str()));
              return found;
            });
  }
  std::filesystem::remove_all(folder);
}

#ifdef SIMILE_HAS_FAISS
template <typename Index, typename Set>
void run_faiss(const Task& task, const char* way, Index& index, const Set& set) {
  const int64_t before = resident_mb();
  const double begin = seconds();
  index.train(task.rows, task.vectors.row(0));
  index.add(task.rows, task.vectors.row(0));
  const double build = seconds() - begin;
  const int64_t memory = resident_mb() - before;
  omp_set_num_threads(1);
  for (const int setting : kSettings) {
    set(setting);
    measure(task, way, setting, build, memory, [&](const float* query) {
      Found ids(kTop);
      float scores[kTop];
      index.search(1, query, kTop, scores, ids.data());
      return ids;
    });
  }
}

void run_faiss(const Task& task, const std::string& way) {
  const auto D = static_cast<int>(task.vectors.D);
  if (way == "faiss-hnsw") {
    faiss::IndexHNSWFlat index(D, kLinks, faiss::METRIC_INNER_PRODUCT);
    index.hnsw.efConstruction = kBuildBreadth;
    run_faiss(task, "faiss-hnsw", index, [&](int ef) { index.hnsw.efSearch = ef; });
  } else {
    faiss::IndexFlatIP coarse(D);
    const size_t lists = task.rows >= 500000 ? 4096 : 1024;
    faiss::IndexIVFFlat index(&coarse, static_cast<size_t>(D), lists, faiss::METRIC_INNER_PRODUCT);
    run_faiss(task, "faiss-ivf", index,
              [&](int probes) { index.nprobe = static_cast<size_t>(probes); });
  }
}
#endif

void run(int argc, char** argv) {
  if (argc < 6 || argc > 7) {
    throw std::runtime_error("usage: VECTORS.npy ROWS QUERIES THREADS WAY [FOLDER]");
  }
  Task task;
  task.rows = std::atoll(argv[2]);
  task.queries = std::atoll(argv[3]);
  task.vectors = read_npy(argv[1], task.rows + task.queries);
  task.exact = exact_neighbours(task);
  simile::set_thread_count(std::atoi(argv[4]));
  const std::string way = argv[5];
  if (way == "simile" && argc == 7) return run_simile(task, argv[6]);
  if (way == "hnswlib") return run_hnswlib(task);
#ifdef SIMILE_HAS_FAISS
  if (way == "faiss-hnsw" || way == "faiss-ivf") return run_faiss(task, way);
#endif
  throw std::runtime_error("no way '" + way + "'");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
