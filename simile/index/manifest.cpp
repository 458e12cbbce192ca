// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/data/detail/filter_node.h"

namespace simile::detail {
namespace {

constexpr int64_t kFormat = 9;

void check_metadata(const Document& document) {
  try {
    read_metadata(document.metadata);
  } catch (const Error& error) {
    throw_error(ErrorKind::kInput, "index: document \"{}\": {}", document.id, error.what());
  }
  SIMILE_CHECK(document.metadata.size() <= kMaximumMetadataBytes, ErrorKind::kInput,
               "index: the metadata of document \"{}\" are {} bytes, expected at most "
               "{}; keep fewer columns",
               document.id, document.metadata.size(), kMaximumMetadataBytes);
}

void check_passages(const Document& document, const IndexedModel& model) {
  if (document.passages.empty()) return;
  SIMILE_CHECK(model.passages.splits(), ErrorKind::kInput,
               "index: document \"{}\" has passages, but the index was made without; "
               "build it with --passage-tokens",
               document.id);
  Passage before;
  bool rises = document.vectors() <= kMostPassages;
  for (const Passage& passage : document.passages) {
    rises = rises && passage.begin >= before.begin && passage.end > before.end &&
            passage.begin < passage.end;
    before = passage;
  }
  SIMILE_CHECK(rises && before.end <= static_cast<int64_t>(document.text.size()), ErrorKind::kInput,
               "index: document \"{}\": its passages do not rise within its text, or are more "
               "than {}",
               document.id, kMostPassages);
}

void check_numbers(const Document& document, const float* begin, const float* end,
                   StoredNumber number) {
  SIMILE_CHECK(std::all_of(begin, end, [](float v) { return std::isfinite(v); }), ErrorKind::kInput,
               "index: the vector of document \"{}\" is not finite", document.id);
  const float largest = largest_number(number);
  SIMILE_CHECK(std::all_of(begin, end, [=](float v) { return std::abs(v) <= largest; }),
               ErrorKind::kInput,
               "index: the vector of document \"{}\" has a number beyond {:g}, the largest in "
               "{}; keep vectors in fp32",
               document.id, largest, number_name(number));
}

void write_sealed(const std::string& path, Json json) {
  json[kSeal] = seal_of(json);
  write_file_atomic(path, dump_json(json) + "\n");
}

// The content of search.json.
struct SettingsFile {
  SearchSettings settings;
  void visit(OptionVisitor& v) {
    settings.visit(v);
    settings.approximate.visit(v);
  }
};

Json settings_json(const SearchSettings& settings) {
  return Json::parse(options_to_json(SettingsFile{settings}));
}

SearchSettings parse_settings(const Json& json, const std::string& path) {
  SettingsFile file;
  read_json_options(dump_json(json, -1), path, file);
  return file.settings;
}

// `remedy`: what to do where it is damaged.
SearchSettings read_settings(const std::string& path, const std::string& remedy) {
  const Json json = read_json(path);
  check_seal(json, path, remedy);
  return parse_settings(json, path);
}

IndexedModel parse_manifest(const Json& json, const std::string& path) {
  const int64_t format = JsonObject(json, path).integer("format", 1, int64_t{1} << 32);
  SIMILE_CHECK(format == kFormat, ErrorKind::kInput,
               "{}: format {}, this program reads format {}; build the index again", path, format,
               kFormat);
  const int64_t rules = JsonObject(json, path).integer_or("word_rules", 1, 1, 1 << 20);
  SIMILE_CHECK(rules == kWordRules, ErrorKind::kInput,
               "{}: texts were cut into words by rules {}, this program has rules {} and would not "
               "find the same words; build the index again",
               path, rules, kWordRules);
  check_seal(json, path, "build the index again");
  IndexedModel model;
  read_json_options(dump_json(json, -1), path, model);
  return model;
}

}  // namespace

Json manifest_json(const IndexedModel& model) {
  Json json = Json::parse(options_to_json(model));
  json["format"] = kFormat;
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
  write_sealed(join_path(folder, kManifest), manifest_json(model));
}

IndexedModel read_manifest(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput, "'{}' is not an index folder: it has no {}{}",
               folder, kManifest, describe_leftovers(folder));
  return parse_manifest(read_json(path), path);
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
               "index: {} documents of dimension {} need {} vectors, got [{}, {}]",
               documents.size(), model.dimension, count, vectors.rows, vectors.cols);
  int64_t next = 0;
  for (const Document& document : documents) {
    const float* const begin = vectors.row(next);
    next += document.vectors();
    check_numbers(document, begin, begin + document.vectors() * model.dimension, model.vectors);
  }
}

std::string description_path(const std::string& output) { return output + ".index.json"; }

void write_index_description(const std::string& path, const IndexDescription& description) {
  Json json = manifest_json(description.model);
  json.update(settings_json(description.settings));
  write_sealed(path, json);
}

IndexDescription read_index_description(const std::string& path) {
  const Json json = read_json(path);
  check_seal(json, path, "export the index again");
  return {parse_manifest(json, path), parse_settings(json, path)};
}

}  // namespace simile::detail

namespace simile {

std::string describe_search(const SearchSettings& settings) {
  const double weight = settings.by_vectors() ? settings.fusion.weight : 0;
  if (!settings.by_words() || weight == 1) return "vectors only";
  if (weight == 0) return "words only";
  return fmt::format("vectors and words, {}, weight {:g}", settings.fusion.rule, weight);
}

std::vector<std::string> search_modes(const SearchSettings& settings) {
  std::vector<std::string> modes = kSearchModes;
  std::stable_partition(modes.begin(), modes.end(),
                        [&](const std::string& mode) { return mode == settings.mode; });
  return modes;
}

SearchSettings read_search_settings(const std::string& path) {
  detail::read_manifest(path);
  return detail::read_settings(join_path(path, detail::kSearch), "build the index again");
}

SearchSettings read_model_search_settings(const std::string& folder) {
  const std::string file = join_path(folder, detail::kSearch);
  if (!file_exists(file)) return {};
  return detail::read_settings(file, "remove it: searches then take the default weight");
}

void write_search_settings(const std::string& path, const SearchSettings& settings) {
  const std::string file = join_path(path, detail::kSearch);
  const detail::Json json = detail::settings_json(settings);
  detail::parse_settings(json, file);  // refuses what could not be read
  detail::write_sealed(file, json);
}

void IndexedModel::visit(OptionVisitor& v) {
  v.required("model", name);
  v.required("fingerprint", fingerprint);
  v.required("precision", precision);
  v.field("dimension", dimension, OptionInfo{"", "", 1, 1 << 20}.required());
  const std::vector<std::string> names = {"inner_product", "squared_distance",
                                          "absolute_distance"};  // in the order of VectorMetric
  std::string text = names[static_cast<size_t>(metric)];
  v.field("metric", text, choice_info("", names).required());
  metric = static_cast<VectorMetric>(std::find(names.begin(), names.end(), text) - names.begin());
  text = number_name(vectors);
  v.field("vectors", text, choice_info("", stored_number_names()).required());
  vectors = parse_stored_number(text);
  std::optional<std::string> of_folder;
  if (!folder.empty()) of_folder = folder;
  v.field("model_folder", of_folder, {});
  folder = of_folder.value_or("");
  v.field("prompt", prompt_name, {});
  std::optional<int64_t> tokens, overlap, whole;  // `whole`: 0 before there was one
  if (passages.splits()) {
    tokens = passages.passage_tokens;
    overlap = passages.passage_overlap;
    if (passages.passage_whole.value_or(0) > 0) whole = passages.passage_whole;
  }
  v.field("passage_tokens", tokens, {"", "", 1, 1 << 20});
  v.field("passage_overlap", overlap, {"", "", 0, 1 << 20});
  v.field("passage_whole", whole, {"", "", 0, 1 << 20});
  if (tokens) passages = {*tokens, overlap.value_or(0), whole.value_or(0)};
  v.field("vectors_recall", vectors_recall, {"", "", 0, 1});
  v.field("metadata", metadata, {});
  std::optional<double> measured;  // segments know their index by the manifest as it was written
  if (spread != 1) measured = spread;
  v.field("spread", measured, {});
  spread = measured.value_or(1);
  v.field("language", language, language_info());
  v.field("word_rules", word_rules, OptionInfo{"", "", 1, 1 << 20}.required());
}

}  // namespace simile
