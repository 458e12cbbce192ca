// SPDX-License-Identifier: Apache-2.0
// The plan of an epoch without training: which examples a recipe puts into which batch.
#pragma once

#include <cstdint>
#include <string>

#include "simile/batch/plan.h"
#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/data/pair_data.h"

namespace simile {

struct BatchListingOptions {
  std::string stage, objective;
  int64_t epoch = 1;
  bool with_pairs = false;

  void visit(OptionVisitor& v) {
    v.field("stage", stage, {"stage, by its name or its number from 0; empty: the first"});
    v.field("objective", objective,
            {"objective of the stage, by its name in logs; empty: the first"});
    v.field("epoch", epoch, {"epoch of the objective, from 1"});
    v.field("texts", with_pairs, {"show each example with its score and its texts"});
  }
};

struct BatchListing {
  std::string stage, objective, order, file;
  int64_t epoch = 1;
  int64_t seed = 1;
  int64_t examples = 0;  // of the data; a batch names them by their number, from 0
  Batches batches;       // in the order of training
  PairDataset pairs;     // the examples as they were read, if asked for
};

// The batches of an epoch as `train` makes them of the same recipe. Orders that compare vectors
// embed with the weights the run starts from: exact for the first epoch of a first stage; later
// ones embed with the weights of that moment, which only a run has. Nothing is written. Errors: as
// train() before its first step; ErrorKind::kUsage for a stage or objective that the recipe lacks,
// with those it has, and an epoch below 1.
BatchListing list_batches(const ConfigNode& recipe, const BatchListingOptions& options,
                          EventSink& events);

}  // namespace simile
