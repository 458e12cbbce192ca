// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/encoder_tape.h"

#include <algorithm>
#include <utility>

#include "simile/kernel/encoder_training.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// Floats below which threads cost more than they save: of all layers, which training packs at each
// step, and of one layer, where threads have yet to be started.
constexpr int64_t kParallelFloats = 1 << 18, kParallelLayerFloats = 1 << 21;

NormTape carve_norm(Carver& carver, int64_t rows, int64_t width) {
  NormTape tape{};
  tape.output = carver.floats(rows * width);
  tape.normalized = carver.floats(rows * width);
  tape.inverse_deviation = carver.floats(rows);
  return tape;
}

LayerTape carve_layer(const EncoderShape& s, const EncoderDropout& dropout, const BatchPlan& plan,
                      bool attention_norm, Carver& carver) {
  const int64_t rows = plan.rows, H = s.hidden;
  const auto active = [&](DropoutPlace place) { return DropoutMask(dropout, place, 0).active(); };
  const auto keep = [&](bool has, DropoutPlace place, int64_t bytes) {
    return has && active(place) ? carver.bytes(bytes) : nullptr;
  };
  LayerTape layer{};
  layer.qkv = carver.floats(rows * 3 * H);
  layer.statistics = carver.floats(rows * s.heads * 2);
  layer.context = carver.floats(rows * H);
  if (attention_norm) layer.attention = carve_norm(carver, rows, H);
  layer.attention.keep =
      keep(s.attended_dropout, DropoutPlace::kAttentionOutput, rows * mask_bytes(H));
  layer.up = carver.floats(rows * s.up_size());
  layer.output = carve_norm(carver, rows, H);
  layer.output.keep = keep(s.output_dropout, DropoutPlace::kOutput, rows * mask_bytes(H));
  layer.inner_keep = keep(s.inner_dropout, DropoutPlace::kInner, rows * mask_bytes(s.intermediate));
  const int64_t factors = static_cast<int64_t>(plan.sequences.size()) * s.heads;
  layer.head_factors = active(DropoutPlace::kHead) ? carver.floats(factors) : nullptr;
  return layer;
}

constexpr int64_t kTileNumbers = 112 * 768;  // elements of a weight tile, about
constexpr int64_t kRoundedRows = 128;        // of one with products in bfloat16

// The vectors of a layer, and of layer -1 those that are no layer's, with their lengths.
template <typename Pointers>
auto vectors_of(const EncoderShape& s, Pointers& p, int64_t layer) {
  const int64_t H = s.hidden, E = s.embedding_size();
  using Vectors = std::vector<std::pair<decltype(&p.norm_weight), int64_t>>;
  if (layer < 0) {
    return Vectors{{&p.norm_weight, E},
                   {&p.norm_bias, E},
                   {&p.projection_bias, H},
                   {&p.final_norm_weight, H},
                   {&p.final_norm_bias, H}};
  }
  auto& w = p.layers[static_cast<size_t>(layer)];
  return Vectors{{&w.qkv_bias, 3 * H},          {&w.attention_bias, H},
                 {&w.attention_norm_weight, H}, {&w.attention_norm_bias, H},
                 {&w.up_bias, s.up_size()},     {&w.down_bias, H},
                 {&w.output_norm_weight, H},    {&w.output_norm_bias, H}};
}

}  // namespace

int64_t carve_tape(const EncoderShape& s, const EncoderDropout& dropout, TapeContents& tape,
                   float* base) {
  Carver carver(base);
  const int64_t rows = tape.plan.rows, H = s.hidden, E = s.embedding_size();
  tape.embedding = carve_norm(carver, rows, E);
  if (DropoutMask(dropout, DropoutPlace::kEmbedding, 0).active()) {
    tape.embedding.keep = carver.bytes(rows * mask_bytes(E));
  }
  tape.projected = s.projected ? carver.floats(rows * H) : nullptr;
  tape.stream = s.pre_norm ? carver.floats(rows * H) : nullptr;
  tape.final = s.pre_norm ? carve_norm(carver, rows, H) : NormTape{};
  tape.layers.resize(static_cast<size_t>(s.layers));
  for (size_t i = 0; i < tape.layers.size(); ++i) {
    tape.layers[i] = carve_layer(s, dropout, tape.plan, !s.pre_norm || i > 0, carver);
  }
  return carver.used();
}

EncoderTape::EncoderTape(ProductType type) : contents_(std::make_unique<TapeContents>(type)) {}
EncoderTape::EncoderTape(EncoderTape&&) noexcept = default;
EncoderTape& EncoderTape::operator=(EncoderTape&&) noexcept = default;
EncoderTape::~EncoderTape() = default;

int64_t EncoderTape::bytes() const {
  return 4 * (contents_->activations.size() + contents_->gradients.size() + contents_->work.size() +
              contents_->panels.size());
}

int64_t carve_backward(const EncoderShape& s, const TapeContents& tape, BackwardMemory& memory,
                       float* base) {
  Carver carver(base);
  const MatrixProducts& products = tape.panels.products();
  const BatchPlan& plan = tape.plan;
  const int64_t rows = plan.rows, H = s.hidden, I = s.intermediate, E = s.embedding_size();
  memory.panel_first.clear();
  memory.panel_tokens = 0;
  for (const PlannedChunk& chunk : plan.chunks) {
    memory.panel_first.push_back(memory.panel_tokens);
    memory.panel_tokens += products.token_places(chunk.rows);
  }
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
  memory.sums.assign(plan.chunks.size(), {});
  for (EncoderGradients& sums : memory.sums) {
    sums.layers.resize(static_cast<size_t>(s.layers));
    for (int64_t layer = -1; layer < s.layers; ++layer) {
      for (const auto& [vector, size] : vectors_of(s, sums, layer)) *vector = carver.floats(size);
    }
    sums.relative = carver.floats(tape.tables.shift_floats());
  }
  memory.sums_floats = carver.used() - before;
  return carver.used();
}

std::vector<WeightTile> weight_tiles(const EncoderShape& s, const MatrixProducts& products,
                                     const BackwardMemory& memory, int64_t layer,
                                     const EncoderGradients& w) {
  const int64_t H = s.hidden, I = s.intermediate, E = s.embedding_size();
  std::vector<WeightTile> tiles;
  // Lists the product for dy [, m] and x [, n], w [m, n].
  const auto list = [&](const float* dy, int64_t m, const float* panels, int64_t n, float* to) {
    const int64_t step = products.is_rounded()
                             ? kRoundedRows
                             : std::clamp<int64_t>(kTileNumbers / n / 28 * 28, 56, 112);
    for (int64_t i = 0; i < m; i += step) {
      const int64_t at = products.is_rounded() ? products.panel_floats(i, memory.panel_tokens) : i;
      tiles.push_back({dy + at, m, panels, to + i * n, std::min(step, m - i), n});
    }
  };
  if (layer < 0) {
    if (s.projected) list(memory.projected, H, memory.embedded_panels, E, w.projection_weight);
    return tiles;
  }
  const LayerGradients& g = memory.layers[layer % 2];
  const LayerPointers<float>& to = w.layers[static_cast<size_t>(layer)];
  list(g.down, H, g.inner_panels, I, to.down_weight);
  list(g.up, s.up_size(), g.attended_panels, H, to.up_weight);
  list(g.attention, H, g.context_panels, H, to.attention_weight);
  list(g.qkv, 3 * H, g.input_panels, H, to.qkv_weight);
  return tiles;
}

void add_sums(const EncoderShape& s, const PositionTables& tables,
              const std::vector<EncoderGradients>& chunks, int64_t layer,
              const EncoderGradients& w) {
  const auto all = vectors_of(s, w, layer);
  for (const EncoderGradients& chunk : chunks) {
    const auto sums = vectors_of(s, chunk, layer);
    for (size_t i = 0; i < all.size(); ++i) {
      float* const to = *all[i].first;  // null: the encoder has no such tensor
      if (to) vector_kernels().add_to(all[i].second, *sums[i].first, to);
    }
    if (layer < 0 && w.relative) tables.add_shift_gradient(s, chunk.relative, w.relative);
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

// Floats that the panels of w [rows, columns] take.
int64_t WeightPanels::count_floats(int64_t rows, int64_t columns, PanelUse use) const {
  const bool forward = use == PanelUse::kForward;
  return (products_.panel_floats(forward ? rows : columns, forward ? columns : rows) + 15) / 16 *
         16;
}

struct WeightPanels::Piece {  // one panel of one matrix
  const float* from;
  ByteMatrix bytes;  // in place of `from`, with numbers
  int64_t width, k, ld;
  float* to;
};

// w [rows, columns] as matrix B [k, n] of a product.
float* WeightPanels::list_matrix(const float* w, const ByteMatrix& bytes, int64_t rows,
                                 int64_t columns, PanelUse use, std::vector<Piece>& pieces) {
  const bool forward = use == PanelUse::kForward;
  const int64_t panel_width = products_.panel_width();
  const int64_t n = forward ? rows : columns, k = forward ? columns : rows;
  float* const here = next_;
  for (int64_t j = 0; j < n; j += panel_width) {
    Piece piece = {nullptr, {},      std::min(panel_width, n - j),
                   k,       columns, here + products_.panel_floats(j, k)};
    if (bytes.numbers != nullptr) {
      piece.bytes = {bytes.numbers + j * columns, bytes.scales + j};
    } else {
      piece.from = w + (forward ? j * columns : j);
    }
    pieces.push_back(piece);
  }
  next_ += count_floats(rows, columns, use);
  return here;
}

void WeightPanels::copy(const std::vector<Piece>& pieces, PanelUse use, bool parallel) const {
#pragma omp parallel for schedule(dynamic, 4) if (parallel)
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    if (p.bytes.numbers != nullptr) {
      products_.pack_bytes(p.bytes.numbers, p.bytes.scales, p.width, p.k, p.to);
    } else if (use == PanelUse::kForward) {
      products_.pack_rows(p.from, p.width, p.k, p.ld, p.to);
    } else {
      products_.pack_columns(p.from, p.width, p.k, p.ld, p.to);
    }
  }
}

void WeightPanels::pack(const EncoderShape& s, const EncoderWeights& weights, PanelUse use,
                        const LayerReader& read_layer) {
  const int64_t H = s.hidden, I = s.intermediate, U = s.up_size(), E = s.embedding_size();
  const int64_t layer_floats = count_floats(3 * H, H, use) + count_floats(H, H, use) +
                               count_floats(U, H, use) + count_floats(H, I, use);
  const int64_t floats =
      (s.projected ? count_floats(H, E, use) : 0) + layer_floats * s.stored_layers();
  next_ = memory_.reserve(floats);
  std::vector<Piece> pieces;
  projection_ =
      s.projected ? list_matrix(weights.projection_weight, {}, H, E, use, pieces) : nullptr;
  layers_.clear();
  for (int64_t i = 0; i < s.stored_layers(); ++i) {
    const LayerMatrices w = read_layer ? read_layer(i) : LayerMatrices(weights.layers[i]);
    layers_.push_back({list_matrix(w.qkv_weight, w.qkv, 3 * H, H, use, pieces),
                       list_matrix(w.attention_weight, w.attention, H, H, use, pieces),
                       list_matrix(w.up_weight, w.up, U, H, use, pieces),
                       list_matrix(w.down_weight, w.down, H, I, use, pieces)});
    if (!read_layer) continue;
    copy(pieces, use, layer_floats > kParallelLayerFloats);
    pieces.clear();
  }
  copy(pieces, use, floats > kParallelFloats);
}

}  // namespace simile
