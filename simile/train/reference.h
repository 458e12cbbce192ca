// SPDX-License-Identifier: Apache-2.0
// What can be trained, as Markdown: pages of `simile docs`.
#pragma once

#include <string>

namespace simile {

// Every option of a recipe.
std::string recipe_reference();

// Every option of a recipe of pre-training.
std::string pretrain_reference();

// Every loss with its needs, formula, paper, advice and options; then normalisations, heads and
// regularisers.
std::string method_reference();

}  // namespace simile
