// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/weight_panels.h"

#include <algorithm>

namespace simile {
namespace {

constexpr int64_t kParallelFloats = 1 << 18;  // below it, threads cost more than they save

struct Piece {  // one panel of one matrix
  const float* from;
  int64_t width, k, ld;
  float* to;
};

// The panels of w [rows, columns] as matrix B of a product; returns the floats they take.
int64_t list_pieces(const float* w, int64_t rows, int64_t columns, PanelUse use, float* to,
                    std::vector<Piece>* pieces) {
  const VectorKernels& kernels = vector_kernels();
  const bool forward = use == PanelUse::kForward;
  const int64_t n = forward ? rows : columns, k = forward ? columns : rows;
  for (int64_t j = 0; j < n && pieces; j += kernels.panel_width) {
    pieces->push_back({w + (forward ? j * columns : j), std::min(kernels.panel_width, n - j), k,
                       columns, to + j * k});
  }
  return (panel_floats(kernels, n, k) + 15) / 16 * 16;
}

}  // namespace

void WeightPanels::pack(const EncoderShape& shape, const EncoderWeights& weights, PanelUse use) {
  const int64_t H = shape.hidden, I = shape.intermediate;
  int64_t size = 0;
  for (const auto& dimensions : {std::pair{3 * H, H}, {H, H}, {I, H}, {H, I}}) {
    size += list_pieces(nullptr, dimensions.first, dimensions.second, use, nullptr, nullptr);
  }
  float* next = memory_.reserve(size * shape.layers);
  std::vector<Piece> pieces;
  const auto add = [&](const float* w, int64_t rows, int64_t columns) {
    float* const here = next;
    next += list_pieces(w, rows, columns, use, here, &pieces);
    return here;
  };
  layers_.clear();
  for (const LayerPointers<const float>& layer : weights.layers) {
    LayerPanels panels;
    panels.qkv = add(layer.qkv_weight, 3 * H, H);
    panels.attention = add(layer.attention_weight, H, H);
    panels.up = add(layer.up_weight, I, H);
    panels.down = add(layer.down_weight, H, I);
    layers_.push_back(panels);
  }
  const auto pack =
      use == PanelUse::kForward ? vector_kernels().pack_rows : vector_kernels().pack_columns;
  const bool large = size * shape.layers > kParallelFloats;
#pragma omp parallel for schedule(dynamic, 4) if (large)
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    pack(p.from, p.width, p.k, p.ld, p.to);
  }
}

}  // namespace simile
