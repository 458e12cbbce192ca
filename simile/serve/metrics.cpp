// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "simile/core/file.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

enum class MetricKind { kCounter, kGauge, kSeconds, kSize };

struct MetricRow {
  const char* name;
  MetricKind kind;
  const char* help;
};

constexpr MetricRow kMetrics[] = {
    {"te_request_count", MetricKind::kCounter, "Requests, by method: single or batch"},
    {"te_request_success", MetricKind::kCounter, "Requests that were answered, by method"},
    {"te_request_failure", MetricKind::kCounter, "Requests that were refused, by err"},
    {"te_embed_count", MetricKind::kCounter, "Texts to be embedded"},
    {"te_embed_success", MetricKind::kCounter, "Texts that were embedded"},
    {"te_embed_duration", MetricKind::kSeconds, "Of embedding requests, in seconds"},
    {"te_embed_tokenization_duration", MetricKind::kSeconds, "Of their tokenisation"},
    {"te_embed_queue_duration", MetricKind::kSeconds, "Of their time in the queue"},
    {"te_embed_inference_duration", MetricKind::kSeconds, "Of their computation"},
    {"te_predict_count", MetricKind::kCounter, "Texts to be ranked"},
    {"te_predict_success", MetricKind::kCounter, "Texts that were ranked"},
    {"te_predict_duration", MetricKind::kSeconds, "Of ranking requests, in seconds"},
    {"te_predict_tokenization_duration", MetricKind::kSeconds, "Of their tokenisation"},
    {"te_predict_queue_duration", MetricKind::kSeconds, "Of their time in the queue"},
    {"te_predict_inference_duration", MetricKind::kSeconds, "Of their computation"},
    {"te_search_count", MetricKind::kCounter, "Queries to search for"},
    {"te_search_success", MetricKind::kCounter, "Queries whose hits were given"},
    {"te_search_duration", MetricKind::kSeconds, "Of searching requests, in seconds"},
    {"te_reload_success", MetricKind::kCounter,
     "How often model, index, keys and certificate were read again"},
    {"te_reload_failure", MetricKind::kCounter,
     "How often one of them could not be, and the old one stayed"},
    {"te_request_duration", MetricKind::kSeconds, "Of requests for vectors or ranks, in seconds"},
    {"te_request_tokenization_duration", MetricKind::kSeconds, "Of their tokenisation"},
    {"te_request_queue_duration", MetricKind::kSeconds, "Of their time in the queue"},
    {"te_request_inference_duration", MetricKind::kSeconds, "Of their computation"},
    {"te_request_input_length", MetricKind::kSize, "Tokens of each request"},
    {"te_batch_next_size", MetricKind::kSize, "Texts of each batch"},
    {"te_batch_next_tokens", MetricKind::kSize, "Tokens of each batch"},
    {"te_queue_size", MetricKind::kGauge, "Requests in the queue"},
    {"te_index_documents", MetricKind::kGauge, "Documents of the index"},
    {"simile_index_generation", MetricKind::kGauge, "Changes of the index since it was begun"},
    {"simile_readable", MetricKind::kGauge, "Whether model and index can be read"},
    {"simile_build_info", MetricKind::kGauge, "1, with the program's version and the model"},
    {"simile_last_reload_timestamp_seconds", MetricKind::kGauge, "When all was read anew"},
    {"simile_connections", MetricKind::kGauge, "Open connections"},
    {"simile_connections_total", MetricKind::kCounter, "Connections that were accepted"},
    {"simile_connections_refused_total", MetricKind::kCounter,
     "Connections beyond --connections or --connections-per-address that were turned away"},
    {"simile_connections_evicted_total", MetricKind::kCounter,
     "Idle connections that were closed for another one"},
    {"process_resident_memory_bytes", MetricKind::kGauge, "Resident memory"},
    {"process_virtual_memory_bytes", MetricKind::kGauge, "Virtual memory"},
    {"process_cpu_seconds_total", MetricKind::kGauge, "Processor time of user and system"},
    {"process_start_time_seconds", MetricKind::kGauge, "Start, in seconds since 1970"},
    {"process_open_fds", MetricKind::kGauge, "Open files and connections"},
    {"process_max_fds", MetricKind::kGauge, "How many there may be"},
};

std::string heading(const char* name, const char* help, const char* kind) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
}

}  // namespace

Metrics::Metrics() {
  for (const MetricRow& row : kMetrics) {
    if (row.kind == MetricKind::kCounter) values_[row.name];
    if (row.kind == MetricKind::kCounter || row.kind == MetricKind::kGauge) continue;
    const bool is_seconds = row.kind == MetricKind::kSeconds;
    Histogram& histogram = histograms_[row.name];
    double bound = is_seconds ? 1e-5 : 1;
    for (int i = 0; i < (is_seconds ? 35 : 21); ++i) {
      histogram.bounds.push_back(bound);
      bound *= is_seconds ? 1.5 : 2;
    }
    histogram.counts.assign(histogram.bounds.size() + 1, 0);
  }
  for (const char* name : {"te_request_count", "te_request_success"}) {
    for (const char* method : {"single", "batch"}) {
      values_[name][fmt::format("method=\"{}\"", method)] = 0;
    }
  }
  for (const RefusalRow& row : refusal_rows()) {
    values_["te_request_failure"][fmt::format("err=\"{}\"", row.counted_as)] = 0;
  }
  for (auto& [name, values] : values_) {
    if (values.empty()) values[""] = 0;
  }
  set("process_start_time_seconds", static_cast<double>(std::time(nullptr)));
}

void Metrics::count(const std::string& name, const std::string& labels, int64_t more) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.at(name)[labels] += static_cast<double>(more);
}

void Metrics::set(const std::string& name, double value, const std::string& labels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_[name][labels] = value;
}

void Metrics::tell(const std::string& name, const std::string& labels, const std::string& place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string& told = told_[name][place];
  values_[name].erase(told);
  told = labels;
  values_[name][labels] = 1;
}

void Metrics::observe(const std::string& name, double value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Histogram& histogram = histograms_.at(name);
  const auto bound = std::lower_bound(histogram.bounds.begin(), histogram.bounds.end(), value);
  ++histogram.counts[static_cast<size_t>(bound - histogram.bounds.begin())];
  histogram.sum += value;
}

std::string Metrics::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  for (const MetricRow& row : kMetrics) {
    if (row.kind == MetricKind::kCounter || row.kind == MetricKind::kGauge) {
      const auto values = values_.find(row.name);
      if (values == values_.end()) continue;
      const bool is_gauge = row.kind == MetricKind::kGauge && !ends_with(row.name, "_total");
      out += heading(row.name, row.help, is_gauge ? "gauge" : "counter");
      for (const auto& [labels, value] : values->second) {
        out += fmt::format("{}{} {:.15g}\n", row.name, labels.empty() ? "" : "{" + labels + "}",
                           value);
      }
      continue;
    }
    out += heading(row.name, row.help, "histogram");
    const Histogram& histogram = histograms_.at(row.name);
    int64_t total = 0;
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
      total += histogram.counts[i];
      const bool last = i == histogram.bounds.size();
      out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", row.name,
                         last ? "+Inf" : fmt::format("{}", histogram.bounds[i]), total);
    }
    out += fmt::format("{0}_sum {1}\n{0}_count {2}\n", row.name, histogram.sum, total);
  }
  return out;
}

void tell_of_process(Metrics& metrics) {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  metrics.set("process_cpu_seconds_total",
              static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                  1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
  double pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  metrics.set("process_virtual_memory_bytes", pages * page);
  metrics.set("process_resident_memory_bytes", resident * page);
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error), end;
  metrics.set("process_open_fds", static_cast<double>(std::distance(files, end)));
  metrics.set("process_max_fds", static_cast<double>(sysconf(_SC_OPEN_MAX)));
}

}  // namespace simile
