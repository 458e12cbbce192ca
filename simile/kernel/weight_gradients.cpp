// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/weight_gradients.h"

#include <algorithm>

#include "simile/kernel/detail/position_rows.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kTileNumbers = 112 * 768;  // elements of a weight tile, about
constexpr int64_t kRoundedRows = 128;        // of one with products in bfloat16

// Of dy [, m] and x [, n], w [m, n].
void list_tiles(const EncoderProducts& products, int64_t tokens, const float* dy, int64_t m,
                const float* panels, int64_t n, float* w, std::vector<WeightTile>& tiles) {
  const int64_t step = products.is_rounded()
                           ? kRoundedRows
                           : std::clamp<int64_t>(kTileNumbers / n / 28 * 28, 56, 112);
  for (int64_t i = 0; i < m; i += step) {
    tiles.push_back({products.is_rounded() ? products.left_at(dy, i, tokens) : dy + i, m, panels,
                     w + i * n, std::min(step, m - i), n});
  }
}

// to += sums, unless the encoder has no such tensor.
void add_sum(int64_t size, const float* sums, float* to) {
  if (to) vector_kernels().add_to(size, sums, to);
}

}  // namespace

std::vector<WeightTile> layer_tiles(const EncoderShape& s, const EncoderProducts& products,
                                    const BackwardMemory& memory, const LayerGradients& g,
                                    const LayerPointers<float>& w) {
  const int64_t H = s.hidden, I = s.intermediate;
  std::vector<WeightTile> tiles;
  const auto list = [&](const float* dy, int64_t m, const float* panels, int64_t n, float* to) {
    list_tiles(products, memory.panel_tokens, dy, m, panels, n, to, tiles);
  };
  list(g.down, H, g.inner_panels, I, w.down_weight);
  list(g.up, s.up_size(), g.attended_panels, H, w.up_weight);
  list(g.attention, H, g.context_panels, H, w.attention_weight);
  list(g.qkv, 3 * H, g.input_panels, H, w.qkv_weight);
  return tiles;
}

std::vector<WeightTile> projection_tiles(const EncoderShape& s, const EncoderProducts& products,
                                         const BackwardMemory& memory, const EncoderGradients& w) {
  std::vector<WeightTile> tiles;
  if (s.projected) {
    list_tiles(products, memory.panel_tokens, memory.projected, s.hidden, memory.embedded_panels,
               s.embedding_size(), w.projection_weight, tiles);
  }
  return tiles;
}

void add_sums(const EncoderShape& s, const std::vector<VectorSums>& chunks,
              const LayerPointers<float>& w) {
  const int64_t H = s.hidden;
  for (const VectorSums& sums : chunks) {
    add_sum(3 * H, sums.qkv_bias, w.qkv_bias);
    add_sum(H, sums.attention_bias, w.attention_bias);
    add_sum(H, sums.attention_norm_weight, w.attention_norm_weight);
    add_sum(H, sums.attention_norm_bias, w.attention_norm_bias);
    add_sum(s.up_size(), sums.up_bias, w.up_bias);
    add_sum(H, sums.down_bias, w.down_bias);
    add_sum(H, sums.output_norm_weight, w.output_norm_weight);
    add_sum(H, sums.output_norm_bias, w.output_norm_bias);
  }
}

void add_encoder_sums(const EncoderShape& s, const PositionTables& tables,
                      const std::vector<EncoderSums>& chunks, const EncoderGradients& w) {
  const int64_t H = s.hidden, E = s.embedding_size();
  for (const EncoderSums& sums : chunks) {
    add_sum(E, sums.norm_weight, w.norm_weight);
    add_sum(E, sums.norm_bias, w.norm_bias);
    add_sum(H, sums.projection_bias, w.projection_bias);
    add_sum(H, sums.final_norm_weight, w.final_norm_weight);
    add_sum(H, sums.final_norm_bias, w.final_norm_bias);
    if (w.relative) tables.add_shift_gradient(s, sums.shift, w.relative);
  }
}

void add_embeddings(const EncoderShape& s, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients) {
  constexpr int64_t kColumns = 64;
  const int64_t E = s.embedding_size();
  const VectorKernels& kernels = vector_kernels();
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t column = 0; column < E; column += kColumns) {
    const int64_t width = std::min(kColumns, E - column);
    for (const PlannedSequence& sequence : plan.sequences) {
      PositionRows position_row(s.position_offset);
      for (int64_t j = 0; j < sequence.length; ++j) {
        const int64_t token = sequence.token + j;
        const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[token];
        const int64_t place = position_row(batch.ids[token]);
        const float* from = rows + (sequence.row + j) * E + column;
        kernels.add_to(width, from, gradients.word + batch.ids[token] * E + column);
        if (gradients.position)
          kernels.add_to(width, from, gradients.position + place * E + column);
        if (gradients.type) kernels.add_to(width, from, gradients.type + type * E + column);
      }
    }
  }
}

}  // namespace simile
