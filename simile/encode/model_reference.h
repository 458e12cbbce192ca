// SPDX-License-Identifier: Apache-2.0
// Which models can be used, as Markdown: docs/models.md.
#pragma once

#include <string>

namespace simile {

// model_reference.md with the families, weight files, poolings, activations and tokenizer
// components of the tables that read them.
std::string model_reference();

}  // namespace simile
