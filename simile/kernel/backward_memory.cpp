// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/backward_memory.h"

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

}  // namespace simile
