// SPDX-License-Identifier: Apache-2.0
// What can be trained, as Markdown: docs/losses.md.
#pragma once

#include <string>

namespace simile {

// Every loss with its needs, formula, paper, advice and options; then normalisations, heads and
// regularisers.
std::string method_reference();

}  // namespace simile
