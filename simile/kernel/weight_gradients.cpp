// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/weight_gradients.h"

#include <algorithm>

#include "simile/kernel/detail/position_tables.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

namespace {

VectorSums carve_sums(Carver& carver, const EncoderShape& shape) {
  VectorSums s;
  s.qkv_bias = carver.floats(3 * shape.hidden);
  s.up_bias = carver.floats(shape.up_size());
  for (float** part : {&s.attention_bias, &s.attention_norm_weight, &s.attention_norm_bias,
                       &s.down_bias, &s.output_norm_weight, &s.output_norm_bias}) {
    *part = carver.floats(shape.hidden);
  }
  return s;
}

EncoderSums carve_encoder_sums(Carver& carver, const EncoderShape& shape,
                               const PositionTables& tables) {
  EncoderSums s;
  s.norm_weight = carver.floats(shape.embedding_size());
  s.norm_bias = carver.floats(shape.embedding_size());
  for (float** part : {&s.projection_bias, &s.final_norm_weight, &s.final_norm_bias}) {
    *part = carver.floats(shape.hidden);
  }
  s.shift = carver.floats(tables.shift_floats());
  return s;
}

// Where chunks begin in panels over all tokens.
void place_chunks(const BatchPlan& plan, const EncoderProducts& products, BackwardMemory& memory) {
  memory.panel_first.clear();
  memory.panel_tokens = 0;
  for (const PlannedChunk& chunk : plan.chunks) {
    memory.panel_first.push_back(memory.panel_tokens);
    memory.panel_tokens += products.token_places(chunk.rows);
  }
}

}  // namespace

int64_t carve_backward(const EncoderShape& s, const TapeContents& tape, BackwardMemory& memory,
                       float* base) {
  Carver carver(base);
  const EncoderProducts& products = tape.panels.products();
  const BatchPlan& plan = tape.plan;
  const int64_t rows = plan.rows, H = s.hidden, I = s.intermediate, E = s.embedding_size();
  place_chunks(plan, products, memory);
  const auto panels = [&](int64_t width) {
    return carver.floats(products.panel_floats(width, memory.panel_tokens));
  };
  const auto gradient = [&](int64_t width) {
    return products.is_rounded() ? panels(width) : carver.floats(rows * width);
  };
  memory.hidden = carver.floats(rows * H);
  memory.embedded = s.projected ? carver.floats(rows * E) : memory.hidden;
  memory.embedded_panels = s.projected ? panels(E) : nullptr;
  memory.projected = s.projected && products.is_rounded() ? panels(H) : memory.hidden;
  for (LayerGradients& layer : memory.layers) {
    layer.qkv = gradient(3 * H);
    layer.attention = gradient(H);
    layer.up = gradient(s.up_size());
    layer.down = gradient(H);
    layer.input_panels = panels(H);
    layer.context_panels = panels(H);
    layer.attended_panels = panels(H);
    layer.inner_panels = panels(I);
  }
  const int64_t before = carver.used();
  memory.first_sum = base ? base + before : nullptr;
  memory.sums.assign(static_cast<size_t>(s.layers), std::vector<VectorSums>(plan.chunks.size()));
  for (auto& layer : memory.sums) {
    for (VectorSums& sums : layer) sums = carve_sums(carver, s);
  }
  memory.encoder_sums.assign(plan.chunks.size(), {});
  for (EncoderSums& sums : memory.encoder_sums) sums = carve_encoder_sums(carver, s, tape.tables);
  memory.sums_floats = carver.used() - before;
  return carver.used();
}

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
