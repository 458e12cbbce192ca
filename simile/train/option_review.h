// SPDX-License-Identifier: Apache-2.0
// What a recipe sets that does nothing beside its other options. Those that only one order, format,
// method or optimizer takes are refused where these are read (simile/core/owned_options.h).
#pragma once

#include <string>
#include <vector>

#include "simile/train/pretrain_options.h"
#include "simile/train/train_options.h"

namespace simile {

// Errors (ErrorKind::kRecipe): an option of something that the recipe has not: of teachers, heads,
// held-out texts.
void refuse_idle_options(const TrainOptions& options);
void refuse_idle_options(const PretrainOptions& options);

// Options of what the recipe has switched off (siar.weight: 0, no patience), or of which another
// takes the place (`epochs` beside `steps`): recipes share them with their variants.
std::vector<std::string> idle_option_warnings(const TrainOptions& options);
std::vector<std::string> idle_option_warnings(const PretrainOptions& options);

}  // namespace simile
