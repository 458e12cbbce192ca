// SPDX-License-Identifier: Apache-2.0
// An optimiser of an encoder's flat weights and of small tensors beside them, as a stage drives it.
//
// One update of a weight is the rule that the options name (optimizer_rule.h); the gradients of all
// weights together are clipped before it. flat_optimizer.h updates the host's memory, row by row
// where a table's rows wait until they are used, and tensor_optimizer.h whole tensors where they
// are; placement.h chooses.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simile/train/optimizer_rule.h"

namespace simile {

// A small tensor trained beside the encoder: a part of a head, a temperature.
struct TrainedTensor {
  std::string name;
  torch::Tensor values;               // float, contiguous; changed in place
  torch::Tensor gradient;             // likewise, of the same size and on the same device
  double learning_rate_factor = 1.0;  // times the learning rate of the step
  bool decays = false;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // To be called before each forward pass with the token ids it reads. Several calls before a step
  // add up. Errors (kInput): an id outside the table.
  virtual void prepare_rows(const std::vector<int32_t>& ids) = 0;

  // One update of all weights by their gradients, which are zero on return. Returns the norm of all
  // gradients together before clipping; if it is not finite, nothing but the gradients is changed.
  virtual double step(double learning_rate) = 0;

  // Forgets the gradients of a step that was not finished. Rows stay prepared.
  virtual void clear_gradients() = 0;

  // Brings every row up to date: before the weights are evaluated, averaged or saved.
  virtual void flush_rows() = 0;

  // The state as it stands; rows of the table may lag behind, they and the weights alike. With the
  // weights of the same moment, load_state() continues bit for bit. Errors (kInput): sizes that do
  // not match this optimiser, steps that cannot be, rows that lag behind where none may.
  virtual OptimizerState state() const = 0;
  virtual void load_state(OptimizerState state) = 0;
};

}  // namespace simile
