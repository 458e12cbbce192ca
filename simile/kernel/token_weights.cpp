// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/token_weights.h"

#include <algorithm>
#include <cmath>

#include "simile/core/parallel.h"
#include "simile/kernel/detail/batch_plan.h"

namespace simile {
namespace {

constexpr int32_t kGains = 64;
constexpr int64_t kSequencesAtOnce = 64;

float gain_of(int32_t occurrence, double saturation) {
  if (occurrence == 1) return 1;  // 0^0 too is nothing
  return static_cast<float>(std::pow(occurrence, saturation) -
                            std::pow(occurrence - 1, saturation));
}

// Counts how often each token came; zero between two sequences.
std::vector<int32_t>& seen_counts(int64_t vocabulary) {
  thread_local std::vector<int32_t> counts;
  if (counts.size() < static_cast<size_t>(vocabulary)) counts.resize(vocabulary, 0);
  return counts;
}

}  // namespace

TokenWeights::TokenWeights(const EncoderShape& shape) : shape_(shape) {
  if (shape.saturation == 1) return;
  for (int32_t o = 1; o <= kGains; ++o) gains_.push_back(gain_of(o, shape.saturation));
}

float TokenWeights::gain(int32_t occurrence) const {
  return occurrence <= kGains ? gains_[static_cast<size_t>(occurrence) - 1]
                              : gain_of(occurrence, shape_.saturation);
}

void TokenWeights::operator()(const int32_t* ids, int64_t length, float* shares) const {
  std::fill_n(shares, length, 1.0f);
  if (!gains_.empty()) {
    std::vector<int32_t>& counts = seen_counts(shape_.vocabulary);
    for (int64_t k = 0; k < length; ++k) shares[k] = gain(++counts[static_cast<size_t>(ids[k])]);
    for (int64_t k = 0; k < length; ++k) counts[static_cast<size_t>(ids[k])] = 0;
  }
  if (shape_.half_position > 0) {
    for (int64_t k = 0; k < length; ++k) {
      shares[k] /= 1.0f + static_cast<float>(k) / shape_.half_position;
    }
  }
  double sum = 0;
  for (int64_t k = 0; k < length; ++k) sum += shares[k];
  const auto scale = static_cast<float>(1 / std::max(sum, 1e-30));
  for (int64_t k = 0; k < length; ++k) shares[k] *= scale;
}

std::vector<float> TokenWeights::of_batch(const PackedBatch& batch) const {
  check_batch(shape_, batch);
  std::vector<float> shares(batch.ids.size());
  run_parallel(batch.size(), kSequencesAtOnce, [&](int64_t i) {
    const int32_t begin = batch.offsets[static_cast<size_t>(i)];
    const int32_t end = batch.offsets[static_cast<size_t>(i) + 1];
    (*this)(batch.ids.data() + begin, end - begin, shares.data() + begin);
  });
  return shares;
}

}  // namespace simile
