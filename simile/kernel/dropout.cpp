// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/dropout.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

float probability(const EncoderDropout& dropout, DropoutPlace place) {
  const auto own = [&](float p) { return p < 0 ? dropout.hidden : p; };
  switch (place) {
    case DropoutPlace::kAttention:
      return dropout.attention;
    case DropoutPlace::kHead:
      return dropout.head;
    case DropoutPlace::kEmbedding:
      return own(dropout.embedding);
    case DropoutPlace::kAttentionOutput:
      return own(dropout.attended);
    default:
      return dropout.hidden;
  }
}

// One draw of the generator by itself, not of a mask.
std::array<uint32_t, 4> draw(uint64_t number, uint32_t site, uint64_t key) {
  return philox({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), site, 1},
                {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

}  // namespace

DropoutOrigin origin_after(const DropoutOrigin& origin, const EncoderShape& shape,
                           const PackedBatch& part) {
  DropoutOrigin next = origin;
  next.token += part.tokens();
  next.attention_byte += attention_mask_offsets(shape, part).back();
  next.sequence += part.size();
  return next;
}

DropoutMask::DropoutMask(const EncoderDropout& dropout, DropoutPlace place, int64_t layer)
    : site_(static_cast<uint32_t>(place) << 24 | static_cast<uint32_t>(layer)) {
  const std::array<uint32_t, 4> of_step = draw(dropout.step, 0, dropout.key);
  key_ = static_cast<uint64_t>(of_step[1]) << 32 | of_step[0];
  const float p = probability(dropout, place);
  SIMILE_CHECK(p >= 0 && p < 1, ErrorKind::kRecipe,
               "dropout probability " + std::to_string(p) + ": expected at least 0 and below 1");
  threshold_ = std::min<uint32_t>(65535, static_cast<uint32_t>(std::lround(p * 65536.0)));
  scale_ = static_cast<float>(65536.0 / (65536.0 - threshold_));
}

void DropoutMask::fill(int64_t first, int64_t bytes, uint8_t* mask) const {
  vector_kernels().fill_mask(key_, site_, threshold_, static_cast<uint64_t>(first), bytes, mask);
}

MaskStream DropoutMask::stream(int64_t first) const {
  return {key_, site_, threshold_, static_cast<uint64_t>(first), scale_};
}

float DropoutMask::head_scale(int64_t heads) const {
  const double dropped = threshold_ / 65536.0;
  double all_dropped = 1.0;  // by products, since pow() may differ between machines
  for (int64_t h = 0; h < heads; ++h) all_dropped *= dropped;
  const double survival = 1.0 - dropped + all_dropped / static_cast<double>(heads);
  return static_cast<float>(1.0 / survival);
}

void DropoutMask::fill_heads(int64_t index, int64_t heads, float* factors) const {
  if (heads == 0) return;
  const float factor = head_scale(heads);
  bool any = false;
  for (int64_t h = 0; h < heads; ++h) {
    uint8_t byte = 0;
    fill(index * heads + h, 1, &byte);
    factors[h] = (byte & 1) != 0 ? factor : 0.0f;
    any = any || (byte & 1) != 0;
  }
  if (any) return;
  factors[draw(static_cast<uint64_t>(index), site_, key_)[0] % static_cast<uint64_t>(heads)] =
      factor;
}

}  // namespace simile
