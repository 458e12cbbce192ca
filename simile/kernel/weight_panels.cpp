// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/weight_panels.h"

#include <algorithm>

namespace simile {
namespace {

// Floats below which threads cost more than they save: of all layers, which training packs at each
// step, and of one layer, where threads have yet to be started.
constexpr int64_t kParallelFloats = 1 << 18, kParallelLayerFloats = 1 << 21;

// Floats that the panels of w [rows, columns] take.
int64_t count_floats(int64_t rows, int64_t columns, PanelUse use) {
  const bool forward = use == PanelUse::kForward;
  return (panel_floats(vector_kernels(), forward ? rows : columns, forward ? columns : rows) + 15) /
         16 * 16;
}

int64_t count_layer_floats(const EncoderShape& s, PanelUse use) {
  return count_floats(3 * s.hidden, s.hidden, use) + count_floats(s.hidden, s.hidden, use) +
         count_floats(s.intermediate, s.hidden, use) + count_floats(s.hidden, s.intermediate, use);
}

}  // namespace

struct WeightPanels::Piece {  // one panel of one matrix
  const float* from;
  int64_t width, k, ld;
  float* to;
};

void WeightPanels::reserve(const EncoderShape& shape, PanelUse use) {
  next_ = memory_.reserve(count_layer_floats(shape, use) * shape.layers);
  layers_.clear();
}

void WeightPanels::list_layer(const EncoderShape& shape, const LayerPointers<const float>& layer,
                              PanelUse use, std::vector<Piece>& pieces) {
  const bool forward = use == PanelUse::kForward;
  const int64_t panel_width = vector_kernels().panel_width;
  // w [rows, columns] as matrix B [k, n] of a product.
  const auto add = [&](const float* w, int64_t rows, int64_t columns) {
    const int64_t n = forward ? rows : columns, k = forward ? columns : rows;
    float* const here = next_;
    for (int64_t j = 0; j < n; j += panel_width) {
      pieces.push_back({w + (forward ? j * columns : j), std::min(panel_width, n - j), k, columns,
                        here + j * k});
    }
    next_ += count_floats(rows, columns, use);
    return here;
  };
  const int64_t H = shape.hidden, I = shape.intermediate;
  LayerPanels panels;
  panels.qkv = add(layer.qkv_weight, 3 * H, H);
  panels.attention = add(layer.attention_weight, H, H);
  panels.up = add(layer.up_weight, I, H);
  panels.down = add(layer.down_weight, H, I);
  layers_.push_back(panels);
}

void WeightPanels::copy(const std::vector<Piece>& pieces, PanelUse use, bool parallel) {
  const auto pack =
      use == PanelUse::kForward ? vector_kernels().pack_rows : vector_kernels().pack_columns;
#pragma omp parallel for schedule(dynamic, 4) if (parallel)
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    pack(p.from, p.width, p.k, p.ld, p.to);
  }
}

void WeightPanels::pack(const EncoderShape& shape, const EncoderWeights& weights, PanelUse use) {
  reserve(shape, use);
  std::vector<Piece> pieces;
  for (const auto& layer : weights.layers) list_layer(shape, layer, use, pieces);
  copy(pieces, use, count_layer_floats(shape, use) * shape.layers > kParallelFloats);
}

void WeightPanels::pack(const EncoderShape& shape,
                        const std::function<LayerPointers<const float>(int64_t)>& read_layer) {
  constexpr PanelUse use = PanelUse::kForward;
  reserve(shape, use);
  const bool parallel = count_layer_floats(shape, use) > kParallelLayerFloats;
  for (int64_t i = 0; i < shape.layers; ++i) {
    std::vector<Piece> pieces;
    list_layer(shape, read_layer(i), use, pieces);
    copy(pieces, use, parallel);
  }
}

}  // namespace simile
