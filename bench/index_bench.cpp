// SPDX-License-Identifier: Apache-2.0
// The cost of an index without the encoder: it gets random unit vectors through the library, so
// that nothing else is measured. One JSON object on stdout, times in milliseconds, memory in MB.
//
//   simile_index_bench FOLDER ROWS DIMENSION [CHANGES [NUMBERS]]
//
// Builds an index of ROWS documents (texts of 40 words, 200 bytes, and metadata) in blocks of
// 4,096, as `simile index build` does; opens it; searches, also with a filter; adds, updates and
// deletes CHANGES (200) documents one by one, then updates while others search; checks; merges.
// FOLDER must not exist and is removed at the end. NUMBERS: fp32, fp16 or int8, the type of the
// stored vectors.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/memory.h"
#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_folder.h"
#include "simile/index/search_index.h"

namespace simile::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kUsage =
    "usage: simile_index_bench FOLDER ROWS DIMENSION [CHANGES [fp32|fp16|int8]]";
constexpr int64_t kBlock = 4096;
constexpr int64_t kWords = 40;  // of a document

double now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

double megabytes(int64_t bytes) { return std::round(static_cast<double>(bytes) / 1e5) / 10; }
double rounded(double value) { return std::round(value * 1000) / 1000; }

// Numbered from `first`; the vectors of each block depend on it alone.
Matrix<float> random_vectors(int64_t first, int64_t count, int64_t D) {
  Matrix<float> vectors(count, D);
  run_parallel(count, 64, [&](int64_t i) {
    RandomStream random(static_cast<uint64_t>(first + i), "index bench");
    float square = 0;
    float* const row = vectors.row(i);
    for (int64_t d = 0; d < D; ++d) {
      row[d] = static_cast<float>(2 * random.uniform() - 1);
      square += row[d] * row[d];
    }
    for (int64_t d = 0; d < D; ++d) row[d] /= std::sqrt(square);
  });
  return vectors;
}

// `count` words of a vocabulary of 100,000, the n-th of which is about as frequent as 1 / n.
std::string random_words(int64_t number, int64_t count) {
  RandomStream random(static_cast<uint64_t>(number), "words");
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    text += fmt::format("w{} ", static_cast<int64_t>(std::pow(1e5, random.uniform())));
  }
  return text;
}

std::string random_metadata(int64_t number) {
  constexpr const char* kLanguages[] = {"de", "en", "es", "fr", "it"};
  RandomStream random(static_cast<uint64_t>(number), "metadata");
  return fmt::format(R"({{"year":{},"lang":"{}","number":{}}})",
                     2000 + static_cast<int64_t>(25 * random.uniform()),
                     kLanguages[static_cast<size_t>(5 * random.uniform())], number);
}

std::vector<Document> documents(int64_t first, int64_t count, const std::string& word) {
  std::vector<Document> documents(static_cast<size_t>(count));
  run_parallel(count, 64, [&](int64_t i) {
    documents[static_cast<size_t>(i)] = {fmt::format("document-{}", first + i),
                                         word + " " + random_words(first + i, kWords),
                                         random_metadata(first + i)};
  });
  return documents;
}

Json spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return rounded(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]);
  };
  return {{"p50", at(0.5)}, {"p99", at(0.99)}, {"most", at(1)}};
}

// Processor time of all threads of this process.
double processor_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// "processor": what each took on average of all processors, without waiting for them or the disk.
Json time_each(int64_t count, const std::function<void(int64_t)>& work) {
  std::vector<double> times;
  const double before = processor_ms();
  for (int64_t i = 0; i < count; ++i) {
    const double begin = now_ms();
    work(i);
    times.push_back(now_ms() - begin);
  }
  Json result = spread(std::move(times));
  result["processor"] = rounded((processor_ms() - before) / static_cast<double>(count));
  return result;
}

double time_once(const std::function<void()>& work) {
  const double begin = now_ms();
  work();
  return rounded(now_ms() - begin);
}

class IndexBench {
 public:
  IndexBench(std::string folder, int64_t rows, int64_t D, int64_t changes, StoredNumber numbers)
      : folder_(std::move(folder)), rows_(rows), D_(D), changes_(changes), numbers_(numbers) {}

  Json run() {
    Json result = {{"rows", rows_}, {"dimension", D_}, {"threads", thread_count()}};
    build(result);
    search(result);
    change(result);
    change_while_searching(result);
    finish(result);
    return result;
  }

 private:
  SearchIndex open() const {
    return SearchIndex::open(folder_, "bench", "bench", SearchIndex::Access::kWrite);
  }

  void build(Json& result) const {
    IndexedModel model{"bench", "bench", D_, VectorMetric::kInnerProduct};
    model.vectors = numbers_;
    IndexBuilder builder(folder_, model);
    double made_ms = 0;
    const double all = time_once([&] {
      for (int64_t first = 0; first < rows_; first += kBlock) {
        const int64_t count = std::min(kBlock, rows_ - first);
        Matrix<float> vectors;
        std::vector<Document> texts;
        made_ms += time_once([&] {
          vectors = random_vectors(first, count, D_);
          texts = documents(first, count, "built");
        });
        builder.add(texts, vectors);
      }
      builder.commit();
    });
    result["build"] = {{"ms", rounded(all - made_ms)}, {"peak_memory", megabytes(peak_memory())}};
    int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
    }
    result["build"]["files"] = megabytes(bytes);
    const auto recall = read_index_info(folder_).model.vectors_recall;
    if (recall) result["build"]["vectors_recall"] = *recall;
  }

  void search(Json& result) const {
    const double begin = now_ms();
    const SearchIndex index = open();
    result["open"] = rounded(now_ms() - begin);
    const auto one = [&](int64_t i) { index.search(random_vectors(-1 - i, 1, D_), 10); };
    result["first_search"] = time_once([&] { one(0); });
    result["search"] = time_each(100, one);
    const auto both = [&](int64_t i) {
      index.search({{random_words(-1 - i, 4)}, random_vectors(-1 - i, 1, D_)}, 10, {});
    };
    result["first_hybrid_search"] = time_once([&] { both(0); });
    result["hybrid_search"] = time_each(100, both);
    filter(index, result);
    const Matrix<float> many = random_vectors(-1000, 1000, D_);
    result["queries_per_second"] = {
        {"one at a time", rounded(1000 / result["search"]["p50"].get<double>())},
        {"1000 together", rounded(1e6 / time_once([&] { index.search(many, 10); }))}};
    result["resident_with_vectors"] = megabytes(resident_memory());
    // The same vectors in one array, without documents.
    const Matrix<float> rows = random_vectors(0, rows_, D_);
    const auto scan = [&](const Matrix<float>& queries) {
      exact_search(rows.values.data(), rows_, queries.values.data(), queries.rows, D_, 10,
                   VectorMetric::kInnerProduct);
    };
    const Json alone = time_each(100, [&](int64_t i) { scan(random_vectors(-1 - i, 1, D_)); });
    result["one_array"] = {{"search", alone},
                           {"queries_per_second", rounded(1e6 / time_once([&] { scan(many); }))}};
  }

  // One in ten documents matches.
  void filter(const SearchIndex& index, Json& result) const {
    const MetadataFilter filter("year >= 2010 and year < 2020 and lang in (en, 'none')");
    const MetadataFilter of_each("number >= 1000 and number < 2000");
    const auto search = [&](const MetadataFilter& by, const char* mode, int64_t i) {
      index.search({{random_words(-1 - i, 4)}, random_vectors(-1 - i, 1, D_), by}, 10, {mode, {}});
    };
    for (const char* mode : {"vector", "hybrid"}) {
      Json& times = result["filtered"][mode];
      times["first"] = time_once([&] { search(filter, mode, 0); });
      times["search"] = time_each(100, [&](int64_t i) { search(filter, mode, i); });
    }
    result["filtered"]["distinct values, first"] = time_once([&] { search(of_each, "vector", 0); });
    result["filtered"]["distinct values, search"] =
        time_each(100, [&](int64_t i) { search(of_each, "vector", i); });
  }

  // Each is one document in a call of its own, acknowledged when it is on disk.
  void change(Json& result) const {
    SearchIndex index = open();
    const auto vector = random_vectors(-5000, 1, D_);
    result["add"] =
        time_each(changes_, [&](int64_t i) { index.add(documents(rows_ + i, 1, "new"), vector); });
    const int64_t apart = std::max<int64_t>(1, rows_ / changes_);
    result["update"] = time_each(
        changes_, [&](int64_t i) { index.add(documents(i * apart % rows_, 1, "other"), vector); });
    result["delete"] = time_each(changes_, [&](int64_t i) {
      index.remove({fmt::format("document-{}", (i * apart + apart / 2) % rows_)});
    });
    result["segments"] = index.info().segments;
    result["search_after_change"] = time_each(std::min<int64_t>(changes_, 50), [&](int64_t i) {
      index.search(random_vectors(-1 - i, 1, D_), 10);
    });
  }

  void change_while_searching(Json& result) const {
    SearchIndex index = open();
    std::atomic<bool> changing{true};
    std::vector<double> times;
    std::thread reader([&] {
      const SearchIndex own = open();
      own.search(random_vectors(-1, 1, D_), 10);
      do {  // few changes may be over before this one is open
        const Matrix<float> query = random_vectors(-2, 1, D_);
        times.push_back(time_once([&] { own.search(query, 10); }));
      } while (changing);
    });
    const auto vector = random_vectors(-5000, 1, D_);
    Json changes = time_each(
        changes_, [&](int64_t i) { index.add(documents(i, 1, "while searching"), vector); });
    changing = false;
    reader.join();
    result["while_searching"] = {
        {"update", std::move(changes)}, {"searches", times.size()}, {"search", spread(times)}};
  }

  void finish(Json& result) const {
    SearchIndex index = open();
    result["check"] = time_once([&] { check_index(folder_); });
    reset_peak_memory();
    result["merge"] = {{"ms", time_once([&] { index.merge(); })},
                       {"peak_memory", megabytes(peak_memory())}};
    const IndexInfo info = check_index(folder_).info;
    result["after_merge"] = {{"documents", info.count}, {"segments", info.segments}};
  }

  std::string folder_;
  int64_t rows_, D_, changes_;
  StoredNumber numbers_;
};

int run(int argc, char** argv) {
  SIMILE_CHECK(argc >= 4 && argc <= 6, ErrorKind::kUsage, kUsage);
  const std::string folder = argv[1];
  SIMILE_CHECK(!fs::exists(folder), ErrorKind::kUsage, "'{}' is there", folder);
  const int64_t rows = std::atoll(argv[2]), D = std::atoll(argv[3]);
  const int64_t changes = argc >= 5 ? std::atoll(argv[4]) : 200;
  const StoredNumber numbers = parse_stored_number(argc == 6 ? argv[5] : "fp32");
  SIMILE_CHECK(rows >= 1 && D >= 1 && changes >= 1, ErrorKind::kUsage, kUsage);
  const Json result = IndexBench(folder, rows, D, changes, numbers).run();
  fs::remove_all(folder);
  std::puts(result.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace simile::bench

int main(int argc, char** argv) {
  try {
    return simile::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_index_bench: %s\n", error.what());
    return 1;
  }
}
