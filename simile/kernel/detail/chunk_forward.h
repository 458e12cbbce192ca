// SPDX-License-Identifier: Apache-2.0
// The one walk through the encoder's layers, for inference and for training.
//
// The steps, and so the bits, are the same; what differs is where their results go. With a tape
// each goes to its own place there, for backward, and dropout and the perturbation apply; without
// one the results share a piece of work space that stays in the second-level cache, and are gone.
#pragma once

#include <cstdint>

#include "simile/core/memory.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/detail/weight_panels.h"

namespace simile {

// One forward pass over a batch cut by `plan`; with a tape, `plan`, `tables` and `panels` are its.
struct ForwardPass {
  const EncoderShape& shape;
  const EncoderWeights& weights;
  const WeightPanels& panels;
  const PositionTables& tables;
  const BatchPlan& plan;
  const PackedBatch& batch;
  float* hidden;                        // [tokens, H], in the order of the batch
  TapeContents* tape = nullptr;         // carved for the plan; null: inference
  EncoderDropout dropout = {};          // without a tape: none
  const float* perturbation = nullptr;  // [tokens, H] or null
};

// All chunks, on up to `threads` threads, with work space from `memory`.
void run_forward(const ForwardPass& pass, int64_t threads, FloatBuffer& memory);

}  // namespace simile
