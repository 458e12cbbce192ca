// SPDX-License-Identifier: Apache-2.0
// Embeddings as .npy, .jsonl or .tsv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "simile/core/matrix.h"

namespace simile::cli {

enum class EmbeddingFormat { kNpy, kJsonl, kTsv };

// From the ending of the path; stdout ("-" or empty) is .jsonl. Another ending is
// ErrorKind::kUsage.
EmbeddingFormat embedding_format(const std::string& path);

// What stands before `texts` vectors of size `dimension`: the .npy header (little-endian float32, C
// order, shape (texts, dimension)); nothing for the other formats.
// Of any number of texts it has the same length.
std::string embedding_header(EmbeddingFormat format, int64_t texts, int64_t dimension);

// The rows of one block: raw floats; {"text":..,"embedding":[..]} a line; or tab separated numbers.
// Numbers are written so that reading them gives the same float. `rows`, one for each text or none,
// begin the objects of .jsonl: {"row":..,"text":..,"embedding":[..]}.
std::string embedding_rows(EmbeddingFormat format, const std::vector<std::string>& texts,
                           const Matrix<float>& embeddings, const std::vector<int64_t>& rows);

}  // namespace simile::cli
