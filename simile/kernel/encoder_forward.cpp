// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_forward.h"

#include <omp.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/sequence_encoders.h"

namespace simile {
namespace {

constexpr int64_t kLargestChunk = 256, kSmallestChunk = 64;  // tokens

}  // namespace

EncoderForward::EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                               ProductType products)
    : EncoderForward(shape, weights, {}, products) {}
EncoderForward::EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                               const LayerReader& read_layer, ProductType products)
    : shape_(shape), weights_(weights) {
  const int64_t longest = std::max({shape.hidden, shape.intermediate, shape.embedding_size()});
  SIMILE_CHECK(products != ProductType::kByte || longest <= kLongestByteSum, ErrorKind::kInput,
               "a layer is {} numbers wide; products in int8 take at most {}", longest,
               kLongestByteSum);
  const auto panels = std::make_shared<WeightPanels>(products);
  panels->pack(shape_, weights_, PanelUse::kForward, read_layer);
  panels_ = panels;
}

void EncoderForward::operator()(const PackedBatch& batch, float* hidden) const {
  check_batch(shape_, batch);
  if (batch.tokens() == 0) return;
  // Rows do not depend on their chunk, so here its size may follow the number of threads.
  const int64_t threads = omp_in_parallel() ? 1 : thread_count();
  const int64_t chunk_tokens =
      std::clamp((batch.tokens() + threads - 1) / threads, kSmallestChunk, kLargestChunk);
  const BatchPlan plan = plan_batch(shape_, batch, chunk_tokens, threads);
  PositionTables tables;
  tables.build(shape_, weights_, plan.longest);
  static thread_local FloatBuffer memory;
  run_forward({shape_, weights_, *panels_, tables, plan, batch, hidden}, threads, memory);
}

std::shared_ptr<const Encoder> make_encoder(const EncoderShape& shape, const float* flat,
                                            ProductType products) {
  if (shape.averaged) {
    return std::make_shared<const StaticEncoder>(shape,
                                                 StaticTable{flat, nullptr, nullptr, nullptr});
  }
  return std::make_shared<const EncoderForward>(shape, encoder_weights(shape, flat), products);
}

}  // namespace simile
