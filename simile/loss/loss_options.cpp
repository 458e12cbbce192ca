// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_options.h"

#include "simile/loss/loss_table.h"

namespace simile {

void LossOptions::visit(OptionVisitor& v) {
  OptionInfo info{"the loss; the other keys are its own"};
  for (const LossRow& row : loss_table()) info.choices.push_back(row.name);
  v.field("name", name, info);
  find_loss(name).visit(*this, v);
}

void LossTerm::visit(OptionVisitor& v) {
  LossOptions::visit(v);
  v.field("weight", weight, {"factor on this loss in the sum", "", -1e12, 1e12});
}

}  // namespace simile
