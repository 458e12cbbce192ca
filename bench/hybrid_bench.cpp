// SPDX-License-Identifier: Apache-2.0
// Times searches of an index, one query at a time on one thread, with vectors of the queries that
// were made before. Answers first: the share of the hits of exact searches that each search finds.
// One JSON object on stdout, milliseconds of processor time. bench/hybrid.py puts peers beside it.
//
//   simile_hybrid_bench INDEX QUERIES.txt VECTORS.npy [TOP_K [FILTER]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/index/search_index.h"
#include "simile/model/embedding_store.h"

namespace simile::bench {
namespace {

using Json = nlohmann::ordered_json;
using Results = std::vector<std::vector<SearchHit>>;

// Processor time of this thread, which other work on the machine changes little.
double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

std::vector<SearchQueries> read_queries(const std::string& texts, const std::string& vectors,
                                        const std::string& filter) {
  const EmbeddingStore store(vectors);
  std::vector<SearchQueries> queries;
  const std::string text = read_file(texts);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    SearchQueries& query = queries.emplace_back();
    query.texts = {text.substr(begin, end - begin)};
    query.vectors = Matrix<float>(1, store.dimension());
    SIMILE_CHECK(static_cast<int64_t>(queries.size()) <= store.rows(), ErrorKind::kInput,
                 "{} has more lines than {} has vectors", texts, vectors);
    store.row(static_cast<int64_t>(queries.size()) - 1, query.vectors.row(0));
    if (!filter.empty()) query.filter = MetadataFilter(filter);
    begin = end + 1;
  }
  return queries;
}

double found_share(const Results& found, const Results& exact) {
  size_t good = 0, all = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    std::set<std::string> ids;
    for (const SearchHit& hit : exact[i]) ids.insert(hit.id);
    for (const SearchHit& hit : found[i]) good += ids.count(hit.id);
    all += ids.size();
  }
  return all == 0 ? 1 : static_cast<double>(good) / static_cast<double>(all);
}

int run(int argc, char** argv) {
  SIMILE_CHECK(argc >= 4 && argc <= 6, ErrorKind::kUsage,
               "usage: simile_hybrid_bench INDEX QUERIES.txt VECTORS.npy [TOP_K [FILTER]]");
  set_thread_count(1);
  const SearchIndex index = SearchIndex::open_without_model(argv[1], SearchIndex::Access::kRead);
  const int64_t top_k = argc >= 5 ? std::atoll(argv[4]) : 10;
  std::vector<SearchQueries> queries = read_queries(argv[2], argv[3], argc == 6 ? argv[5] : "");
  const IndexInfo info = index.info();
  Json result = {{"documents", info.count}, {"queries", queries.size()}, {"top_k", top_k}};
  if (info.graph) {
    result["graph"] = {{"recall", info.graph->recall}, {"agreement", info.graph->agreement}};
  }
  for (const char* mode : {"lexical", "vector", "hybrid"}) {
    SearchSettings settings;
    settings.mode = mode;
    Results exact;
    for (const bool is_exact : {true, false}) {
      if (is_exact && settings.mode == "lexical") continue;
      Results found;
      std::vector<double> times;
      for (SearchQueries& query : queries) {
        query.exact = is_exact;
        if (times.empty()) index.search(query, top_k, settings);  // reads and verifies
        const double begin = now_ms();
        found.push_back(std::move(index.search(query, top_k, settings)[0]));
        times.push_back(now_ms() - begin);
      }
      std::sort(times.begin(), times.end());
      double sum = 0;
      for (const double time : times) sum += time;
      Json& told = result[std::string(mode) + (is_exact ? " exact" : "")];
      told = {{"mean", sum / static_cast<double>(times.size())}, {"p50", times[times.size() / 2]}};
      if (is_exact) {
        exact = std::move(found);
      } else if (!exact.empty()) {
        told["found"] = found_share(found, exact);
      }
    }
  }
  std::puts(result.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace simile::bench

int main(int argc, char** argv) {
  try {
    return simile::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_hybrid_bench: %s\n", error.what());
    return 1;
  }
}
