// SPDX-License-Identifier: Apache-2.0
// The recipe group `loss`: a name and the options of that loss alone.
//
//   loss: {name: bsc, temperature: 0.05, normalize: l2}
//   loss: mse
//
// visit() names `name` first and then only the options of the loss it holds, so that an option of
// another loss is an unknown key.
#pragma once

#include <string>

#include "simile/core/options.h"
#include "simile/loss/bsc.h"
#include "simile/loss/combo.h"
#include "simile/loss/mnrl.h"
#include "simile/loss/mse.h"
#include "simile/loss/simcse.h"
#include "simile/loss/triplet.h"

namespace simile {

struct LossOptions {
  std::string name = "bsc";
  BscOptions bsc;
  ComboOptions combo;
  MnrlOptions mnrl;
  MseOptions mse;
  SimcseOptions simcse;
  TripletOptions triplet;

  void visit(OptionVisitor& v);
};

}  // namespace simile
