// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_training.h"

#include <omp.h>

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

NormTape carve_norm(Carver& carver, int64_t rows, int64_t H, bool dropout) {
  NormTape tape;
  tape.output = carver.floats(rows * H);
  tape.normalized = carver.floats(rows * H);
  tape.inverse_deviation = carver.floats(rows);
  tape.keep = dropout ? carver.bytes(rows * mask_bytes(H)) : nullptr;
  return tape;
}

int64_t carve_tape(const EncoderShape& s, const EncoderDropout& dropout, TapeContents& tape,
                   float* base) {
  Carver carver(base);
  const int64_t rows = tape.plan.rows, H = s.hidden;
  const auto active = [&](DropoutPlace place) { return DropoutMask(dropout, place, 0).active(); };
  const bool hidden = active(DropoutPlace::kOutput);
  tape.embedding = carve_norm(carver, rows, H, hidden);
  tape.layers.resize(static_cast<size_t>(s.layers));
  for (LayerTape& layer : tape.layers) {
    layer.qkv = carver.floats(rows * 3 * H);
    layer.statistics = carver.floats(rows * s.heads * 2);
    layer.context = carver.floats(rows * H);
    layer.attention = carve_norm(carver, rows, H, hidden);
    layer.up = carver.floats(rows * s.intermediate);
    layer.output = carve_norm(carver, rows, H, hidden);
    layer.keep = active(DropoutPlace::kAttention) ? carver.bytes(tape.plan.mask_bytes) : nullptr;
    const int64_t factors = static_cast<int64_t>(tape.plan.sequences.size()) * s.heads;
    layer.head_factors = active(DropoutPlace::kHead) ? carver.floats(factors) : nullptr;
  }
  return carver.used();
}

// One chunk's way through the layers, leaving on the tape what backward needs.
class ChunkTraining {
 public:
  static int64_t work_floats(const EncoderShape& s, const BatchPlan& plan) {
    return plan.largest_chunk * (s.hidden + s.intermediate) +
           attention_scratch_floats(plan.longest, s.head_size());
  }

  ChunkTraining(const EncoderShape& shape, const EncoderWeights& weights,
                const EncoderDropout& dropout, TapeContents& tape, const PlannedChunk& chunk,
                float* work)
      : shape_(shape), weights_(weights), dropout_(dropout), tape_(tape), chunk_(chunk) {
    sum_ = work;
    gelu_ = sum_ + chunk.rows * shape.hidden;
    scratch_ = gelu_ + chunk.rows * shape.intermediate;
  }

  void run(const PackedBatch& batch, const float* perturbation, float* hidden) {
    const int64_t H = shape_.hidden;
    embed_chunk(shape_, weights_, batch, tape_.plan, chunk_, sum_);
    fill(DropoutPlace::kEmbedding, 0, tape_.embedding.keep);
    const NormTape plain = without_dropout(tape_.embedding);
    norm(plain, 1.0f, sum_, nullptr, weights_.norm_weight, weights_.norm_bias);
    finish_embedding(perturbation);
    for (int64_t i = 0; i < shape_.layers; ++i) layer(i);
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(hidden + s.token * H, tape_.input(shape_.layers) + s.row * H,
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

  void finish_embedding(const float* perturbation) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence && perturbation; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      kernels_.add_to(s.length * H, perturbation + s.token * H, tape_.embedding.output + s.row * H);
    }
    if (!tape_.embedding.keep) return;
    float* x = rows(tape_.embedding.output, H);
    kernels_.apply_mask(chunk_.rows, H, x, tape_.embedding.keep + chunk_.row * mask_bytes(H),
                        DropoutMask(dropout_, DropoutPlace::kEmbedding, 0).scale(), x);
  }

  void layer(int64_t i) {
    const int64_t H = shape_.hidden, I = shape_.intermediate;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerPanels& panels = tape_.panels.layer(i);
    const LayerTape& tape = tape_.layers[i];
    const float* x = rows(tape_.input(i), H);
    const float scale = DropoutMask(dropout_, DropoutPlace::kOutput, i).scale();
    multiply(x, H, panels.qkv, w.qkv_bias, rows(tape.qkv, 3 * H), 3 * H);
    attend(i);
    multiply(rows(tape.context, H), H, panels.attention, w.attention_bias, sum_, H);
    fill(DropoutPlace::kAttentionOutput, i, tape.attention.keep);
    norm(tape.attention, scale, sum_, x, w.attention_norm_weight, w.attention_norm_bias);
    const float* attended = rows(tape.attention.output, H);
    float* up = rows(tape.up, I);
    multiply(attended, H, panels.up, w.up_bias, up, I);
    kernels_.gelu(chunk_.rows * I, up, gelu_);
    multiply(gelu_, I, panels.down, w.down_bias, sum_, H);
    fill(DropoutPlace::kOutput, i, tape.output.keep);
    norm(tape.output, scale, sum_, attended, w.output_norm_weight, w.output_norm_bias);
  }

  void multiply(const float* a, int64_t k, const float* panels, const float* bias, float* c,
                int64_t n) {
    kernels_.matmul({chunk_.rows, n, k, a, k, panels, c, n, bias, false, false});
  }

  void norm(const NormTape& tape, float scale, const float* x, const float* residual,
            const float* weight, const float* bias) {
    const int64_t H = shape_.hidden;
    const uint8_t* keep = tape.keep ? tape.keep + chunk_.row * mask_bytes(H) : nullptr;
    kernels_.norm({chunk_.rows, H, x, residual, keep, scale, weight, bias, shape_.layer_norm_eps,
                   rows(tape.output, H), rows(tape.normalized, H),
                   rows(tape.inverse_deviation, 1)});
  }

  // The bits of this chunk's tokens for one place.
  void fill(DropoutPlace place, int64_t layer, uint8_t* keep) {
    if (!keep) return;
    const int64_t bytes = mask_bytes(shape_.hidden);
    const DropoutMask mask(dropout_, place, layer);
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      mask.fill((dropout_.origin.token + s.token) * bytes, s.length * bytes, keep + s.row * bytes);
    }
  }

  void attend(int64_t layer) {
    const int64_t H = shape_.hidden, heads = shape_.heads;
    const LayerTape& tape = tape_.layers[layer];
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
      kernels_.attention({s.length, heads, shape_.head_size(), tape.qkv + s.row * 3 * H, 3 * H,
                          tape.context + s.row * H, H, keep, mask.scale(), factors,
                          tape.statistics + s.row * heads * 2, scratch_});
    }
  }

  const VectorKernels& kernels_ = vector_kernels();
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const EncoderDropout& dropout_;
  TapeContents& tape_;
  const PlannedChunk& chunk_;
  float* sum_;   // [rows, H], before dropout and residual
  float* gelu_;  // [rows, I]
  float* scratch_;
};

}  // namespace

EncoderTape::EncoderTape() : contents_(std::make_unique<TapeContents>()) {}
EncoderTape::EncoderTape(EncoderTape&&) noexcept = default;
EncoderTape& EncoderTape::operator=(EncoderTape&&) noexcept = default;
EncoderTape::~EncoderTape() = default;

int64_t EncoderTape::bytes() const {
  return 4 * (contents_->activations.size() + contents_->gradients.size() + contents_->work.size() +
              contents_->panels.size());
}

void encoder_forward_training(const EncoderShape& shape, const EncoderWeights& weights,
                              const PackedBatch& batch, const EncoderDropout& dropout,
                              const float* perturbation, EncoderTape& tape, float* hidden) {
  check_batch(shape, batch);
  TapeContents& contents = tape.contents();
  contents.plan = plan_batch(shape, batch, kChunkTokens, kChunkMultiple);
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
