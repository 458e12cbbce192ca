// SPDX-License-Identifier: Apache-2.0
// The rules that the options of a recipe keep, as far as they can be seen without the data: what
// options may not say beside each other, and which do nothing there. Options that only one order,
// format, method or optimizer takes are refused where these are read
// (simile/core/unused_options.h).
#pragma once

#include <string>
#include <vector>

#include "simile/train/pretrainer.h"
#include "simile/train/train_options.h"

namespace simile {

// One starting point, not two; its engine and device are there; at least one stage, each with an
// objective; names that are unique and refer to what there is; a selection metric that names one of
// `evaluations`; no option of what the recipe does not have: of teachers, heads, hybrids. Errors:
// ErrorKind::kRecipe.
void check_train_options(const TrainOptions& options);

// The same for pre-training. Errors: ErrorKind::kRecipe.
void check_pretrain_options(const PretrainOptions& options);

// Options of what the recipe has switched off (siar.weight: 0, no patience), or of which another
// takes the place (`epochs` beside `steps`). They are no errors: recipes share them with their
// variants.
std::vector<std::string> idle_option_warnings(const TrainOptions& options);
std::vector<std::string> idle_option_warnings(const PretrainOptions& options);

}  // namespace simile
