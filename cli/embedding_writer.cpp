// SPDX-License-Identifier: Apache-2.0
#include "cli/embedding_writer.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/embedding_store.h"

namespace simile::cli {

EmbeddingFormat embedding_format(const std::string& path) {
  if (path.empty() || path == "-" || ends_with(path, ".jsonl")) return EmbeddingFormat::kJsonl;
  if (ends_with(path, ".npy")) return EmbeddingFormat::kNpy;
  if (ends_with(path, ".tsv")) return EmbeddingFormat::kTsv;
  throw Error(ErrorKind::kUsage,
              fmt::format("--output '{}': expected a name ending in .npy, .jsonl or .tsv", path));
}

std::string embedding_header(EmbeddingFormat format, int64_t texts, int64_t dimension) {
  if (format != EmbeddingFormat::kNpy) return "";
  return npy_header(NpyNumber::kFloat, texts, dimension);
}

std::string embedding_rows(EmbeddingFormat format, const std::vector<std::string>& texts,
                           const Matrix<float>& embeddings, const std::vector<int64_t>& rows) {
  if (format == EmbeddingFormat::kNpy) {
    return std::string(reinterpret_cast<const char*>(embeddings.values.data()),
                       embeddings.values.size() * sizeof(float));
  }
  const bool json = format == EmbeddingFormat::kJsonl;
  std::string out;
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    const auto place = static_cast<size_t>(i);
    if (json && !rows.empty()) out += fmt::format("{{\"row\":{},", rows[place]);
    if (json)
      out += (rows.empty() ? "{\"text\":" : "\"text\":") + quote(texts[place]) + ",\"embedding\":[";
    for (int64_t j = 0; j < embeddings.cols; ++j) {
      if (j > 0) out += json ? ',' : '\t';
      out += fmt::format("{}", embeddings.at(i, j));
    }
    out += json ? "]}\n" : "\n";
  }
  return out;
}

}  // namespace simile::cli
