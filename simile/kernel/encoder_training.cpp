// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_training.h"

#include "simile/core/threads.h"
#include "simile/kernel/detail/chunk_forward.h"

namespace simile {
namespace {

// Fixed, because the order of backward's sums follows the chunks.
constexpr int64_t kChunkTokens = 128, kChunkMultiple = 4;

// Attention's bits are made by the threads, which cannot throw.
void check_dropout(const EncoderDropout& dropout) {
  for (const DropoutPlace place : {DropoutPlace::kAttention, DropoutPlace::kHead}) {
    DropoutMask(dropout, place, 0);
  }
}

}  // namespace

void encoder_forward_training(const EncoderShape& shape, const EncoderWeights& weights,
                              const PackedBatch& batch, const EncoderDropout& dropout,
                              const float* perturbation, EncoderTape& tape, float* hidden) {
  check_batch(shape, batch);
  check_dropout(dropout);
  TapeContents& contents = tape.contents();
  contents.plan = plan_batch(shape, batch, kChunkTokens, kChunkMultiple);
  contents.tables.build(shape, weights, contents.plan.longest);
  const int64_t floats = carve_tape(shape, dropout, contents, nullptr);
  carve_tape(shape, dropout, contents, contents.activations.reserve(floats));
  contents.panels.pack(shape, weights, PanelUse::kForward);
  run_forward({shape, weights, contents.panels, contents.tables, contents.plan, batch, hidden,
               &contents, dropout, perturbation},
              thread_count(), contents.work);
}

}  // namespace simile
