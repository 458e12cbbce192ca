// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "simile/derive/detail/derived_folder.h"

namespace simile {
namespace {

int64_t file_sizes(const std::string& weights) {
  int64_t bytes = 0;
  for (const std::string& file : weight_files(weights)) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(file));
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

}  // namespace

ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events) {
  const ModelFolder folder = open_model_folder(model, events);
  detail::check_derived_output(folder, output);
  const EncoderConfig& config = folder.settings.encoder;
  const Tokenizer tokenizer = Tokenizer::load(folder.tokenizer_path);
  std::vector<float> flat = detail::read_whole_encoder(folder, events);
  const SelfTest before = detail::test_weights(folder.settings, flat.data(), tokenizer);
  // What is saved gives back just these numbers, in whatever type.
  round_encoder_weights(config, type, flat.data());

  ModelToSave save;
  save.settings = folder.settings;
  save.weights = flat.data();
  save.weight_type = type;
  std::unique_ptr<TensorSource> source;
  std::vector<std::string> copied;
  if (!config.is_joined()) {
    source = open_weights(folder.weights_path);
    save.other_tensors = other_tensors(*source, config, copied);
  }
  save.tokenizer = detail::read_kept_files(folder);
  save.model_card = detail::make_derived_card(
      folder, output,
      fmt::format("with the weights of its encoder in {}, made by `simile convert`",
                  tensor_type_name(type)),
      folder.settings, type);
  save.self_test = detail::test_weights(folder.settings, flat.data(), tokenizer);
  std::vector<std::vector<float>> heads;
  heads.reserve(folder.heads.size());
  for (const SavedHead& head : folder.heads) {
    heads.push_back(read_head_weights(head, folder.settings.embedding_size()));
    save.heads.push_back({head.settings, heads.back().data()});
  }
  save_model_folder(output, save);

  ConversionReport report;
  report.bytes_before = file_sizes(folder.weights_path);
  report.bytes_after = file_sizes(open_model_folder(output, silent_events()).weights_path);
  compare(before.vectors, save.self_test.vectors, report);
  return report;
}

}  // namespace simile
