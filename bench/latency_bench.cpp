// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/benchmarks.h"
#include "bench/encoder_check.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/encode/sentence_encoder.h"

namespace simile::bench {
namespace {

constexpr int64_t kWarmUp = 50;  // calls

}  // namespace

nlohmann::json measure_latency(const BenchOptions& options, int64_t calls) {
  const SentenceEncoder encoder =
      SentenceEncoder::load(options.model_folder, silent_events(), options.products);
  const Workload all = read_workload(options.workload_folder, options.distribution);
  const double difference =
      check_vectors(encoder, options.model_folder, options.products, take_batch(all, 0, 8));
  std::vector<double> milliseconds;
  for (int64_t i = -kWarmUp; i < calls; ++i) {
    const Workload one = take_batch(all, i < 0 ? i + kWarmUp : i, 1);
    const double start = now_seconds();
    encoder.encode_ids(one, {}, silent_events());
    if (i >= 0) milliseconds.push_back(1e3 * (now_seconds() - start));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return {{"calls", calls},
          {"milliseconds_median", median(milliseconds)},
          {"milliseconds_p99", milliseconds[static_cast<size_t>(99 * (calls - 1) / 100)]},
          {"difference_from_oracle", difference}};
}

}  // namespace simile::bench
