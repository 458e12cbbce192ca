// SPDX-License-Identifier: Apache-2.0
// Losses summed over prefixes of the embedding (Kusupati et al., "Matryoshka Representation
// Learning", NeurIPS 2022, eq. 1): Σ_d w_d · L(x_1..d / |x_1..d|), so that a vector that is cut
// after d numbers is still a good one.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct MatryoshkaOptions {
  std::vector<std::string> dimensions;  // whole numbers; the whole embedding is not added by itself
  std::vector<std::string> weights;     // as many, or none: all 1

  void visit(OptionVisitor& v);
};

// `loss` is called once a prefix, with every embedding (teachers' too) cut and each row divided by
// its L2 norm. Errors: ErrorKind::kRecipe for dimensions that are not whole numbers from 1 to D,
// for another number of weights than of dimensions; as check_loss_input() and `loss`.
torch::Tensor matryoshka_loss(const LossInput& input, const MatryoshkaOptions& options,
                              const std::function<torch::Tensor(const LossInput&)>& loss);

LossRow matryoshka_row();  // its row in loss_table.h

}  // namespace simile
