// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace simile {
namespace {

enum class MetricKind { kCounter, kSeconds, kSize };

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
    {"te_request_input_length", MetricKind::kSize, "Tokens of each request"},
    {"te_batch_next_size", MetricKind::kSize, "Texts of each batch"},
    {"te_batch_next_tokens", MetricKind::kSize, "Tokens of each batch"},
};

std::string heading(const char* name, const char* help, const char* kind) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
}

}  // namespace

Metrics::Metrics() {
  for (const MetricRow& row : kMetrics) {
    if (row.kind == MetricKind::kCounter) {
      counters_[row.name];
      continue;
    }
    const bool is_seconds = row.kind == MetricKind::kSeconds;
    Histogram& histogram = histograms_[row.name];
    double bound = is_seconds ? 1e-5 : 1;
    for (int i = 0; i < (is_seconds ? 35 : 21); ++i) {
      histogram.bounds.push_back(bound);
      bound *= is_seconds ? 1.5 : 2;
    }
    histogram.counts.assign(histogram.bounds.size() + 1, 0);
  }
}

void Metrics::count(const std::string& name, const std::string& labels, int64_t more) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.at(name)[labels] += more;
}

void Metrics::observe(const std::string& name, double value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Histogram& histogram = histograms_.at(name);
  const auto bound = std::lower_bound(histogram.bounds.begin(), histogram.bounds.end(), value);
  ++histogram.counts[static_cast<size_t>(bound - histogram.bounds.begin())];
  histogram.sum += value;
}

std::string Metrics::text(int64_t queue_size, std::optional<int64_t> documents) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  for (const MetricRow& row : kMetrics) {
    if (row.kind == MetricKind::kCounter) {
      out += heading(row.name, row.help, "counter");
      for (const auto& [labels, value] : counters_.at(row.name)) {
        out += fmt::format("{}{} {}\n", row.name, labels.empty() ? "" : "{" + labels + "}", value);
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
  out += heading("te_queue_size", "Requests in the queue", "gauge");
  out += fmt::format("te_queue_size {}\n", queue_size);
  if (!documents) return out;
  out += heading("te_index_documents", "Documents of the index", "gauge");
  return out + fmt::format("te_index_documents {}\n", *documents);
}

}  // namespace simile
