// SPDX-License-Identifier: Apache-2.0
// Counters and histograms in the text form of Prometheus, under the names of
// text-embeddings-inference (TEI) and with its buckets: 35 from 1e-5 by factors of 1.5 for seconds,
// powers of two for sizes. Methods may be called by any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace simile {

class Metrics {
 public:
  // All counters of the table, at 0.
  Metrics();

  // Counts `more`; `labels` as Prometheus writes them: method="single". `name` must be one of the
  // table's (metrics.cpp), as must that of the others.
  void count(const std::string& name, const std::string& labels = "", int64_t more = 1);
  void observe(const std::string& name, double value);
  void set(const std::string& name, double value, const std::string& labels = "");
  // Sets a gauge to 1 with labels that tell what is at `place`; what it told of that place before
  // is gone.
  void tell(const std::string& name, const std::string& labels, const std::string& place);

  // Gauges that were never set are left out.
  std::string text() const;

 private:
  struct Histogram {
    std::vector<double> bounds;
    std::vector<int64_t> counts;  // of each bound, and of all above
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, double>> values_;     // by name and labels
  std::map<std::string, std::map<std::string, std::string>> told_;  // labels, by name and place
  std::map<std::string, Histogram> histograms_;
};

// Sets Prometheus' standard process metrics: memory, processor time, descriptors, start.
void tell_of_process(Metrics& metrics);

}  // namespace simile
