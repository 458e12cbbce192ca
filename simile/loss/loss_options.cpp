// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_options.h"

#include "simile/core/error.h"
#include "simile/loss/detail/foreign_names.h"
#include "simile/loss/loss_table.h"

namespace simile {

void LossOptions::visit(OptionVisitor& v) {
  OptionInfo info{"the loss; the other keys are its own"};
  for (const LossRow& row : loss_table()) info.choices.push_back(row.name);
  try {
    v.field("name", name, info);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + hint_of_foreign_loss(error.what()));
  }
  find_loss(name).visit(*this, v);
}

void LossTerm::visit(OptionVisitor& v) {
  LossOptions::visit(v);
  v.field("weight", weight, {"factor on this loss in the sum", "", -1e12, 1e12});
}

}  // namespace simile
