// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "simile/core/detail/sealed_json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"

namespace simile::detail {
namespace {

constexpr int64_t kFormat = 3;

// In the order of VectorMetric.
constexpr const char* kMetricNames[] = {"inner_product", "squared_distance", "absolute_distance"};

Json manifest_json(const IndexedModel& model) {
  Json json = {{"format", kFormat},
               {"model", model.name},
               {"fingerprint", model.fingerprint},
               {"precision", model.precision},
               {"dimension", model.dimension},
               {"metric", kMetricNames[static_cast<size_t>(model.metric)]}};
  if (!model.folder.empty()) json["model_folder"] = model.folder;
  return json;
}

}  // namespace

std::string vectors_path(const std::string& folder, int64_t generation) {
  return join_path(folder, fmt::format("vectors-{}.bin", generation));
}

std::string documents_path(const std::string& folder) {
  return join_path(folder, "documents.sqlite");
}

void write_manifest(const std::string& folder, const IndexedModel& model) {
  Json json = manifest_json(model);
  json[kSeal] = seal_of(json);
  write_file_atomic(join_path(folder, kManifest), dump_json(json) + "\n");
}

IndexedModel read_manifest(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               fmt::format("'{}' is not an index folder: it has no {}", folder, kManifest));
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  const int64_t format = json.integer("format", 1, int64_t{1} << 32);
  SIMILE_CHECK(format == kFormat, ErrorKind::kInput,
               fmt::format("{}: format {}, this program reads {}; build the index again", path,
                           format, kFormat));
  check_seal(parsed, path, "build the index again");
  IndexedModel model;
  model.name = json.text("model");
  model.folder = json.text_or("model_folder", "");
  model.fingerprint = json.text("fingerprint");
  model.precision = json.text("precision");
  model.dimension = json.integer("dimension", 1, 1 << 20);
  const std::string metric = json.text("metric");
  const auto* const found = std::find(std::begin(kMetricNames), std::end(kMetricNames), metric);
  SIMILE_CHECK(found != std::end(kMetricNames), ErrorKind::kInput,
               fmt::format("{}: \"metric\" is \"{}\"; known: {}", path, metric,
                           fmt::join(kMetricNames, ", ")));
  model.metric = static_cast<VectorMetric>(found - std::begin(kMetricNames));
  return model;
}

std::string vectors_owner(const IndexedModel& model, int64_t generation) {
  return hash_bytes(fmt::format("{} {}", seal_of(manifest_json(model)), generation));
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

std::vector<VectorKey> vector_keys(const std::vector<int64_t>& added,
                                   const std::vector<Document>& documents) {
  std::vector<VectorKey> keys;
  for (size_t i = 0; i < added.size(); ++i) {
    keys.push_back({added[i], content_hash(added[i], documents[i])});
  }
  return keys;
}

}  // namespace simile::detail
