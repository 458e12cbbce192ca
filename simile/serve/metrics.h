// SPDX-License-Identifier: Apache-2.0
// Counters and histograms in the text form of Prometheus, under the names of
// text-embeddings-inference (TEI) and with its buckets: 35 from 1e-5 by factors of 1.5 for seconds,
// powers of two for sizes. Methods may be called by any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace simile {

class Metrics {
 public:
  Metrics();

  // Counts `more`; `labels` as Prometheus writes them: method="single". `name` must be one of the
  // table's (metrics.cpp), as must that of observe().
  void count(const std::string& name, const std::string& labels = "", int64_t more = 1);
  void observe(const std::string& name, double value);

  // With these gauges; `documents` of the index, where there is one.
  std::string text(int64_t queue_size, std::optional<int64_t> documents = std::nullopt) const;

 private:
  struct Histogram {
    std::vector<double> bounds;
    std::vector<int64_t> counts;  // of each bound, and of all above
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, int64_t>> counters_;  // by name and labels
  std::map<std::string, Histogram> histograms_;
};

}  // namespace simile
