// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/threads.h"
#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/encoder_training.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// Sums over one chunk's tokens for one layer's vectors; the chunks are added up in their order.
struct VectorSums {
  float *qkv_bias, *attention_bias, *attention_norm_weight, *attention_norm_bias, *up_bias,
      *down_bias, *output_norm_weight, *output_norm_bias;
};

// Gradients of what the four matrices of a layer gave, and what they were given, for all tokens.
struct LayerGradients {
  float* qkv;        // [rows, 3H]
  float* attention;  // [rows, H]
  float* up;         // [rows, I]
  float* down;       // [rows, H]
  float *input_panels, *context_panels, *attended_panels, *gelu_panels;
};

struct BackwardMemory {
  bool for_weights = true;                    // their gradients are wanted too
  float* hidden;                              // [rows, H], gradient of the hidden states under way
  LayerGradients layers[2];                   // of the layer at hand and the one before it
  std::vector<std::vector<VectorSums>> sums;  // [layers][chunks]
  std::vector<VectorSums> embedding_sums;     // [chunks]; the output_norm fields
  int64_t sums_floats = 0;
  float* first_sum = nullptr;
};

VectorSums carve_sums(Carver& carver, int64_t H, int64_t I) {
  VectorSums s;
  s.qkv_bias = carver.floats(3 * H);
  s.up_bias = carver.floats(I);
  for (float** part : {&s.attention_bias, &s.attention_norm_weight, &s.attention_norm_bias,
                       &s.down_bias, &s.output_norm_weight, &s.output_norm_bias}) {
    *part = carver.floats(H);
  }
  return s;
}

int64_t carve_backward(const EncoderShape& s, const BatchPlan& plan, BackwardMemory& memory,
                       float* base) {
  Carver carver(base);
  const VectorKernels& kernels = vector_kernels();
  const int64_t rows = plan.rows, H = s.hidden, I = s.intermediate;
  memory.hidden = carver.floats(rows * H);
  for (LayerGradients& layer : memory.layers) {
    layer.qkv = carver.floats(rows * 3 * H);
    layer.attention = carver.floats(rows * H);
    layer.up = carver.floats(rows * I);
    layer.down = carver.floats(rows * H);
    layer.input_panels = carver.floats(panel_floats(kernels, H, rows));
    layer.context_panels = carver.floats(panel_floats(kernels, H, rows));
    layer.attended_panels = carver.floats(panel_floats(kernels, H, rows));
    layer.gelu_panels = carver.floats(panel_floats(kernels, I, rows));
  }
  const int64_t before = carver.used();
  memory.first_sum = base ? base + before : nullptr;
  memory.sums.assign(static_cast<size_t>(s.layers), std::vector<VectorSums>(plan.chunks.size()));
  for (auto& layer : memory.sums) {
    for (VectorSums& sums : layer) sums = carve_sums(carver, H, I);
  }
  memory.embedding_sums.assign(plan.chunks.size(), {});
  for (VectorSums& sums : memory.embedding_sums) sums = carve_sums(carver, H, I);
  memory.sums_floats = carver.used() - before;
  return carver.used();
}

// Gradients of one chunk's tokens, layer by layer.
class ChunkBackward {
 public:
  static int64_t work_floats(const EncoderShape& s, const BatchPlan& plan) {
    return plan.largest_chunk * (s.hidden + s.intermediate) +
           attention_scratch_floats(plan.longest, s.head_size());
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
    context_ = work;
    gelu_ = context_ + chunk_.rows * shape.hidden;
    scratch_ = gelu_ + chunk_.rows * shape.intermediate;
    hidden_ = memory.hidden + chunk_.row * shape.hidden;
  }

  void start(const float* grad_hidden) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(memory_.hidden + s.row * H, grad_hidden + s.token * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
  }

  void layer(int64_t i) {
    const int64_t H = shape_.hidden, I = shape_.intermediate;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerPanels& panels = tape_.panels.layer(i);
    const LayerTape& tape = tape_.layers[i];
    const LayerGradients& g = memory_.layers[i % 2];
    const VectorSums& sums = memory_.sums[i][number_];
    float* down = g.down + chunk_.row * H;
    float* up = g.up + chunk_.row * I;
    float* attention = g.attention + chunk_.row * H;
    float* qkv = g.qkv + chunk_.row * 3 * H;
    norm(tape.output, i, w.output_norm_weight, down, sums.output_norm_weight, sums.output_norm_bias,
         sums.down_bias);
    multiply(down, H, panels.down, up, I, false);
    kernels_.gelu_backward(chunk_.rows, I, tape.up + chunk_.row * I, gelu_, up, sums.up_bias);
    multiply(up, I, panels.up, hidden_, H, true);
    norm(tape.attention, i, w.attention_norm_weight, attention, sums.attention_norm_weight,
         sums.attention_norm_bias, sums.attention_bias);
    multiply(attention, H, panels.attention, context_, H, false);
    attend(i, g);
    multiply(qkv, 3 * H, panels.qkv, hidden_, H, true);
    if (!memory_.for_weights) return;
    kernels_.column_sums(chunk_.rows, 3 * H, qkv, 3 * H, sums.qkv_bias);
    pack(tape_.input(i) + chunk_.row * H, H, g.input_panels);
    pack(tape.context + chunk_.row * H, H, g.context_panels);
    pack(tape.attention.output + chunk_.row * H, H, g.attended_panels);
    pack(gelu_, I, g.gelu_panels);
  }

  // Leaves the gradient of the sum of embeddings in memory.hidden, if weights want it.
  void embedding(float* grad_perturbation) {
    const int64_t H = shape_.hidden;
    const NormTape& tape = tape_.embedding;
    if (tape.keep) {
      kernels_.apply_mask(chunk_.rows, H, hidden_, tape.keep + chunk_.row * mask_bytes(H),
                          DropoutMask(dropout_, DropoutPlace::kEmbedding, 0).scale(), hidden_);
    }
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence && grad_perturbation; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      std::memcpy(grad_perturbation + s.token * H, memory_.hidden + s.row * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
    if (!memory_.for_weights) return;
    const VectorSums& sums = memory_.embedding_sums[number_];
    NormTape plain = tape;
    plain.keep = nullptr;
    norm(plain, 0, weights_.norm_weight, nullptr, sums.output_norm_weight, sums.output_norm_bias,
         nullptr);
  }

 private:
  // c [rows, n] (+)= a [rows, k] W
  void multiply(const float* a, int64_t k, const float* panels, float* c, int64_t n, bool add) {
    kernels_.matmul({chunk_.rows, n, k, a, k, panels, c, n, nullptr, add, false});
  }

  // Through a LayerNorm: hidden_ becomes the gradient of the residual, x that of the other branch.
  void norm(const NormTape& tape, int64_t layer, const float* weight, float* x, float* weight_sum,
            float* bias_sum, float* x_sum) {
    const int64_t H = shape_.hidden;
    const float scale = DropoutMask(dropout_, DropoutPlace::kOutput, layer).scale();
    const uint8_t* keep = tape.keep ? tape.keep + chunk_.row * mask_bytes(H) : nullptr;
    kernels_.norm_backward({chunk_.rows, H, hidden_, tape.normalized + chunk_.row * H,
                            tape.inverse_deviation + chunk_.row, weight, keep, scale, hidden_, x,
                            weight_sum, bias_sum, x_sum});
  }

  void attend(int64_t layer, const LayerGradients& g) {
    const int64_t H = shape_.hidden, heads = shape_.heads;
    const LayerTape& tape = tape_.layers[layer];
    const float scale = DropoutMask(dropout_, DropoutPlace::kAttention, layer).scale();
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = tape_.plan.sequences[i];
      const AttentionCall call{s.length,
                               heads,
                               shape_.head_size(),
                               tape.qkv + s.row * 3 * H,
                               3 * H,
                               tape.context + s.row * H,
                               H,
                               tape.keep ? tape.keep + s.mask : nullptr,
                               scale,
                               tape.head_factors ? tape.head_factors + s.index * heads : nullptr,
                               tape.statistics + s.row * heads * 2,
                               scratch_};
      kernels_.attention_backward(
          call, {context_ + (s.row - chunk_.row) * H, H, g.qkv + s.row * 3 * H, 3 * H});
    }
  }

  // This chunk's rows of x [rows, width] into panels over all tokens.
  void pack(const float* x, int64_t width, float* panels) {
    for (int64_t j = 0; j < width; j += kernels_.panel_width) {
      kernels_.pack_columns(x + j, std::min(kernels_.panel_width, width - j), chunk_.rows, width,
                            panels + j * tape_.plan.rows + chunk_.row * kernels_.panel_width);
    }
  }

  const VectorKernels& kernels_ = vector_kernels();
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const EncoderDropout& dropout_;
  const TapeContents& tape_;
  const BackwardMemory& memory_;
  int64_t number_;
  const PlannedChunk& chunk_;
  float* hidden_;   // [rows, H]
  float* context_;  // [rows, H], gradient of the context
  float* gelu_;     // [rows, I]
  float* scratch_;
};

// Some rows of one matrix's gradient: w [.., n] += a^T b over all tokens.
struct WeightTile {
  const float* a;  // [tokens, lda], the columns of these rows
  int64_t lda;
  const float* panels;
  float* w;
  int64_t rows, n;
};

constexpr int64_t kTileNumbers = 112 * 768;  // elements of a weight tile, about

void list_tiles(const float* a, int64_t m, const float* panels, int64_t n, float* w,
                std::vector<WeightTile>& tiles) {
  const int64_t step = std::clamp<int64_t>(kTileNumbers / n / 28 * 28, 56, 112);
  for (int64_t i = 0; i < m; i += step) {
    tiles.push_back({a + i, m, panels, w + i * n, std::min(step, m - i), n});
  }
}

std::vector<WeightTile> layer_tiles(const EncoderShape& s, const LayerGradients& g,
                                    const LayerPointers<float>& w) {
  const int64_t H = s.hidden, I = s.intermediate;
  std::vector<WeightTile> tiles;
  list_tiles(g.down, H, g.gelu_panels, I, w.down_weight, tiles);
  list_tiles(g.up, I, g.attended_panels, H, w.up_weight, tiles);
  list_tiles(g.attention, H, g.context_panels, H, w.attention_weight, tiles);
  list_tiles(g.qkv, 3 * H, g.input_panels, H, w.qkv_weight, tiles);
  return tiles;
}

void add_sums(const EncoderShape& s, const std::vector<VectorSums>& chunks,
              const LayerPointers<float>& w) {
  const VectorKernels& kernels = vector_kernels();
  const int64_t H = s.hidden;
  for (const VectorSums& sums : chunks) {
    kernels.add_to(3 * H, sums.qkv_bias, w.qkv_bias);
    kernels.add_to(H, sums.attention_bias, w.attention_bias);
    kernels.add_to(H, sums.attention_norm_weight, w.attention_norm_weight);
    kernels.add_to(H, sums.attention_norm_bias, w.attention_norm_bias);
    kernels.add_to(s.intermediate, sums.up_bias, w.up_bias);
    kernels.add_to(H, sums.down_bias, w.down_bias);
    kernels.add_to(H, sums.output_norm_weight, w.output_norm_weight);
    kernels.add_to(H, sums.output_norm_bias, w.output_norm_bias);
  }
}

// Adds the gradient rows [rows, H] to the embeddings' rows: by columns, so that each row's sum is
// in the order of the tokens for any number of threads.
void add_embeddings(const EncoderShape& s, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients) {
  constexpr int64_t kColumns = 64;
  const int64_t H = s.hidden;
  const VectorKernels& kernels = vector_kernels();
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t column = 0; column < H; column += kColumns) {
    const int64_t width = std::min(kColumns, H - column);
    for (const PlannedSequence& sequence : plan.sequences) {
      for (int64_t j = 0; j < sequence.length; ++j) {
        const int64_t token = sequence.token + j;
        const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[token];
        const float* from = rows + (sequence.row + j) * H + column;
        kernels.add_to(width, from, gradients.word + batch.ids[token] * H + column);
        kernels.add_to(width, from, gradients.position + j * H + column);
        if (s.types > 0) kernels.add_to(width, from, gradients.type + type * H + column);
      }
    }
  }
}

// One layer's tokens (of layer -1, the embedding), chunk by chunk, and beside them the weights of
// the layer above, whose tokens are done, if there are `gradients` to add to.
template <typename RunChunk>
void run_round(const EncoderShape& shape, const BatchPlan& plan, const BackwardMemory& memory,
               int64_t layer, const EncoderGradients* gradients, const RunChunk& run_chunk) {
  const int64_t above = layer + 1, chunks = static_cast<int64_t>(plan.chunks.size());
  const bool has_above = gradients && above < shape.layers;
  std::vector<WeightTile> tiles;
  if (has_above) tiles = layer_tiles(shape, memory.layers[above % 2], gradients->layers[above]);
  const int64_t first_sum = chunks + static_cast<int64_t>(tiles.size());
  const int64_t items = first_sum + (has_above ? 1 : 0);
  const VectorKernels& kernels = vector_kernels();
  const int threads = thread_count();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t item = 0; item < items; ++item) {
    if (item < chunks) {
      run_chunk(layer, item);
    } else if (item < first_sum) {
      const WeightTile& t = tiles[static_cast<size_t>(item - chunks)];
      kernels.matmul_transposed(
          {t.rows, t.n, plan.rows, t.a, t.lda, t.panels, t.w, t.n, nullptr, true, false});
    } else {
      add_sums(shape, memory.sums[above], gradients->layers[above]);
    }
  }
}

}  // namespace

void encoder_backward(const EncoderShape& shape, const EncoderWeights& weights,
                      const PackedBatch& batch, const EncoderDropout& dropout, EncoderTape& tape,
                      const float* grad_hidden, const EncoderGradients* gradients,
                      float* grad_perturbation) {
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
  const int64_t floats = carve_backward(shape, plan, memory, nullptr);
  carve_backward(shape, plan, memory, contents.gradients.reserve(floats));
  std::memset(memory.first_sum, 0, static_cast<size_t>(memory.sums_floats) * sizeof(float));
  contents.panels.pack(shape, weights, PanelUse::kBackward);
  const int64_t each = (ChunkBackward::work_floats(shape, plan) + 15) / 16 * 16;
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
    run_round(shape, plan, memory, layer, gradients, run_chunk);
  }
  if (!gradients) return;
  for (const VectorSums& sums : memory.embedding_sums) {
    vector_kernels().add_to(shape.hidden, sums.output_norm_weight, gradients->norm_weight);
    vector_kernels().add_to(shape.hidden, sums.output_norm_bias, gradients->norm_bias);
  }
  add_embeddings(shape, batch, plan, memory.hidden, *gradients);
}

}  // namespace simile
