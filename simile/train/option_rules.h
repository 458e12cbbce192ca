// SPDX-License-Identifier: Apache-2.0
// Rules for the options of a recipe that can be checked without the data: options that exclude each
// other, and options that do nothing. For options of one order, format, method or optimizer see
// simile/core/unused_options.h.
#pragma once

#include <string>
#include <vector>

#include "simile/train/pretrainer.h"
#include "simile/train/train_options.h"

namespace simile {

// One starting point, not two; its engine and device are there; at least one stage, each with an
// objective; names that are unique and refer to existing things; a selection metric of
// `evaluations`; no option of missing teachers, heads or hybrids. Errors: kRecipe.
void check_train_options(const TrainOptions& options);

// The same for pre-training. Errors: ErrorKind::kRecipe.
void check_pretrain_options(const PretrainOptions& options);

// Warnings about options of features that the recipe has switched off (siar.weight: 0, no
// patience), and about options that another one overrides (`epochs` beside `steps`). No errors:
// recipes share them with their variants.
std::vector<std::string> idle_option_warnings(const TrainOptions& options);
std::vector<std::string> idle_option_warnings(const PretrainOptions& options);

}  // namespace simile
