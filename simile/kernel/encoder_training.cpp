// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_training.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "simile/core/threads.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/embed.h"
#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// Fixed, because the order of backward's sums follows the chunks.
constexpr int64_t kChunkTokens = 128, kChunkMultiple = 4;

// One chunk's way through the layers, leaving on the tape what backward needs.
class ChunkTraining {
 public:
  static int64_t work_floats(const EncoderShape& s, const BatchPlan& plan) {
    return plan.largest_chunk * (std::max(s.hidden, s.embedding_size()) + s.intermediate) +
           attention_scratch_floats(plan.longest, s.head_size());
  }

  ChunkTraining(const EncoderShape& shape, const EncoderWeights& weights,
                const EncoderDropout& dropout, TapeContents& tape, const PlannedChunk& chunk,
                float* work)
      : shape_(shape), weights_(weights), dropout_(dropout), tape_(tape), chunk_(chunk) {
    sum_ = work;
    inner_ = sum_ + chunk.rows * std::max(shape.hidden, shape.embedding_size());
    scratch_ = inner_ + chunk.rows * shape.intermediate;
  }

  void run(const PackedBatch& batch, const float* perturbation, float* hidden) {
    const int64_t H = shape_.hidden;
    embed(batch, perturbation);
    if (shape_.pre_norm) start_stream();
    for (int64_t i = 0; i < shape_.layers; ++i) {
      if (shape_.pre_norm) {
        pre_norm_layer(i);
      } else {
        layer(i);
      }
    }
    if (shape_.pre_norm) {
      norm(tape_.final, 1.0f, rows(tape_.stream, H), nullptr, H, weights_.final_norm_weight,
           weights_.final_norm_bias);
    }
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(hidden + s.token * H, tape_.result(shape_) + s.row * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
  }

 private:
  static NormTape without_dropout(NormTape tape) {
    tape.keep = nullptr;
    return tape;
  }

  float* rows(float* all, int64_t width) const { return all + chunk_.row * width; }
  const float* rows(const float* all, int64_t width) const { return all + chunk_.row * width; }

  void embed(const PackedBatch& batch, const float* perturbation) {
    const int64_t H = shape_.hidden, E = shape_.embedding_size();
    const NormTape& tape = tape_.embedding;
    embed_chunk(shape_, weights_, batch, tape_.plan, chunk_, sum_);
    fill(DropoutPlace::kEmbedding, 0, E, tape.keep);
    norm(without_dropout(tape), 1.0f, sum_, nullptr, E, weights_.norm_weight, weights_.norm_bias);
    if (!shape_.projected) perturb(perturbation, tape.output);
    drop(DropoutPlace::kEmbedding, 0, E, tape.keep, rows(tape.output, E));
    if (!shape_.projected) return;
    multiply(rows(tape.output, E), E, tape_.panels.projection(), weights_.projection_bias,
             rows(tape_.projected, H), H);
    perturb(perturbation, tape_.projected);
  }

  void perturb(const float* perturbation, float* x) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence && perturbation; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      kernels_.add_to(s.length * H, perturbation + s.token * H, x + s.row * H);
    }
  }

  void layer(int64_t i) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    const float* x = rows(tape_.attention_input(shape_, i), H);
    attend(i, x);
    fill(DropoutPlace::kAttentionOutput, i, H, tape.attention.keep);
    norm(tape.attention, scale(DropoutPlace::kAttentionOutput), sum_, x, H, w.attention_norm_weight,
         w.attention_norm_bias);
    const float* attended = rows(tape.attention.output, H);
    feed_forward(i, attended);
    fill(DropoutPlace::kOutput, i, H, tape.output.keep);
    norm(tape.output, scale(DropoutPlace::kOutput), sum_, attended, H, w.output_norm_weight,
         w.output_norm_bias);
  }

  void start_stream() {
    const int64_t H = shape_.hidden;
    std::memcpy(rows(tape_.stream, H), rows(tape_.first(), H),
                static_cast<size_t>(chunk_.rows * H) * sizeof(float));
  }

  void pre_norm_layer(int64_t i) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    const float* stream = rows(tape_.stream, H);
    if (w.attention_norm_weight) {
      norm(without_dropout(tape.attention), 1.0f, stream, nullptr, H, w.attention_norm_weight,
           w.attention_norm_bias);
    }
    attend(i, rows(tape_.attention_input(shape_, i), H));
    add_to_stream(DropoutPlace::kAttentionOutput, i, tape.attention.keep);
    norm(without_dropout(tape.output), 1.0f, stream, nullptr, H, w.output_norm_weight,
         w.output_norm_bias);
    feed_forward(i, rows(tape.output.output, H));
    add_to_stream(DropoutPlace::kOutput, i, tape.output.keep);
  }

  void add_to_stream(DropoutPlace place, int64_t layer, uint8_t* keep) {
    const int64_t H = shape_.hidden;
    fill(place, layer, H, keep);
    drop(place, layer, H, keep, sum_);
    kernels_.add_to(chunk_.rows * H, sum_, rows(tape_.stream, H));
  }

  // sum_ = attention of x
  void attend(int64_t i, const float* x) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    multiply(x, H, tape_.panels.layer(i).qkv, w.qkv_bias, rows(tape.qkv, 3 * H), 3 * H);
    attend_sequences(i);
    multiply(rows(tape.context, H), H, tape_.panels.layer(i).attention, w.attention_bias, sum_, H);
  }

  // sum_ = feed-forward of x
  void feed_forward(int64_t i, const float* x) {
    const int64_t H = shape_.hidden, I = shape_.intermediate, U = shape_.up_size();
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    float* up = rows(tape.up, U);
    multiply(x, H, tape_.panels.layer(i).up, w.up_bias, up, U);
    kernels_.activate({shape_.activation, shape_.gated, chunk_.rows, I, up, inner_});
    fill(DropoutPlace::kInner, i, I, tape.inner_keep);
    drop(DropoutPlace::kInner, i, I, tape.inner_keep, inner_);
    multiply(inner_, I, tape_.panels.layer(i).down, w.down_bias, sum_, H);
  }

  void multiply(const float* a, int64_t k, const float* panels, const float* bias, float* c,
                int64_t n) {
    kernels_.matmul({chunk_.rows, n, k, a, k, panels, c, n, bias, false, false});
  }

  void norm(const NormTape& tape, float scale, const float* x, const float* residual, int64_t width,
            const float* weight, const float* bias) {
    const uint8_t* keep = tape.keep ? tape.keep + chunk_.row * mask_bytes(width) : nullptr;
    kernels_.norm({chunk_.rows, width, x, residual, keep, scale, weight, bias,
                   shape_.layer_norm_eps, rows(tape.output, width), rows(tape.normalized, width),
                   rows(tape.inverse_deviation, 1)});
  }

  float scale(DropoutPlace place) const { return DropoutMask(dropout_, place, 0).scale(); }

  // The bits of this chunk's tokens for one place.
  void fill(DropoutPlace place, int64_t layer, int64_t width, uint8_t* keep) {
    if (!keep) return;
    const int64_t bytes = mask_bytes(width);
    const DropoutMask mask(dropout_, place, layer);
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      mask.fill((dropout_.origin.token + s.token) * bytes, s.length * bytes, keep + s.row * bytes);
    }
  }

  // x [chunk's rows, width] under the bits of `keep`, if there are any.
  void drop(DropoutPlace place, int64_t layer, int64_t width, const uint8_t* keep, float* x) {
    if (!keep) return;
    kernels_.apply_mask(chunk_.rows, width, x, keep + chunk_.row * mask_bytes(width),
                        DropoutMask(dropout_, place, layer).scale(), x);
  }

  void attend_sequences(int64_t layer) {
    const int64_t H = shape_.hidden, heads = shape_.heads;
    const bool local = shape_.is_local(layer);
    const LayerTape& tape = tape_.layers[layer];
    const PositionTables& tables = tape_.tables;
    const DropoutMask mask(dropout_, DropoutPlace::kAttention, layer);
    const DropoutMask head_mask(dropout_, DropoutPlace::kHead, layer);
    const DropoutOrigin& origin = dropout_.origin;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      uint8_t* keep = tape.keep ? tape.keep + s.mask : nullptr;
      float* factors = tape.head_factors ? tape.head_factors + s.index * heads : nullptr;
      if (keep) {
        mask.fill(origin.attention_byte + s.mask, heads * s.length * mask_bytes(s.length), keep);
      }
      if (factors) head_mask.fill_heads(origin.sequence + s.index, heads, factors);
      float* const qkv = tape.qkv + s.row * 3 * H;
      rotate_sequence(shape_, tables, local, s.length, qkv);
      kernels_.attention({s.length, heads, shape_.head_size(), qkv, 3 * H, tape.context + s.row * H,
                          H, keep, mask.scale(), factors, tape.statistics + s.row * heads * 2,
                          scratch_, tables.shift(), tables.ld_shift(),
                          local ? shape_.local_window : 0});
    }
  }

  const VectorKernels& kernels_ = vector_kernels();
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const EncoderDropout& dropout_;
  TapeContents& tape_;
  const PlannedChunk& chunk_;
  float* sum_;    // [rows, H] before dropout and residual; or [rows, E]
  float* inner_;  // [rows, I], behind the activation
  float* scratch_;
};

}  // namespace

void encoder_forward_training(const EncoderShape& shape, const EncoderWeights& weights,
                              const PackedBatch& batch, const EncoderDropout& dropout,
                              const float* perturbation, EncoderTape& tape, float* hidden) {
  check_batch(shape, batch);
  TapeContents& contents = tape.contents();
  contents.plan = plan_batch(shape, batch, kChunkTokens, kChunkMultiple);
  contents.tables.build(shape, weights, contents.plan.longest);
  const int64_t floats = carve_tape(shape, dropout, contents, nullptr);
  carve_tape(shape, dropout, contents, contents.activations.reserve(floats));
  contents.panels.pack(shape, weights, PanelUse::kForward);
  const std::vector<PlannedChunk>& chunks = contents.plan.chunks;
  const int threads = thread_count();
  const int64_t each = (ChunkTraining::work_floats(shape, contents.plan) + 15) / 16 * 16;
  float* const work = contents.work.reserve(each * threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (size_t i = 0; i < chunks.size(); ++i) {
    ChunkTraining(shape, weights, dropout, contents, chunks[i], work + omp_get_thread_num() * each)
        .run(batch, perturbation, hidden);
  }
}

}  // namespace simile
