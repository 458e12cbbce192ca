// SPDX-License-Identifier: Apache-2.0
// Model folders with random weights.
#pragma once

#include <cstdint>
#include <string>

namespace simile::bench {

// Writes a model folder to `path`: `name` is mini (4 layers, 256 wide, 4 heads, 1024 intermediate),
// minilm (6, 384, 12, 1536) or bert (12, 768, 12, 3072), each with as many
// embeddings as the tokenizer of `tokenizer_folder` has tokens and sees texts of up to `positions`
// tokens; mean pooling, normalised. Errors (kUsage): another name.
void write_random_model(const std::string& path, const std::string& name,
                        const std::string& tokenizer_folder, int64_t positions);

}  // namespace simile::bench
