// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/detail/derived_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/encoder_family.h"
#include "simile/model/model_card.h"
#include "simile/model/static_weights.h"
#include "simile/model/weight_reader.h"

namespace simile::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLicences[] = {"LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE",
                                     "NOTICE.txt"};

// Without the slash at its end.
fs::path place_of(const std::string& path) {
  const fs::path known = fs::weakly_canonical(path);
  return known.has_filename() ? known : known.parent_path();
}

}  // namespace

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
               fmt::format("the output '{}' is the model's own folder, or one that holds it, and "
                           "would replace it; give another",
                           output));
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
  const ParameterSlot words = encoder_layout(config.shape()).front();
  const WeightReader reader(source, *find_encoder_family(config.model_type));
  const TensorType type = reader
                              .find(words.name, {{words.shape[0], "vocab_size"},
                                                 {words.shape[1], "the embeddings' width"}})
                              .type;
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

TokenizerFiles read_kept_files(const ModelFolder& folder) {
  TokenizerFiles files = read_tokenizer(folder);
  files.merge(read_licences(folder));
  return files;
}

SelfTest test_weights(const ModelSettings& settings, const float* weights,
                      const Tokenizer& tokenizer) {
  return make_self_test(
      SentenceEncoder(make_encoder(settings.encoder.shape(), weights), settings, tokenizer));
}

std::string make_derived_card(const ModelFolder& folder, const std::string& output,
                              const std::string& how, const ModelSettings& settings,
                              TensorType type) {
  ModelCard card;
  card.title = folder_name(output);
  card.base_model = folder_name(folder.path);
  card.introduction = fmt::format("The model {} {}.", card.base_model, how);
  const std::string path = join_path(folder.path, "README.md");
  if (file_exists(path)) {
    const CardParts original = split_model_card(read_file(path));
    card.front_matter = original.front_matter;
    if (!original.body.empty()) card.body = "## The card of the original\n\n" + original.body;
  }
  return make_model_card(card, settings, type);
}

}  // namespace simile::detail
