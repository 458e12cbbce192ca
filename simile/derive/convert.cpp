// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "simile/core/detail/check.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/static_weights.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLicences[] = {"LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE",
                                     "NOTICE.txt"};

// Without the slash at its end.
fs::path place_of(const std::string& path) {
  const fs::path known = fs::weakly_canonical(path);
  return known.has_filename() ? known : known.parent_path();
}

int64_t file_sizes(const std::string& weights) {
  int64_t bytes = 0;
  for (const std::string& file : weight_files(weights)) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  }
  return bytes;
}

void compare(const Matrix<float>& before, const Matrix<float>& after, ConversionReport& report) {
  report.mean_cosine = 0;
  for (int64_t i = 0; i < before.rows; ++i) {
    double ab = 0, aa = 0, bb = 0;
    for (int64_t j = 0; j < before.cols; ++j) {
      const double a = before.at(i, j), b = after.at(i, j);
      ab += a * b;
      aa += a * a;
      bb += b * b;
    }
    const double one = aa == 0 && bb == 0 ? 1 : ab / std::sqrt(std::max(aa * bb, 1e-300));
    report.mean_cosine += one / static_cast<double>(before.rows);
    report.least_cosine = std::min(report.least_cosine, one);
  }
  for (size_t i = 0; i < before.values.size(); ++i) {
    const double difference = static_cast<double>(before.values[i]) - after.values[i];
    report.largest_difference = std::max(report.largest_difference, std::abs(difference));
  }
}

}  // namespace

ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events) {
  const ModelFolder folder = open_original(model, output, events);
  const EncoderConfig& config = folder.settings.encoder;
  const Tokenizer tokenizer = Tokenizer::load(folder.tokenizer_path);
  std::vector<float> flat = read_whole_encoder(folder, events);
  const SelfTest before = test_weights(folder.settings, flat.data(), tokenizer);
  // What is saved gives back just these numbers, in whatever type.
  round_encoder_weights(config, type, flat.data());

  ModelToSave save;
  save.settings = folder.settings;
  save.weight_type = type;
  std::unique_ptr<TensorSource> source;
  std::vector<std::string> copied;
  if (!config.is_joined()) {
    source = open_weights(folder.weights_path);
    save.other_tensors = other_tensors(*source, config, copied);
  }
  std::vector<std::vector<float>> heads;
  heads.reserve(folder.heads.size());
  for (const SavedHead& head : folder.heads) {
    heads.push_back(read_head_weights(head, folder.settings.embedding_size()));
    save.heads.push_back({head.settings, heads.back().data()});
  }
  save_derived(folder, output,
               fmt::format("with the weights of its encoder in {}, made by `simile convert`",
                           tensor_type_name(type)),
               flat, tokenizer, save);

  ConversionReport report;
  report.bytes_before = file_sizes(folder.weights_path);
  report.bytes_after = file_sizes(open_model_folder(output, silent_events()).weights_path);
  compare(before.vectors, save.self_test.vectors, report);
  return report;
}

ModelFolder open_original(const std::string& model, const std::string& output, EventSink& events) {
  ModelFolder folder = open_model_folder(model, events);
  check_derived_output(folder, output);
  return folder;
}

std::string folder_name(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

bool would_replace(const ModelFolder& folder, const std::string& output) {
  const fs::path model = place_of(folder.path), target = place_of(output);
  const auto parts = std::mismatch(target.begin(), target.end(), model.begin(), model.end());
  return parts.first == target.end();
}

void check_derived_output(const ModelFolder& folder, const std::string& output) {
  SIMILE_CHECK(!would_replace(folder, output), ErrorKind::kUsage,
               "the output '{}' is the model's own folder, or one that holds it, and "
               "would replace it; give another",
               output);
}

std::vector<float> read_whole_encoder(const ModelFolder& folder, EventSink& events) {
  const EncoderConfig& config = folder.settings.encoder;
  check_encoder_weights(folder.weights_path, config);  // before memory is taken by config.json
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
  read_encoder_weights(folder.weights_path, config, flat.data(), events);
  return flat;
}

TensorType stored_type(const TensorSource& source, const EncoderConfig& config) {
  if (is_composed_table(source)) return TensorType::kF32;  // rows are products
  const TensorType type = find_encoder_tensors(source, config).found.front()->type;
  const bool is_written =
      type == TensorType::kF16 || type == TensorType::kBf16 || type == TensorType::kI8;
  return is_written ? type : TensorType::kF32;
}

TokenizerFiles read_tokenizer(const ModelFolder& folder) {
  const std::string& path = folder.tokenizer_path;
  return read_tokenizer_files(folder_exists(path) ? path : fs::path(path).parent_path().string());
}

std::map<std::string, std::string> read_licences(const ModelFolder& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : kLicences) {
    const std::string path = join_path(folder.path, name);
    if (file_exists(path)) files[name] = read_file(path);
  }
  return files;
}

SelfTest test_weights(const ModelSettings& settings, const float* weights,
                      const Tokenizer& tokenizer) {
  return make_self_test(
      SentenceEncoder(make_encoder(settings.encoder.shape(), weights), settings, tokenizer));
}

void save_derived(const ModelFolder& original, const std::string& output, const std::string& how,
                  const std::vector<float>& weights, const Tokenizer& tokenizer,
                  ModelToSave& save) {
  ModelCard card;
  card.title = folder_name(output);
  card.base_model = folder_name(original.path);
  card.introduction = fmt::format("The model {} {}.", card.base_model, how);
  const std::string path = join_path(original.path, "README.md");
  if (file_exists(path)) {
    const CardParts parts = split_model_card(read_file(path));
    card.front_matter = parts.front_matter;
    if (!parts.body.empty()) card.body = "## The card of the original\n\n" + parts.body;
  }
  save.weights = weights.data();
  save.tokenizer = read_tokenizer(original);
  save.tokenizer.merge(read_licences(original));
  save.model_card = make_model_card(card, save.settings, save.weight_type);
  save.self_test = test_weights(save.settings, weights.data(), tokenizer);
  save_model_folder(output, save);
}

}  // namespace simile
