// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_forward.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "simile/core/threads.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/embed.h"
#include "simile/kernel/detail/float_buffer.h"
#include "simile/kernel/detail/position_tables.h"
#include "simile/kernel/detail/weight_panels.h"

namespace simile {
namespace {

constexpr int64_t kLargestChunk = 128, kSmallestChunk = 64;  // tokens

// One chunk's way through the layers; all its numbers stay in the second-level cache.
class ChunkForward {
 public:
  static int64_t wide_floats(const EncoderShape& s) {  // a token
    return std::max({4 * s.hidden, s.up_size(), s.embedding_size()});
  }
  static int64_t work_floats(const EncoderShape& s, const BatchPlan& plan) {
    return plan.largest_chunk * (2 * s.hidden + wide_floats(s)) +
           attention_scratch_floats(plan.longest, s.head_size());
  }

  ChunkForward(const EncoderShape& shape, const EncoderWeights& weights, const WeightPanels& panels,
               const PositionTables& tables, const BatchPlan& plan, const PlannedChunk& chunk,
               float* work)
      : shape_(shape),
        weights_(weights),
        panels_(panels),
        tables_(tables),
        plan_(plan),
        chunk_(chunk) {
    const int64_t H = shape.hidden, rows = chunk.rows;
    x_ = work;
    sum_ = x_ + rows * H;
    wide_ = sum_ + rows * H;
    context_ = wide_ + 3 * rows * H;
    scratch_ = wide_ + rows * wide_floats(shape);
  }

  void run(const PackedBatch& batch, float* hidden) {
    embed(batch);
    for (int64_t i = 0; i < shape_.layers; ++i) {
      if (shape_.pre_norm) {
        pre_norm_layer(i);
      } else {
        layer(i);
      }
    }
    const int64_t H = shape_.hidden;
    if (shape_.pre_norm) {
      norm(x_, nullptr, H, weights_.final_norm_weight, weights_.final_norm_bias, x_);
    }
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = plan_.sequences[i];
      std::memcpy(hidden + s.token * H, x_ + (s.row - chunk_.row) * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
  }

 private:
  void embed(const PackedBatch& batch) {
    const int64_t E = shape_.embedding_size();
    float* const sum = shape_.projected ? wide_ : x_;
    embed_chunk(shape_, weights_, batch, plan_, chunk_, sum);
    norm(sum, nullptr, E, weights_.norm_weight, weights_.norm_bias, sum);
    if (!shape_.projected) return;
    multiply(sum, E, panels_.projection(), weights_.projection_bias, x_, shape_.hidden, false);
  }

  void layer(int64_t i) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    attend(i, x_);
    norm(sum_, x_, H, w.attention_norm_weight, w.attention_norm_bias, x_);
    feed_forward(i, x_);
    norm(sum_, x_, H, w.output_norm_weight, w.output_norm_bias, x_);
  }

  void pre_norm_layer(int64_t i) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    if (w.attention_norm_weight) {
      norm(x_, nullptr, H, w.attention_norm_weight, w.attention_norm_bias, sum_);
    }
    attend(i, w.attention_norm_weight ? sum_ : x_);
    kernels_.add_to(chunk_.rows * H, sum_, x_);
    norm(x_, nullptr, H, w.output_norm_weight, w.output_norm_bias, sum_);
    feed_forward(i, sum_);
    kernels_.add_to(chunk_.rows * H, sum_, x_);
  }

  // sum_ = attention of x, which may be sum_
  void attend(int64_t i, const float* x) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    multiply(x, H, panels_.layer(i).qkv, w.qkv_bias, wide_, 3 * H, false);
    attend_sequences(shape_.is_local(i));
    multiply(context_, H, panels_.layer(i).attention, w.attention_bias, sum_, H, false);
  }

  // sum_ = feed-forward of x, which may be sum_
  void feed_forward(int64_t i, const float* x) {
    const int64_t H = shape_.hidden, I = shape_.intermediate;
    const LayerPointers<const float>& w = weights_.layers[i];
    const bool at_once = shape_.activation == Activation::kGelu && !shape_.gated;
    multiply(x, H, panels_.layer(i).up, w.up_bias, wide_, shape_.up_size(), at_once);
    if (!at_once) {
      kernels_.activate({shape_.activation, shape_.gated, chunk_.rows, I, wide_, wide_});
    }
    multiply(wide_, I, panels_.layer(i).down, w.down_bias, sum_, H, false);
  }

  void multiply(const float* a, int64_t k, const float* panels, const float* bias, float* c,
                int64_t n, bool gelu) {
    kernels_.matmul({chunk_.rows, n, k, a, k, panels, c, n, bias, false, gelu});
  }

  // y = norm(x + residual)
  void norm(const float* x, const float* residual, int64_t width, const float* weight,
            const float* bias, float* y) {
    kernels_.norm({chunk_.rows, width, x, residual, nullptr, 1.0f, weight, bias,
                   shape_.layer_norm_eps, y, nullptr, nullptr});
  }

  void attend_sequences(bool local) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = plan_.sequences[i];
      const int64_t row = s.row - chunk_.row;
      float* const qkv = wide_ + row * 3 * H;
      rotate_sequence(shape_, tables_, local, s.length, qkv);
      kernels_.attention({s.length, shape_.heads, shape_.head_size(), qkv, 3 * H,
                          context_ + row * H, H, nullptr, 1.0f, nullptr, nullptr, scratch_,
                          tables_.shift(), tables_.ld_shift(), local ? shape_.local_window : 0});
    }
  }

  const VectorKernels& kernels_ = vector_kernels();
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const WeightPanels& panels_;
  const PositionTables& tables_;
  const BatchPlan& plan_;
  const PlannedChunk& chunk_;
  float* x_;        // [rows, H], hidden states
  float* sum_;      // [rows, H], before the residual
  float* wide_;     // [rows, 3H] query, key, value; or [rows, U]; or [rows, E]
  float* context_;  // [rows, H], behind query, key and value
  float* scratch_;
};

void forward(const EncoderShape& shape, const EncoderWeights& weights, const WeightPanels& panels,
             const PackedBatch& batch, float* hidden) {
  if (batch.tokens() == 0) return;
  // Rows do not depend on their chunk, so here its size may follow the number of threads.
  const int64_t threads = omp_in_parallel() ? 1 : thread_count();
  const int64_t chunk_tokens =
      std::clamp((batch.tokens() + threads - 1) / threads, kSmallestChunk, kLargestChunk);
  const BatchPlan plan = plan_batch(shape, batch, chunk_tokens, threads);
  const int64_t used = std::min<int64_t>(threads, static_cast<int64_t>(plan.chunks.size()));
  PositionTables tables;
  tables.build(shape, weights, plan.longest);
  const int64_t floats = (ChunkForward::work_floats(shape, plan) + 15) / 16 * 16;
  static thread_local FloatBuffer memory;
  float* const work = memory.reserve(floats * used);
#pragma omp parallel for schedule(dynamic, 1) num_threads(used) if (used > 1)
  for (size_t i = 0; i < plan.chunks.size(); ++i) {
    ChunkForward(shape, weights, panels, tables, plan, plan.chunks[i],
                 work + omp_get_thread_num() * floats)
        .run(batch, hidden);
  }
}

}  // namespace

EncoderForward::EncoderForward(const EncoderShape& shape, const EncoderWeights& weights)
    : shape_(shape), weights_(weights), panels_(std::make_unique<WeightPanels>()) {
  panels_->pack(shape_, weights_, PanelUse::kForward);
}
EncoderForward::EncoderForward(const EncoderShape& shape, const EncoderWeights& weights,
                               const LayerReader& read_layer)
    : shape_(shape), weights_(weights), panels_(std::make_unique<WeightPanels>()) {
  panels_->pack(shape_, weights_, read_layer);
}
EncoderForward::EncoderForward(EncoderForward&&) noexcept = default;
EncoderForward& EncoderForward::operator=(EncoderForward&&) noexcept = default;
EncoderForward::~EncoderForward() = default;

void EncoderForward::operator()(const PackedBatch& batch, float* hidden) const {
  check_batch(shape_, batch);
  forward(shape_, weights_, *panels_, batch, hidden);
}

std::shared_ptr<const Encoder> make_encoder(const EncoderShape& shape, const float* flat) {
  return std::make_shared<const EncoderForward>(shape, encoder_weights(shape, flat));
}

void encoder_forward(const EncoderShape& shape, const EncoderWeights& weights,
                     const PackedBatch& batch, float* hidden) {
  EncoderForward(shape, weights)(batch, hidden);
}

}  // namespace simile
