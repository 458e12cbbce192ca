// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/whiten_model.h"

#include <fmt/format.h>

#include <utility>

#include "simile/core/error.h"
#include "simile/encode/detail/derived_folder.h"
#include "simile/encode/pooling.h"

namespace simile {
namespace {

// With unit vectors u of n texts: (|sum of u|^2 - n) / (n (n - 1)).
double mean_cosine(Matrix<float> vectors) {
  normalise_rows(vectors.values.data(), vectors.rows, vectors.cols);
  std::vector<double> sums(static_cast<size_t>(vectors.cols), 0.0);
  double own = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (int64_t j = 0; j < vectors.cols; ++j) {
      const double value = vectors.at(i, j);
      sums[static_cast<size_t>(j)] += value;
      own += value * value;
    }
  }
  double all = 0;
  for (const double sum : sums) all += sum * sum;
  const auto n = static_cast<double>(vectors.rows);
  return (all - own) / (n * (n - 1));
}

WhiteningReport make_report(const Matrix<float>& sample, const Whitening& whitening) {
  const ModuleSettings dense = dense_module(whitening, sample.cols);
  WhiteningReport report;
  report.texts = sample.rows;
  report.inputs = sample.cols;
  report.outputs = whitening.map.cols;
  report.kept = whitening.kept;
  report.largest_deviation = whitening.deviations.front();
  report.smallest_deviation = whitening.deviations.back();
  report.cosine_before = mean_cosine(sample);
  report.cosine_after = mean_cosine(ModuleChain({dense})(sample));
  return report;
}

// Puts the map behind the model's modules, or, of a static model without any, into its table.
std::vector<float> apply_whitening(const ModelFolder& folder, const Whitening& whitening,
                                   ModelSettings& settings) {
  std::vector<float> flat = detail::read_whole_encoder(folder, silent_events());
  settings.dimensions = 0;  // the map leaves out the others itself
  const bool folds = settings.encoder.variant.averaged && settings.modules.empty() &&
                     whitening.map.rows == settings.encoder.hidden;
  if (!folds) {
    settings.modules.push_back(dense_module(whitening, settings.embedding_size()));
    return flat;
  }
  Matrix<float> table(settings.encoder.vocabulary, settings.encoder.hidden);
  table.values = std::move(flat);
  settings.encoder.hidden = whitening.map.cols;
  return fold_into_table(table, whitening).values;
}

}  // namespace

WhiteningReport whiten_model(const std::string& model, const std::vector<std::string>& texts,
                             const WhiteningOptions& options, const EncodeOptions& encode,
                             const std::string& output, EventSink& events) {
  const ModelFolder folder = open_model_folder(model, events);
  detail::check_derived_output(folder, output);
  SIMILE_CHECK(
      !folder.settings.encoder.is_joined(), ErrorKind::kUsage,
      fmt::format("'{}' is a joined model; whiten its parts, each by itself, and join them "
                  "again",
                  model));
  const SentenceEncoder encoder = SentenceEncoder::load(model, silent_events());
  EncodeOptions raw = encode;
  raw.dimensions = 0;
  raw.normalize = false;
  check_whitening_size(static_cast<int64_t>(texts.size()), encoder.dimension(raw), options);
  const Matrix<float> sample = encoder.encode(texts, raw, events);
  const Whitening whitening = fit_whitening(sample, options);

  ModelToSave save;
  save.settings = folder.settings;
  std::vector<float> flat = apply_whitening(folder, whitening, save.settings);
  save.settings.temperatures.clear();
  if (!folder.heads.empty()) {
    events.warning(
        fmt::format("the model's {} task head(s) are left out: they were trained on its vectors as "
                    "they were",
                    folder.heads.size()));
  }
  const EncoderConfig& config = save.settings.encoder;
  const std::unique_ptr<TensorSource> source = open_weights(folder.weights_path);
  save.weight_type = detail::stored_type(*source, folder.settings.encoder);
  round_encoder_weights(config, save.weight_type, flat.data());
  save.weights = flat.data();
  std::vector<std::string> copied;
  save.other_tensors = other_tensors(*source, folder.settings.encoder, copied);
  save.tokenizer = detail::read_kept_files(folder);
  save.model_card = detail::make_derived_card(
      folder, output,
      fmt::format("with its vectors whitened (power {:g}) from {} texts by `simile whiten`",
                  options.power, sample.rows),
      save.settings, save.weight_type);
  save.self_test = make_self_test(SentenceEncoder(make_encoder(config.shape(), flat.data()),
                                                  save.settings, encoder.tokenizer()));
  save_model_folder(output, save);
  return make_report(sample, whitening);
}

}  // namespace simile
