// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_training.h"

#include <omp.h>

#include <cstring>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// Fixed, because the order of backward's sums follows the chunks.
constexpr int64_t kChunkTokens = 128, kChunkMultiple = 4;

// Gradients of one chunk's tokens, layer by layer.
class ChunkBackward {
 public:
  static int64_t work_floats(const EncoderShape& s, const TapeContents& tape) {
    return tape.plan.largest_chunk * (s.hidden + s.up_size() + aside_width(s, tape)) +
           attention_scratch_floats(tape.plan.longest, s.head_size());
  }

  ChunkBackward(const EncoderShape& shape, const EncoderWeights& weights,
                const EncoderDropout& dropout, const TapeContents& tape,
                const BackwardMemory& memory, int64_t chunk, float* work)
      : shape_(shape),
        weights_(weights),
        dropout_(dropout),
        tape_(tape),
        memory_(memory),
        number_(chunk),
        chunk_(tape.plan.chunks[chunk]) {
    branch_ = work;
    inner_ = branch_ + chunk_.rows * shape.hidden;
    d_inner_ = inner_ + chunk_.rows * shape.intermediate;
    aside_ = inner_ + chunk_.rows * shape.up_size();
    scratch_ = aside_ + chunk_.rows * aside_width(shape, tape);
    hidden_ = memory.hidden + chunk_.row * shape.hidden;
  }

  void start(const float* grad_hidden) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(memory_.hidden + s.row * H, grad_hidden + s.token * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
    if (!shape_.pre_norm) return;
    const EncoderGradients& sums = memory_.sums[number_];
    norm(tape_.final, H, weights_.final_norm_weight, hidden_, sums.final_norm_weight,
         sums.final_norm_bias);
  }

  void layer(int64_t i) {
    const int64_t H = shape_.hidden;
    const LayerGradients& all = memory_.layers[i % 2];
    const ChunkGradients g = gradients_of(all);
    if (shape_.pre_norm) {
      pre_norm_layer(i, g);
    } else {
      post_norm_layer(i, g);
    }
    if (!memory_.for_weights) return;
    const LayerPointers<float>& sums = memory_.sums[number_].layers[i];
    kernels_.column_sums(chunk_.rows, 3 * H, g.qkv, 3 * H, sums.qkv_bias);
    pack(rows(tape_.attention_input(shape_, i), H), H, all.input_panels);
    pack(rows(tape_.layers[i].context, H), H, all.context_panels);
    pack(rows(tape_.feed_forward_input(shape_, i), H), H, all.attended_panels);
    pack(inner_, shape_.intermediate, all.inner_panels);
    pack_left(g.qkv, 3 * H, all.qkv);
    pack_left(g.attention, H, all.attention);
    pack_left(g.up, shape_.up_size(), all.up);
    pack_left(g.down, H, all.down);
  }

  // Leaves the gradient of the sum of embeddings in memory.embedded, if weights want it.
  void embedding(float* grad_perturbation) {
    const int64_t H = shape_.hidden, E = shape_.embedding_size();
    const EncoderGradients& sums = memory_.sums[number_];
    float* const embedded = rows(memory_.embedded, E);
    if (shape_.projected) {
      copy_to_batch(grad_perturbation);
      if (!memory_.for_weights) return;
      kernels_.column_sums(chunk_.rows, H, hidden_, H, sums.projection_bias);
      pack(rows(tape_.embedding.output, E), E, memory_.embedded_panels);
      pack_left(hidden_, H, memory_.projected);
      multiply(hidden_, H, tape_.panels.projection(), embedded, E, false);
    }
    drop(tape_.embedding.keep, DropoutPlace::kEmbedding, E, embedded);
    if (!shape_.projected) copy_to_batch(grad_perturbation);
    if (!memory_.for_weights) return;
    norm(tape_.embedding, E, weights_.norm_weight, embedded, sums.norm_weight, sums.norm_bias);
  }

 private:
  float* rows(float* all, int64_t width) const { return all + chunk_.row * width; }
  const float* rows(const float* all, int64_t width) const { return all + chunk_.row * width; }

  // Floats per token of the gradients that are kept aside.
  static int64_t aside_width(const EncoderShape& s, const TapeContents& tape) {
    return tape.panels.products().is_rounded() ? 5 * s.hidden + s.up_size() : 0;
  }

  // In place, or aside when they are packed later.
  ChunkGradients gradients_of(const LayerGradients& all) const {
    const int64_t H = shape_.hidden;
    if (!products_.is_rounded()) {
      return {rows(all.qkv, 3 * H), rows(all.attention, H), rows(all.up, shape_.up_size()),
              rows(all.down, H)};
    }
    float* const attention = aside_ + chunk_.rows * 3 * H;
    float* const down = attention + chunk_.rows * H;
    return {aside_, attention, down + chunk_.rows * H, down};
  }

  void post_norm_layer(int64_t i, const ChunkGradients& g) {
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    const LayerPointers<float>& sums = memory_.sums[number_].layers[i];
    residual_norm(tape.output, DropoutPlace::kOutput, w.output_norm_weight, g.down,
                  sums.output_norm_weight, sums.output_norm_bias, sums.down_bias);
    feed_forward(i, g, hidden_, true);
    residual_norm(tape.attention, DropoutPlace::kAttentionOutput, w.attention_norm_weight,
                  g.attention, sums.attention_norm_weight, sums.attention_norm_bias,
                  sums.attention_bias);
    attend(i, g, hidden_, true);
  }

  void pre_norm_layer(int64_t i, const ChunkGradients& g) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerTape& tape = tape_.layers[i];
    const LayerPointers<float>& sums = memory_.sums[number_].layers[i];
    take_branch(tape.output.keep, DropoutPlace::kOutput, g.down, sums.down_bias);
    feed_forward(i, g, branch_, false);
    norm(tape.output, H, w.output_norm_weight, branch_, sums.output_norm_weight,
         sums.output_norm_bias);
    kernels_.add_to(chunk_.rows * H, branch_, hidden_);
    take_branch(tape.attention.keep, DropoutPlace::kAttentionOutput, g.attention,
                sums.attention_bias);
    if (!w.attention_norm_weight) return attend(i, g, hidden_, true);
    attend(i, g, branch_, false);
    norm(tape.attention, H, w.attention_norm_weight, branch_, sums.attention_norm_weight,
         sums.attention_norm_bias);
    kernels_.add_to(chunk_.rows * H, branch_, hidden_);
  }

  // x = the gradient of the term added to the residual stream, through its dropout.
  void take_branch(const uint8_t* keep, DropoutPlace place, float* x, float* sums) {
    const int64_t H = shape_.hidden;
    std::memcpy(x, hidden_, static_cast<size_t>(chunk_.rows * H) * sizeof(float));
    drop(keep, place, H, x);
    kernels_.column_sums(chunk_.rows, H, x, H, sums);
  }

  // From the gradient of the feed-forward's output, in g.down, that of its input.
  void feed_forward(int64_t i, const ChunkGradients& g, float* d_input, bool add) {
    const int64_t H = shape_.hidden, I = shape_.intermediate, U = shape_.up_size();
    const LayerPanels& panels = tape_.panels.layer(i);
    const LayerTape& tape = tape_.layers[i];
    float* const up = g.up;
    float* const d_inner = shape_.gated ? d_inner_ : up;
    multiply(g.down, H, panels.down, d_inner, I, false);
    drop(tape.inner_keep, DropoutPlace::kInner, I, d_inner);
    kernels_.activate_backward(
        {shape_.activation, shape_.gated, chunk_.rows, I, rows(tape.up, U), inner_},
        {d_inner, up, memory_.sums[number_].layers[i].up_bias});
    drop(tape.inner_keep, DropoutPlace::kInner, I, inner_);
    multiply(up, U, panels.up, d_input, H, add);
  }

  // From the gradient of the attention's output, in g.attention, that of its input.
  void attend(int64_t i, const ChunkGradients& g, float* d_input, bool add) {
    const int64_t H = shape_.hidden;
    const LayerPanels& panels = tape_.panels.layer(i);
    multiply(g.attention, H, panels.attention, branch_, H, false);
    attend_sequences(i, g);
    multiply(g.qkv, 3 * H, panels.qkv, d_input, H, add);
  }

  // c [rows, n] (+)= a [rows, k] W
  void multiply(const float* a, int64_t k, const float* panels, float* c, int64_t n, bool add) {
    products_.multiply({chunk_.rows, n, k, a, k, panels, c, n, nullptr, add});
  }

  float scale(DropoutPlace place) const { return DropoutMask(dropout_, place, 0).scale(); }

  void drop(const uint8_t* keep, DropoutPlace place, int64_t width, float* x) {
    if (!keep) return;
    kernels_.apply_mask(chunk_.rows, width, x, keep + chunk_.row * mask_bytes(width), scale(place),
                        x);
  }

  // Through a LayerNorm of a sum: hidden_ gets the residual's gradient, x that of the other branch.
  void residual_norm(const NormTape& tape, DropoutPlace place, const float* weight, float* x,
                     float* weight_sum, float* bias_sum, float* x_sum) {
    const int64_t H = shape_.hidden;
    const uint8_t* keep = tape.keep ? tape.keep + chunk_.row * mask_bytes(H) : nullptr;
    kernels_.norm_backward({chunk_.rows, H, hidden_, rows(tape.normalized, H),
                            rows(tape.inverse_deviation, 1), weight, keep, scale(place), hidden_, x,
                            weight_sum, bias_sum, x_sum});
  }

  // Through a LayerNorm alone: x becomes the gradient of its input.
  void norm(const NormTape& tape, int64_t width, const float* weight, float* x, float* weight_sum,
            float* bias_sum) {
    kernels_.norm_backward({chunk_.rows, width, x, rows(tape.normalized, width),
                            rows(tape.inverse_deviation, 1), weight, nullptr, 1.0f, x, nullptr,
                            weight_sum, bias_sum, nullptr});
  }

  // The gradient of the hidden states, in the order of the batch.
  void copy_to_batch(float* to) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence && to; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(to + s.token * H, memory_.hidden + s.row * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
  }

  void attend_sequences(int64_t layer, const ChunkGradients& g) {
    const int64_t H = shape_.hidden, heads = shape_.heads;
    const bool local = shape_.is_local(layer);
    const LayerTape& tape = tape_.layers[layer];
    const PositionTables& tables = tape_.tables;
    const DropoutMask mask(dropout_, DropoutPlace::kAttention, layer);
    const bool shifts = tables.shift() && memory_.for_weights;
    float* const d_shift =
        shifts ? memory_.sums[number_].relative + tables.shift_origin() : nullptr;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      const float* const factors =
          tape.head_factors ? tape.head_factors + s.index * heads : nullptr;
      const int64_t row = s.row - chunk_.row;
      float* const d_qkv = g.qkv + row * 3 * H;
      kernels_.attention_backward(
          {s.length, heads, shape_.head_size(), tape.qkv + s.row * 3 * H, 3 * H,
           tape.context + s.row * H, H, mask.stream(dropout_.origin.attention_byte + s.mask),
           factors, tape.statistics + s.row * heads * 2, scratch_, tables.shift(),
           tables.ld_shift(), local ? shape_.local_window : 0},
          {branch_ + row * H, H, d_qkv, 3 * H, d_shift});
      rotate_sequence(shape_, tables, local, s.length, d_qkv, true);
    }
  }

  // This chunk's rows of x [rows, width] into panels over all tokens.
  void pack(const float* x, int64_t width, float* panels) const {
    products_.pack_tokens(x, width, width, memory_.panel_tokens, first_in_panels(), chunk_.rows,
                          panels);
  }
  // The same of a gradient, where it is not multiplied as it lies.
  void pack_left(const float* dy, int64_t width, float* left) const {
    if (!products_.is_rounded()) return;
    products_.pack_left(dy, width, memory_.panel_tokens, first_in_panels(), chunk_.rows, left);
  }
  int64_t first_in_panels() const { return memory_.panel_first[static_cast<size_t>(number_)]; }

  const VectorKernels& kernels_ = vector_kernels();
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const EncoderDropout& dropout_;
  const TapeContents& tape_;
  const MatrixProducts& products_ = tape_.panels.products();
  const BackwardMemory& memory_;
  int64_t number_;
  const PlannedChunk& chunk_;
  float* hidden_;   // [rows, H]
  float* branch_;   // [rows, H], gradient of the context, or of a norm's output
  float* inner_;    // [rows, I], behind the activation
  float* d_inner_;  // [rows, I], its gradient in a gated network
  float* aside_;    // with products in bfloat16: ChunkGradients
  float* scratch_;
};

// One layer's tokens (of layer -1, the embedding), chunk by chunk, and beside them the weights of
// the layer above, whose tokens are done, if there are `gradients` to add to.
template <typename RunChunk>
void run_round(const EncoderShape& shape, const TapeContents& tape, const BackwardMemory& memory,
               int64_t layer, const EncoderGradients* gradients, const RunChunk& run_chunk) {
  const int64_t above = layer + 1, chunks = static_cast<int64_t>(tape.plan.chunks.size());
  const MatrixProducts& products = tape.panels.products();
  const bool has_above = gradients && above < shape.layers;
  std::vector<WeightTile> tiles;
  if (has_above) tiles = weight_tiles(shape, products, memory, above, *gradients);
  const int64_t first_sum = chunks + static_cast<int64_t>(tiles.size());
  const int64_t items = first_sum + (has_above ? 1 : 0);
  const int threads = thread_count();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t item = 0; item < items; ++item) {
    if (item < chunks) {
      run_chunk(layer, item);
    } else if (item < first_sum) {
      products.add_gradient(tiles[static_cast<size_t>(item - chunks)], memory.panel_tokens);
    } else {
      add_sums(shape, tape.tables, memory.sums, above, *gradients);
    }
  }
}

}  // namespace

void encoder_forward_training(const EncoderShape& shape, const EncoderWeights& weights,
                              const PackedBatch& batch, const EncoderDropout& dropout,
                              const float* perturbation, EncoderTape& tape, float* hidden) {
  check_batch(shape, batch);
  for (const DropoutPlace place : {DropoutPlace::kAttention, DropoutPlace::kHead}) {
    DropoutMask(dropout, place, 0);  // checks it: the threads that make these bits cannot throw
  }
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

void encoder_backward(const EncoderShape& shape, const EncoderWeights& weights,
                      const PackedBatch& batch, const EncoderDropout& dropout, EncoderTape& tape,
                      const float* grad_hidden, const EncoderGradients* gradients,
                      float* grad_perturbation, const LayerDone& done) {
  TapeContents& contents = tape.contents();
  const BatchPlan& plan = contents.plan;
  SIMILE_CHECK(plan.rows == batch.tokens() &&
                   static_cast<int64_t>(plan.sequences.size()) == batch.size() &&
                   static_cast<int64_t>(contents.layers.size()) == shape.layers,
               ErrorKind::kFailed,
               "encoder backward: the tape holds a batch of " + std::to_string(plan.rows) +
                   " tokens, not this one of " + std::to_string(batch.tokens()) +
                   "; run the forward pass first");
  if (batch.tokens() == 0) return;
  BackwardMemory memory;
  memory.for_weights = gradients != nullptr;
  const int64_t floats = carve_backward(shape, contents, memory, nullptr);
  carve_backward(shape, contents, memory, contents.gradients.reserve(floats));
  std::memset(memory.first_sum, 0, static_cast<size_t>(memory.sums_floats) * sizeof(float));
  contents.panels.pack(shape, weights, PanelUse::kBackward);
  const int64_t each = (ChunkBackward::work_floats(shape, contents) + 15) / 16 * 16;
  float* const work = contents.work.reserve(each * thread_count());
  const auto run_chunk = [&](int64_t layer, int64_t number) {
    ChunkBackward chunk(shape, weights, dropout, contents, memory, number,
                        work + omp_get_thread_num() * each);
    if (layer == shape.layers - 1) chunk.start(grad_hidden);
    if (layer >= 0) {
      chunk.layer(layer);
    } else {
      chunk.embedding(grad_perturbation);
    }
  };
  for (int64_t layer = shape.layers - 1; layer >= -1; --layer) {
    run_round(shape, contents, memory, layer, gradients, run_chunk);
    if (gradients && done && layer + 1 < shape.layers) done(layer + 1);
  }
  if (!gradients) return;
  add_sums(shape, contents.tables, memory.sums, -1, *gradients);
  const MatrixProducts& products = contents.panels.products();
  const std::vector<WeightTile> tiles = weight_tiles(shape, products, memory, -1, *gradients);
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t i = 0; i < tiles.size(); ++i) products.add_gradient(tiles[i], memory.panel_tokens);
  add_embeddings(shape, batch, plan, memory.embedded, *gradients);
}

}  // namespace simile
