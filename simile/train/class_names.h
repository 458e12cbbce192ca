// SPDX-License-Identifier: Apache-2.0
// The classes of heads that the recipe leaves to the data.
#pragma once

#include "simile/core/event.h"
#include "simile/train/train_options.h"

namespace simile {

// Gives each head with `output: classes` and no class_names those of the data of the first
// objective that trains it (simile/data/class_data.h), and tells which. A head that no objective
// with classes trains stays as it is. Errors: those of read_pairs().
void fill_class_names(TrainOptions& options, EventSink& events);

}  // namespace simile
