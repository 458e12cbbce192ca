// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/bench_trainer.h"
#include "bench/benchmarks.h"
#include "bench/encoder_check.h"
#include "bench/memory.h"
#include "bench/timing.h"
#include "simile/encode/sentence_encoder.h"

namespace simile::bench {
namespace {

constexpr int64_t kShortText = 16, kCheckedText = 256;  // tokens

std::vector<int32_t> make_text(int64_t tokens, int64_t seed) {
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (int64_t i = 0; i < tokens; ++i) {
    ids[static_cast<size_t>(i)] = static_cast<int32_t>(1000 + (7919 * (i + 1) * seed) % 29000);
  }
  return ids;
}

// Two pairs, of a long and of a short text each.
Workload make_pairs(int64_t tokens) {
  return {make_text(tokens, 1), make_text(kShortText, 2), make_text(tokens, 3),
          make_text(kShortText, 4)};
}

// `work` twice, the first time for the memory that is kept from call to call.
template <typename Work>
nlohmann::json watch(int64_t tokens, const Work& work) {
  reset_peak_memory();
  const int64_t before = resident_memory();
  work();
  const double start = now_seconds();
  work();
  return {{"tokens", tokens},
          {"seconds", now_seconds() - start},
          {"bytes_before", before},
          {"peak_bytes", peak_memory()}};
}

}  // namespace

nlohmann::json measure_long_inference(const BenchOptions& options, int64_t tokens) {
  const SentenceEncoder encoder =
      SentenceEncoder::load(options.model_folder, silent_events(), options.products);
  encoder.encode_ids({make_text(kShortText, 2)}, {}, silent_events());
  const Workload one = {make_text(tokens, 1)};
  nlohmann::json result = watch(tokens, [&] { encoder.encode_ids(one, {}, silent_events()); });
  result["difference_from_oracle"] = check_vectors(encoder, options.model_folder, options.products,
                                                   {make_text(std::min(tokens, kCheckedText), 1)});
  return result;
}

nlohmann::json measure_long_training(const BenchOptions& options, int64_t tokens) {
  Trainer trainer(options.model_folder, options.dropout, options.products);
  Phases ignored;
  const auto train = [&](int64_t length) { trainer.step(make_pairs(length), 2e-5, ignored); };
  train(kShortText);
  nlohmann::json result = watch(tokens, [&] { train(tokens); });
  result["gradient_difference_from_oracle"] =
      trainer.check_gradient(make_pairs(std::min(tokens, kCheckedText)));
  return result;
}

}  // namespace simile::bench
