// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLicences[] = {"LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE",
                                     "NOTICE.txt"};

std::string name_of(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

int64_t file_sizes(const std::string& weights) {
  int64_t bytes = 0;
  for (const std::string& file : weight_files(weights)) {
    bytes += static_cast<int64_t>(fs::file_size(file));
  }
  return bytes;
}

double cosine(const float* a, const float* b, int64_t size) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t j = 0; j < size; ++j) {
    ab += static_cast<double>(a[j]) * b[j];
    aa += static_cast<double>(a[j]) * a[j];
    bb += static_cast<double>(b[j]) * b[j];
  }
  return aa == 0 && bb == 0 ? 1 : ab / std::sqrt(std::max(aa * bb, 1e-300));
}

void compare(const Matrix<float>& before, const Matrix<float>& after, ConversionReport& report) {
  report.mean_cosine = 0;
  for (int64_t i = 0; i < before.rows; ++i) {
    const double one = cosine(before.row(i), after.row(i), before.cols);
    report.mean_cosine += one / static_cast<double>(before.rows);
    report.least_cosine = std::min(report.least_cosine, one);
  }
  for (size_t i = 0; i < before.values.size(); ++i) {
    const double difference = static_cast<double>(before.values[i]) - after.values[i];
    report.largest_difference = std::max(report.largest_difference, std::abs(difference));
  }
}

TokenizerFiles read_kept_files(const ModelFolder& folder) {
  const bool is_folder = folder_exists(folder.tokenizer_path);
  TokenizerFiles files = read_tokenizer_files(
      is_folder ? folder.tokenizer_path : fs::path(folder.tokenizer_path).parent_path().string());
  for (const char* name : kLicences) {
    const std::string path = join_path(folder.path, name);
    if (file_exists(path)) files[name] = read_file(path);
  }
  return files;
}

std::string make_card(const ModelFolder& folder, const std::string& output, TensorType type) {
  ModelCard card;
  card.title = name_of(output);
  card.base_model = name_of(folder.path);
  card.introduction = fmt::format(
      "The model {} with the weights of its encoder in {}, made by "
      "`simile convert`.",
      card.base_model, tensor_type_name(type));
  const std::string path = join_path(folder.path, "README.md");
  if (file_exists(path)) {
    const CardParts original = split_model_card(read_file(path));
    card.front_matter = original.front_matter;
    if (!original.body.empty()) card.body = "## The card of the original\n\n" + original.body;
  }
  return make_model_card(card, folder.settings, type);
}

void check_output(const ModelFolder& folder, const std::string& output) {
  const auto place = [](const std::string& path) {
    const fs::path known = fs::weakly_canonical(path);
    return known.has_filename() ? known : known.parent_path();  // without the slash at its end
  };
  const fs::path model = place(folder.path), target = place(output);
  const auto parts = std::mismatch(target.begin(), target.end(), model.begin(), model.end());
  SIMILE_CHECK(parts.first != target.end(), ErrorKind::kUsage,
               fmt::format("the output '{}' is the model's own folder, or one that holds it, and "
                           "would replace it; give another",
                           output));
}

}  // namespace

ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events) {
  const ModelFolder folder = open_model_folder(model, events);
  check_output(folder, output);
  const EncoderConfig& config = folder.settings.encoder;
  const Tokenizer tokenizer = Tokenizer::load(folder.tokenizer_path);
  check_encoder_weights(folder.weights_path, config);  // before memory is taken by config.json
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
  read_encoder_weights(folder.weights_path, config, flat.data(), events);
  const auto test = [&](const float* weights) {
    return make_self_test(
        SentenceEncoder(make_encoder(config.shape(), weights), folder.settings, tokenizer));
  };
  const SelfTest before = test(flat.data());
  // What is saved gives back just these numbers, in whatever type.
  round_encoder_weights(config, type, flat.data());

  ModelToSave save;
  save.settings = folder.settings;
  save.weights = flat.data();
  save.weight_type = type;
  const std::unique_ptr<TensorSource> source = open_weights(folder.weights_path);
  std::vector<std::string> copied;
  save.other_tensors = other_tensors(*source, config, copied);
  save.tokenizer = read_kept_files(folder);
  save.model_card = make_card(folder, output, type);
  save.self_test = test(flat.data());
  std::vector<std::vector<float>> heads;
  heads.reserve(folder.heads.size());
  for (const SavedHead& head : folder.heads) {
    heads.push_back(read_head_weights(head, folder.settings.embedding_size()));
    save.heads.push_back({head.settings, heads.back().data()});
  }
  save_model_folder(output, save);

  ConversionReport report;
  report.bytes_before = file_sizes(folder.weights_path);
  report.bytes_after = file_sizes(find_weights(output));
  compare(before.vectors, save.self_test.vectors, report);
  return report;
}

}  // namespace simile
