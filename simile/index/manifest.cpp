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
#include "simile/core/hash.h"
#include "simile/index/detail/manifest_json.h"
#include "simile/index/detail/metadata_columns.h"

namespace simile::detail {
namespace {

constexpr int64_t kFormat = 7;

// In the order of VectorMetric.
constexpr const char* kMetricNames[] = {"inner_product", "squared_distance", "absolute_distance"};

void check_metadata(const Document& document) {
  try {
    read_metadata(document.metadata);
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput,
                fmt::format("index: document \"{}\": {}", document.id, error.what()));
  }
  SIMILE_CHECK(document.metadata.size() <= kMaximumMetadataBytes, ErrorKind::kInput,
               fmt::format("index: the metadata of document \"{}\" are {} bytes, expected at most "
                           "{}; keep fewer columns",
                           document.id, document.metadata.size(), kMaximumMetadataBytes));
}

void check_passages(const Document& document, const IndexedModel& model) {
  if (document.passages.empty()) return;
  SIMILE_CHECK(model.passages.splits(), ErrorKind::kInput,
               fmt::format("index: document \"{}\" has passages, but the index was made without; "
                           "build it with --passage-tokens",
                           document.id));
  Passage before;
  bool rises = document.vectors() <= kMostPassages;
  for (const Passage& passage : document.passages) {
    rises = rises && passage.begin >= before.begin && passage.end > before.end &&
            passage.begin < passage.end;
    before = passage;
  }
  SIMILE_CHECK(
      rises && before.end <= static_cast<int64_t>(document.text.size()), ErrorKind::kInput,
      fmt::format("index: document \"{}\": its passages do not rise within its text, or are more "
                  "than {}",
                  document.id, kMostPassages));
}

void check_numbers(const Document& document, const float* begin, const float* end,
                   StoredNumber number) {
  SIMILE_CHECK(std::all_of(begin, end, [](float v) { return std::isfinite(v); }), ErrorKind::kInput,
               fmt::format("index: the vector of document \"{}\" is not finite", document.id));
  const float largest = largest_number(number);
  SIMILE_CHECK(
      std::all_of(begin, end, [=](float v) { return std::abs(v) <= largest; }), ErrorKind::kInput,
      fmt::format("index: the vector of document \"{}\" has a number beyond {:g}, the largest in "
                  "{}; keep vectors in fp32",
                  document.id, largest, number_name(number)));
}

std::vector<std::string> read_names(const Json& list, const std::string& path) {
  const bool good = list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& name) {
                      return name.is_string();
                    });
  SIMILE_CHECK(
      good, ErrorKind::kInput,
      fmt::format("{}: \"metadata\" is {}, expected a list of names", path, describe_json(list)));
  return list.get<std::vector<std::string>>();
}

}  // namespace

Json manifest_json(const IndexedModel& model) {
  Json json = {{"format", kFormat},
               {"model", model.name},
               {"fingerprint", model.fingerprint},
               {"precision", model.precision},
               {"dimension", model.dimension},
               {"metric", kMetricNames[static_cast<size_t>(model.metric)]}};
  if (!model.folder.empty()) json["model_folder"] = model.folder;
  if (model.prompt_name) json["prompt"] = *model.prompt_name;
  if (model.passages.splits()) {
    json["passage_tokens"] = model.passages.passage_tokens;
    json["passage_overlap"] = model.passages.passage_overlap;
  }
  json["vectors"] = number_name(model.vectors);
  if (model.vectors_recall) json["vectors_recall"] = *model.vectors_recall;
  if (model.metadata) json["metadata"] = *model.metadata;
  return json;
}

std::string documents_path(const std::string& folder) { return join_path(folder, kDocuments); }

std::string segments_path(const std::string& folder) { return join_path(folder, kSegments); }

std::string segment_name(int64_t number) { return fmt::format("segment-{}.bin", number); }

std::string segment_path(const std::string& folder, int64_t number) {
  return join_path(segments_path(folder), segment_name(number));
}

std::string graph_name(int64_t number) { return fmt::format("graph-{}.bin", number); }

std::string graph_path(const std::string& folder, int64_t number) {
  return join_path(segments_path(folder), graph_name(number));
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
  return parse_manifest(read_json(path), path);
}

IndexedModel parse_manifest(const Json& parsed, const std::string& path) {
  const JsonObject json(parsed, path);
  const int64_t format = json.integer("format", 1, int64_t{1} << 32);
  SIMILE_CHECK(format == kFormat, ErrorKind::kInput,
               fmt::format("{}: format {}, this program reads format {}; build the index again",
                           path, format, kFormat));
  check_seal(parsed, path, "build the index again");
  IndexedModel model;
  model.name = json.text("model");
  model.folder = json.text_or("model_folder", "");
  model.fingerprint = json.text("fingerprint");
  model.precision = json.text("precision");
  if (json.has("prompt")) model.prompt_name = json.text("prompt");
  model.dimension = json.integer("dimension", 1, 1 << 20);
  model.vectors = parse_stored_number(json.text("vectors"));
  if (json.has("vectors_recall")) {
    model.vectors_recall = json.number_or("vectors_recall", 0, 0, 1);
  }
  if (json.has("passage_tokens")) {
    constexpr int64_t kMost = 1 << 20;
    model.passages.passage_tokens = json.integer("passage_tokens", 1, kMost);
    model.passages.passage_overlap = json.integer("passage_overlap", 0, kMost);
  }
  if (json.has("metadata")) model.metadata = read_names(json.at("metadata"), path);
  const std::string metric = json.text("metric");
  const auto* const found = std::find(std::begin(kMetricNames), std::end(kMetricNames), metric);
  SIMILE_CHECK(found != std::end(kMetricNames), ErrorKind::kInput,
               fmt::format("{}: \"metric\" is \"{}\"; known: {}", path, metric,
                           fmt::join(kMetricNames, ", ")));
  model.metric = static_cast<VectorMetric>(found - std::begin(kMetricNames));
  return model;
}

SegmentKind segment_kind(const IndexedModel& model, int64_t number) {
  IndexedModel known = model;  // when the first segment is begun
  known.vectors_recall.reset();
  known.metadata.reset();  // no vector depends on it
  return {model.dimension, model.metric,
          hash_bytes(fmt::format("{} {}", seal_of(manifest_json(known)), number)), model.vectors};
}

void check_documents(const std::vector<Document>& documents, const Matrix<float>& vectors,
                     const IndexedModel& model) {
  int64_t count = 0;
  for (const Document& document : documents) {
    check_metadata(document);
    check_passages(document, model);
    count += document.vectors();
  }
  SIMILE_CHECK(vectors.rows == count && (count == 0 || vectors.cols == model.dimension),
               ErrorKind::kInput,
               fmt::format("index: {} documents of dimension {} need {} vectors, got [{}, {}]",
                           documents.size(), model.dimension, count, vectors.rows, vectors.cols));
  int64_t next = 0;
  for (const Document& document : documents) {
    const float* const begin = vectors.row(next);
    next += document.vectors();
    check_numbers(document, begin, begin + document.vectors() * model.dimension, model.vectors);
  }
}

}  // namespace simile::detail
