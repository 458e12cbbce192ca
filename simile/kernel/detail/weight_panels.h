// SPDX-License-Identifier: Apache-2.0
// A copy of an encoder's matrices in the order in which the matrix product reads them.
#pragma once

#include <algorithm>
#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

struct LayerPanels {
  const float* qkv;
  const float* attention;
  const float* up;
  const float* down;
};

enum class PanelUse {
  kForward,   // y = x W^T
  kBackward,  // dx = dy W
};

class WeightPanels {
 public:
  explicit WeightPanels(ProductType products) : products_(products) {}

  // What multiplies with them.
  const MatrixProducts& products() const { return products_; }

  // Copies all matrices (in parallel), into memory that is reused from call to call. With
  // `read_layer` the layers' matrices come from it, layer by layer: the source of a layer is done
  // with when the next is asked for. Layers that share weights are asked for once.
  void pack(const EncoderShape& shape, const EncoderWeights& weights, PanelUse use,
            const LayerReader& read_layer = {});
  int64_t size() const { return memory_.size(); }  // floats
  const LayerPanels& layer(int64_t i) const {
    return layers_[std::min(static_cast<size_t>(i), layers_.size() - 1)];
  }
  const float* projection() const { return projection_; }  // null: there is none

 private:
  struct Piece;
  int64_t count_floats(int64_t rows, int64_t columns, PanelUse use) const;
  float* list_matrix(const float* w, const ByteMatrix& bytes, int64_t rows, int64_t columns,
                     PanelUse use, std::vector<Piece>& pieces);
  void copy(const std::vector<Piece>& pieces, PanelUse use, bool parallel) const;

  MatrixProducts products_;
  FloatBuffer memory_;
  float* next_ = nullptr;  // where the next matrix's panels go
  const float* projection_ = nullptr;
  std::vector<LayerPanels> layers_;
};

}  // namespace simile
