// SPDX-License-Identifier: Apache-2.0
// Which models can be used, as Markdown: docs/models.md.
#pragma once

#include <string>

namespace simile {

// Families, weight files, poolings, modules, activations and tokenizer components, from the tables
// that read them; then what is refused.
std::string model_reference();

}  // namespace simile
