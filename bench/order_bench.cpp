// SPDX-License-Identifier: Apache-2.0
// The cost of batch orders on large data: one JSON object on stdout.
//
//   simile_order_bench neighbours [ROWS] [D] [TOP_N] [NOISE]
//   simile_order_bench clusters [ROWS] [D] [CLUSTERS]
//   simile_order_bench words [EXAMPLES] [MEMORY_MB]
//
// The data are made from a seed. `peak_mb` is the largest resident size of the whole process, data
// included, in 10^6 bytes; `data_mb` the resident size before the work. Each process does one kind
// of work, so that peaks do not mix.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simile/batch/plan.h"
#include "simile/core/check.h"
#include "simile/core/matrix.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/neighbours/clusters.h"
#include "simile/neighbours/neighbours.h"

namespace {

using nlohmann::json;
using simile::Matrix;
using simile::RandomStream;

constexpr const char* kUsage =
    "usage: simile_order_bench neighbours [ROWS] [D] [TOP_N] [NOISE]\n"
    "       simile_order_bench clusters [ROWS] [D] [CLUSTERS]\n"
    "       simile_order_bench words [EXAMPLES]";

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

rusage usage() {
  rusage result{};
  getrusage(RUSAGE_SELF, &result);
  return result;
}

double peak_mb() { return static_cast<double>(usage().ru_maxrss) * 1024e-6; }

// Wall and processor time since it was made, and the peak memory of the process.
class Meter {
 public:
  void report(json& result) const {
    const rusage now = usage();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    result["seconds"] = wall.count();
    result["cpu_seconds"] = seconds_of(now.ru_utime) - seconds_of(start_usage_.ru_utime) +
                            seconds_of(now.ru_stime) - seconds_of(start_usage_.ru_stime);
    result["data_mb"] = static_cast<double>(start_usage_.ru_maxrss) * 1024e-6;
    result["peak_mb"] = peak_mb();
    result["threads"] = simile::thread_count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  rusage start_usage_ = usage();
};

// Unit vectors around centres, one for every 200 rows, that are themselves around 100 topics.
// Directions fade as 1 / (1 + d / 16), as those of trained encoders do: neighbours lie in several
// clusters, and a cell's border cuts through them. `noise` in percent: 70 is as wide as the centres
// are around their topic, 200 leaves little of the clusters.
Matrix<float> clustered_vectors(int64_t rows, int64_t D, int64_t noise = 70) {
  RandomStream stream(1, "bench vectors");
  const auto fill = [&](float* row, const float* around, double size) {
    for (int64_t d = 0; d < D; ++d) {
      const double fade = size / (1 + static_cast<double>(d) / 16);
      row[d] = (around ? around[d] : 0) + static_cast<float>(fade * stream.normal());
    }
  };
  Matrix<float> topics(100, D), centres((rows + 199) / 200, D), vectors(rows, D);
  for (int64_t i = 0; i < topics.rows; ++i) fill(topics.row(i), nullptr, 1);
  for (int64_t i = 0; i < centres.rows; ++i) fill(centres.row(i), topics.row(i % 100), 0.7);
  for (int64_t i = 0; i < rows; ++i) {
    float* row = vectors.row(i);
    fill(row, centres.row(static_cast<int64_t>(stream.below(centres.rows))), 0.01 * noise);
    double square = 0;
    for (int64_t d = 0; d < D; ++d) square += static_cast<double>(row[d]) * row[d];
    for (int64_t d = 0; d < D; ++d) row[d] /= static_cast<float>(std::sqrt(square));
  }
  return vectors;
}

json measure_neighbours(int64_t rows, int64_t D, int64_t top_n, int64_t noise) {
  const Matrix<float> vectors = clustered_vectors(rows, D, noise);
  json result = {
      {"work", "neighbours"}, {"rows", rows}, {"D", D}, {"top_n", top_n}, {"noise", noise}};
  const Meter meter;
  simile::NeighbourReport report;
  const Matrix<int32_t> neighbours = simile::nearest_neighbours(vectors, top_n, &report);
  meter.report(result);
  result["method"] = report.method;
  result["recall"] = report.recall;
  result["sampled"] = report.sampled;
  return result;
}

// Every example once.
void check_order(const simile::ExampleOrder& order) {
  std::vector<bool> seen(order.size(), false);
  for (const int32_t example : order) {
    const bool fresh = !seen.at(static_cast<size_t>(example));
    SIMILE_CHECK(fresh, simile::ErrorKind::kFailed, "an example stands twice in the order");
    seen[static_cast<size_t>(example)] = true;
  }
}

// How often an example is `alike` the one after it, by 100,000 places spread over the order: 7 of 8
// when all groups are full.
template <typename Alike>
double share_of_neighbours(const simile::ExampleOrder& order, const Alike& alike) {
  const size_t step = std::max<size_t>(1, order.size() / 100000) | 1;
  int64_t looked_at = 0, found = 0;
  for (size_t i = 0; i + 1 < order.size(); i += step) {
    ++looked_at;
    found += alike(order[i], order[i + 1]);
  }
  return static_cast<double>(found) / static_cast<double>(std::max<int64_t>(1, looked_at));
}

json measure_clusters(int64_t rows, int64_t D, int64_t clusters) {
  const Matrix<float> vectors = clustered_vectors(rows, D);
  json result = {{"work", "clusters"}, {"rows", rows}, {"D", D}, {"clusters", clusters}};
  const Meter meter;
  const std::vector<int32_t> cluster_of = simile::cluster_vectors(vectors, clusters, 1);
  meter.report(result["k_means"]);
  const Meter order_meter;
  const auto cluster_word = [&](int64_t example, std::vector<uint64_t>& words) {
    words.push_back(static_cast<uint64_t>(cluster_of[static_cast<size_t>(example)]));
  };
  const simile::ExampleOrder order = simile::order_words(rows, cluster_word, 8, 1, 0);
  order_meter.report(result["order"]);
  check_order(order);
  result["same_cluster_as_next"] = share_of_neighbours(order, [&](int32_t a, int32_t b) {
    return cluster_of[static_cast<size_t>(a)] == cluster_of[static_cast<size_t>(b)];
  });
  return result;
}

// Texts of 4 to 19 words, word r of 1,000,000 with a probability in proportion to about 1 / r; made
// anew whenever they are asked for.
class ZipfTexts {
 public:
  std::string text(int64_t example) const {
    RandomStream stream(1, "bench texts", static_cast<uint64_t>(example));
    std::string text;
    for (uint64_t words = 4 + stream.below(16); words > 0; --words) {
      const auto rank = static_cast<int64_t>(std::exp(std::log(1e6) * stream.uniform()));
      text += "w" + std::to_string(rank) + " ";
    }
    return text;
  }
};

json measure_words(int64_t examples) {
  json result = {{"work", "words"}, {"examples", examples}};
  const ZipfTexts texts;
  const simile::TextShingler shingler(1);
  {
    const Meter meter;
    size_t bytes = 0;
    for (int64_t example = 0; example < examples; ++example) bytes += texts.text(example).size();
    meter.report(result["texts_alone"]);
    result["text_bytes"] = bytes;
  }
  const Meter meter;
  const auto text_words = [&](int64_t example, std::vector<uint64_t>& words) {
    shingler.append(texts.text(example), words);
  };
  const simile::ExampleOrder order = simile::order_words(examples, text_words, 8, 1, 0);
  meter.report(result["order"]);
  check_order(order);
  result["shares_word_with_next"] = share_of_neighbours(order, [&](int32_t a, int32_t b) {
    std::vector<uint64_t> left, right;
    text_words(a, left);
    text_words(b, right);
    return std::find_first_of(left.begin(), left.end(), right.begin(), right.end()) != left.end();
  });
  return result;
}

int64_t count_at(const std::vector<std::string>& arguments, size_t i, int64_t otherwise) {
  if (i >= arguments.size()) return otherwise;
  const int64_t count = std::atoll(arguments[i].c_str());
  SIMILE_CHECK(count >= 1, simile::ErrorKind::kUsage,
               "'" + arguments[i] + "' should be a whole number above 0\n" + kUsage);
  return count;
}

json measure(const std::vector<std::string>& arguments) {
  const std::string work = arguments.empty() ? "" : arguments[0];
  if (work == "neighbours") {
    return measure_neighbours(count_at(arguments, 1, 1000000), count_at(arguments, 2, 256),
                              count_at(arguments, 3, 500), count_at(arguments, 4, 70));
  }
  if (work == "clusters") {
    return measure_clusters(count_at(arguments, 1, 1000000), count_at(arguments, 2, 256),
                            count_at(arguments, 3, 1000));
  }
  if (work == "words") {
    return measure_words(count_at(arguments, 1, 10000000));
  }
  throw simile::Error(simile::ErrorKind::kUsage, kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::printf("%s\n", measure(std::vector<std::string>(argv + 1, argv + argc)).dump().c_str());
    return 0;
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "simile_order_bench: %s\n", error.what());
    return simile::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_order_bench: %s\n", error.what());
    return 1;
  }
}
