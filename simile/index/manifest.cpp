// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile::detail {
namespace {

constexpr int64_t kFormat = 2;

// In the order of VectorMetric.
constexpr const char* kMetricNames[] = {"inner_product", "squared_distance", "absolute_distance"};

}  // namespace

std::string vectors_path(const std::string& folder, int64_t generation) {
  return join_path(folder, fmt::format("vectors-{}.bin", generation));
}

std::string documents_path(const std::string& folder) {
  return join_path(folder, "documents.sqlite");
}

void write_manifest(const std::string& folder, const IndexInfo& info) {
  const Json json = {{"format", kFormat},
                     {"model", info.model.name},
                     {"fingerprint", info.model.fingerprint},
                     {"precision", info.model.precision},
                     {"dimension", info.model.dimension},
                     {"metric", kMetricNames[static_cast<size_t>(info.model.metric)]},
                     {"count", info.count}};
  write_file_atomic(join_path(folder, kManifest), dump_json(json) + "\n");
}

IndexInfo read_manifest(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               fmt::format("'{}' is not an index folder: it has no {}", folder, kManifest));
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  const int64_t format = json.integer("format", 1, int64_t{1} << 32);
  SIMILE_CHECK(format == kFormat, ErrorKind::kInput,
               fmt::format("{}: format {}, this program reads {}; build the index again", path,
                           format, kFormat));
  IndexInfo info;
  info.model.name = json.text("model");
  info.model.fingerprint = json.text("fingerprint");
  if (json.has("precision")) info.model.precision = json.text("precision");
  info.model.dimension = json.integer("dimension", 1, 1 << 20);
  info.count = json.integer("count", 0, int64_t{1} << 40);
  const std::string metric = json.text("metric");
  const auto* const found = std::find(std::begin(kMetricNames), std::end(kMetricNames), metric);
  SIMILE_CHECK(found != std::end(kMetricNames), ErrorKind::kInput,
               fmt::format("{}: \"metric\" is \"{}\"; known: {}", path, metric,
                           fmt::join(kMetricNames, ", ")));
  info.model.metric = static_cast<VectorMetric>(found - std::begin(kMetricNames));
  return info;
}

void check_documents(const std::vector<Document>& documents, const Matrix<float>& vectors,
                     int64_t dimension) {
  const auto count = static_cast<int64_t>(documents.size());
  SIMILE_CHECK(vectors.rows == count && (count == 0 || vectors.cols == dimension),
               ErrorKind::kInput,
               fmt::format("index: {} documents of dimension {} need as many vectors, got [{}, {}]",
                           count, dimension, vectors.rows, vectors.cols));
  for (int64_t i = 0; i < count; ++i) {
    const float* row = vectors.row(i);
    SIMILE_CHECK(std::all_of(row, row + dimension, [](float v) { return std::isfinite(v); }),
                 ErrorKind::kInput,
                 fmt::format("index: the vector of document \"{}\" is not finite",
                             documents[static_cast<size_t>(i)].id));
  }
}

}  // namespace simile::detail
