// SPDX-License-Identifier: Apache-2.0
// Searches by words through an index, for the table of bench/search.sh. On stdout a line of JSON
// for the build and for each list of queries and number of hits: the milliseconds of a processor
// that a query takes on one thread on average, the best of five rounds over the list; "search"
// through SearchIndex, documents included, "ids" without reading them.
//
//   simile_search_bench CORPUS FOLDER ANSWERS QUERIES...
//
// CORPUS and QUERIES: a text a line. FOLDER: of the index; it must not exist and is removed at the
// end. ANSWERS: gets a line "QUERIES line rank id score" for each of the ten best hits.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/memory.h"
#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_set.h"
#include "simile/index/detail/word_search.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"

namespace simile::bench {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kBlock = 4096;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  SIMILE_CHECK(file, ErrorKind::kInput, "'{}': cannot be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The index gets vectors of one number: only its words are searched.
void build(const std::vector<std::string>& corpus, const std::string& folder) {
  const double begin = processor_seconds();
  reset_peak_memory();
  const int64_t before = resident_memory();
  SearchSettings settings;
  settings.approximate.approximate = "never";
  IndexBuilder builder(folder, {"bench", "bench", 1}, true, settings);
  const auto rows = static_cast<int64_t>(corpus.size());
  for (int64_t first = 0; first < rows; first += kBlock) {
    const int64_t count = std::min(kBlock, rows - first);
    std::vector<Document> documents;
    for (int64_t i = first; i < first + count; ++i) {
      documents.push_back({std::to_string(i), corpus[static_cast<size_t>(i)]});
    }
    builder.add(documents, Matrix<float>(count, 1, 1.0f));
  }
  builder.commit();
  const double took = processor_seconds() - begin;
  int64_t words = 0, all = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto size = static_cast<int64_t>(entry.file_size());
    all += size;
    if (entry.path().extension() == ".words") words += size;
  }
  fmt::print(R"({{"way":"simile, build","rows":{},"s":{:.2f},"words_mb":{:.1f},"files_mb":{:.1f},)"
             R"("memory_mb":{}}})"
             "\n",
             rows, took, static_cast<double>(words) / 1e6, static_cast<double>(all) / 1e6,
             (peak_memory() - before) / 1000000);
}

double best_ms(const std::vector<std::string>& queries,
               const std::function<void(const std::string&)>& search) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const double begin = processor_seconds();
    for (const std::string& query : queries) search(query);
    best = std::min(best, processor_seconds() - begin);
  }
  return 1e3 * best / static_cast<double>(queries.size());
}

void run(int argc, char** argv) {
  SIMILE_CHECK(argc >= 5, ErrorKind::kUsage, "usage: CORPUS FOLDER ANSWERS QUERIES...");
  const std::string folder = argv[2];
  SIMILE_CHECK(!fs::exists(folder), ErrorKind::kUsage, "'{}' exists", folder);
  set_thread_count(1);
  build(read_lines(argv[1]), folder);
  const SearchIndex index = SearchIndex::open(folder, "bench", "bench");
  const IndexedModel model = detail::read_manifest(folder);
  const StoreSnapshot now = detail::open_documents(folder, model).snapshot();
  detail::SegmentCache cache(folder, model);
  const detail::SegmentSet set(model, cache.open(now.state.segments), now, nullptr, nullptr);
  SearchSettings lexical;
  lexical.mode = "lexical";
  std::ofstream answers(argv[3]);
  for (int i = 4; i < argc; ++i) {
    const std::vector<std::string> queries = read_lines(argv[i]);
    for (size_t line = 0; line < queries.size(); ++line) {
      const auto hits = index.search({{queries[line]}, {}}, 10, lexical)[0];
      for (size_t rank = 0; rank < hits.size(); ++rank) {
        answers << fmt::format("{} {} {} {} {:.17g}\n", argv[i], line, rank, hits[rank].id,
                               hits[rank].score);
      }
    }
    for (const int64_t k : {10, 100}) {
      const double all = best_ms(queries, [&](const std::string& query) {
        index.search({{query}, {}}, k, lexical);
      });
      const double ids = best_ms(queries, [&](const std::string& query) {
        const detail::WordSearch search(set.segments());
        search.best(search.prepare(query), k);
      });
      fmt::print(R"({{"way":"simile","queries":"{}","k":{},"search":{:.4f},"ids":{:.4f}}})"
                 "\n",
                 fs::path(argv[i]).filename().string(), k, all, ids);
      std::fflush(stdout);
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace simile::bench

int main(int argc, char** argv) {
  try {
    simile::bench::run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_search_bench: %s\n", error.what());
    return 1;
  }
}
