// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/triplet.h"

#include "simile/core/error.h"
#include "simile/loss/similarity.h"

namespace simile {

void TripletOptions::visit(OptionVisitor& v) {
  v.field("margin", margin,
          {"how much farther than the positive a negative should be, in units of the distance", "",
           0.0});
  OptionInfo distance_info{"distance of two embeddings: euclidean, or cosine for 1 - cosine"};
  distance_info.choices = {"euclidean", "cosine"};
  v.field("distance", distance, distance_info);
}

torch::Tensor triplet_loss(const LossInput& input, const TripletOptions& options) {
  check_loss_input(input);
  SIMILE_CHECK(!input.negatives.empty(), ErrorKind::kInput,
               "loss: triplet needs a negative text for every pair, and the batch has none; map a "
               "negative column or choose a loss on pairs");
  const auto distance = [&](const torch::Tensor& other) {
    return options.distance == "cosine" ? 1.0 - row_cosine(input.left, other)
                                        : row_euclidean(input.left, other);
  };
  const torch::Tensor to_positive = distance(input.right);
  torch::Tensor sum;
  for (const auto& negative : input.negatives) {
    const torch::Tensor part = (to_positive - distance(negative) + options.margin).relu();
    sum = sum.defined() ? sum + part : part;
  }
  return sum.mean() / static_cast<double>(input.negatives.size());
}

}  // namespace simile
