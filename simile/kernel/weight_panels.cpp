// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/weight_panels.h"

#include <algorithm>

namespace simile {
namespace {

// Floats below which threads cost more than they save: of all layers, which training packs at each
// step, and of one layer, where threads have yet to be started.
constexpr int64_t kParallelFloats = 1 << 18, kParallelLayerFloats = 1 << 21;

}  // namespace

// Floats that the panels of w [rows, columns] take.
int64_t WeightPanels::count_floats(int64_t rows, int64_t columns, PanelUse use) const {
  const bool forward = use == PanelUse::kForward;
  return (products_.panel_floats(forward ? rows : columns, forward ? columns : rows) + 15) / 16 *
         16;
}

int64_t WeightPanels::count_layer_floats(const EncoderShape& s, PanelUse use) const {
  return count_floats(3 * s.hidden, s.hidden, use) + count_floats(s.hidden, s.hidden, use) +
         count_floats(s.up_size(), s.hidden, use) + count_floats(s.hidden, s.intermediate, use);
}

int64_t WeightPanels::count_all_floats(const EncoderShape& s, PanelUse use) const {
  const int64_t projection = s.projected ? count_floats(s.hidden, s.embedding_size(), use) : 0;
  return projection + count_layer_floats(s, use) * s.stored_layers();
}

struct WeightPanels::Piece {  // one panel of one matrix
  const float* from;
  ByteMatrix bytes;  // in place of `from`, with numbers
  int64_t width, k, ld;
  float* to;
};

void WeightPanels::reserve(const EncoderShape& shape, PanelUse use) {
  next_ = memory_.reserve(count_all_floats(shape, use));
  projection_ = nullptr;
  layers_.clear();
}

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

void WeightPanels::list_projection(const EncoderShape& shape, const EncoderWeights& weights,
                                   PanelUse use, std::vector<Piece>& pieces) {
  if (!shape.projected) return;
  projection_ =
      list_matrix(weights.projection_weight, {}, shape.hidden, shape.embedding_size(), use, pieces);
}

void WeightPanels::list_layer(const EncoderShape& shape, const LayerMatrices& layer, PanelUse use,
                              std::vector<Piece>& pieces) {
  const int64_t H = shape.hidden, I = shape.intermediate;
  LayerPanels panels;
  panels.qkv = list_matrix(layer.qkv_weight, layer.qkv, 3 * H, H, use, pieces);
  panels.attention = list_matrix(layer.attention_weight, layer.attention, H, H, use, pieces);
  panels.up = list_matrix(layer.up_weight, layer.up, shape.up_size(), H, use, pieces);
  panels.down = list_matrix(layer.down_weight, layer.down, H, I, use, pieces);
  layers_.push_back(panels);
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

void WeightPanels::pack(const EncoderShape& shape, const EncoderWeights& weights, PanelUse use) {
  reserve(shape, use);
  std::vector<Piece> pieces;
  list_projection(shape, weights, use, pieces);
  for (int64_t i = 0; i < shape.stored_layers(); ++i) {
    list_layer(shape, weights.layers[static_cast<size_t>(i)], use, pieces);
  }
  copy(pieces, use, count_all_floats(shape, use) > kParallelFloats);
}

void WeightPanels::pack(const EncoderShape& shape, const EncoderWeights& weights,
                        const LayerReader& read_layer) {
  constexpr PanelUse use = PanelUse::kForward;
  reserve(shape, use);
  const bool parallel = count_layer_floats(shape, use) > kParallelLayerFloats;
  std::vector<Piece> pieces;
  list_projection(shape, weights, use, pieces);
  copy(pieces, use, false);
  for (int64_t i = 0; i < shape.stored_layers(); ++i) {
    pieces.clear();
    list_layer(shape, read_layer(i), use, pieces);
    copy(pieces, use, parallel);
  }
}

}  // namespace simile
