// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/pair_scores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/similarity.h"

namespace simile {

torch::Tensor single_logits(const LossInput& input, const char* loss) {
  check_loss_input(input);
  SIMILE_CHECK(input.logits.defined(), ErrorKind::kInput,
               fmt::format("loss: {} needs the number a head gives each pair, and there is no "
                           "head; give the objective a head with one output",
                           loss));
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(input.logits.dim() == 2 && input.logits.size(0) == m && input.logits.size(1) == 1,
               ErrorKind::kInput,
               fmt::format("loss: {} needs one number a pair from the head, [{}, 1], found [{}]; "
                           "give the head one output",
                           loss, m, fmt::join(input.logits.sizes(), ", ")));
  return input.logits.squeeze(1);
}

torch::Tensor pair_scores(const LossInput& input) {
  if (input.logits.defined()) return single_logits(input, "a score");
  check_pair_input(input);
  return row_cosine(input.left, input.right);
}

}  // namespace simile
