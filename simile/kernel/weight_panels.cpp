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
