// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/whiten.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "simile/core/check.h"
#include "simile/derive/convert.h"
#include "simile/kernel/matrix_product.h"
#include "simile/kernel/numerics.h"

namespace simile {
namespace {

constexpr double kRounding = 1e-10;  // what equal vectors may seem to vary, of their squared length

void subtract(const std::vector<float>& mean, float* row) {
  for (size_t j = 0; j < mean.size(); ++j) row[j] -= mean[j];
}

double sum(const std::vector<double>& values, size_t count) {
  return std::accumulate(values.begin(), values.begin() + count, 0.0);
}

// c t_j^-power of the first k axes.
std::vector<double> axis_scales(const std::vector<double>& variances, size_t k,
                                const WhiteningOptions& options) {
  const double all = sum(variances, variances.size());
  const double least = options.epsilon * all / static_cast<double>(variances.size());
  std::vector<double> scales;
  double scaled = 0;
  for (size_t j = 0; j < k; ++j) {
    const double t = variances[j] + least;
    scales.push_back(t > 0 ? std::pow(t, -options.power / 2) : 0);
    scaled += variances[j] * scales[j] * scales[j];
  }
  for (double& scale : scales) scale *= std::sqrt(all / scaled);
  return scales;
}

Matrix<float> multiply(const Matrix<float>& x, const Matrix<float>& w) {
  Matrix<float> y(x.rows, w.cols);
  PackedMatrix(w.values.data(), w.cols, w.rows, MatrixLayout::kRows)
      .multiply(x.values.data(), x.rows, nullptr, y.values.data());
  return y;
}

void check_whitening_size(int64_t texts, int64_t D, const WhiteningOptions& options) {
  const int64_t least = 2 * D;
  SIMILE_CHECK(texts >= least, ErrorKind::kInput,
               "whitening vectors of {} numbers needs at least {} texts, and {} were given; give "
               "more of the kind that will be compared (ten times that many are better)",
               D, least, texts);
  SIMILE_CHECK(options.dimensions >= 0 && options.dimensions <= D, ErrorKind::kRecipe,
               "dimensions is {}; the vectors have {}", options.dimensions, D);
}

// Puts the map behind the model's modules, or, of a static model without any, into its table.
std::vector<float> apply_whitening(const ModelFolder& folder, const Whitening& whitening,
                                   ModelSettings& settings) {
  std::vector<float> flat = read_whole_encoder(folder, silent_events());
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

void WhiteningOptions::visit(OptionVisitor& v) {
  v.field("power", power,
          {"how much the axes are equalised: 0 not at all (principal components), 1 completely", "",
           0, 1});
  v.field("dimensions", dimensions, {"axes to keep, those that vary most first; 0: all", "", 0});
  v.field("center", center, {"subtract the mean of the sample's vectors", "", 0});
  v.field("epsilon", epsilon,
          {"share of the mean variance added to that of each axis, so that none is scaled too much",
           "", 0});
}

Whitening fit_whitening(const Matrix<float>& sample, const WhiteningOptions& options) {
  check_whitening_size(sample.rows, sample.cols, options);
  double squares = 0;  // the sum of the squared lengths
  for (const float value : sample.values) squares += static_cast<double>(value) * value;
  SIMILE_CHECK(std::isfinite(squares), ErrorKind::kFailed,
               "whitening: a vector of the sample is not finite; has training diverged?");
  const int64_t D = sample.cols, k = options.dimensions > 0 ? options.dimensions : D;
  Whitening whitening;
  Matrix<float> centered;
  if (options.center) {
    whitening.mean = mean_row(sample);
    centered = sample;
    for (int64_t i = 0; i < sample.rows; ++i) subtract(whitening.mean, centered.row(i));
  }
  const Matrix<float>& x = options.center ? centered : sample;
  const SymmetricEigen eigen = symmetric_eigen(gram_matrix(x.values.data(), x.rows, D));
  std::vector<double> variances;
  for (const double value : eigen.values) {
    variances.push_back(std::max(value, 0.0) / static_cast<double>(sample.rows));
    whitening.deviations.push_back(std::sqrt(variances.back()));
  }
  const double all = sum(variances, variances.size());
  SIMILE_CHECK(all > squares / static_cast<double>(sample.rows) * kRounding, ErrorKind::kFailed,
               "whitening: the vectors of the sample are all equal; are the texts?");
  whitening.kept = sum(variances, static_cast<size_t>(k)) / all;
  const std::vector<double> scales = axis_scales(variances, static_cast<size_t>(k), options);
  whitening.map = Matrix<float>(D, k);
  for (int64_t i = 0; i < D; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      whitening.map.at(i, j) = static_cast<float>(eigen.vectors.at(j, i) * scales[j]);
    }
  }
  return whitening;
}

ModuleSettings dense_module(const Whitening& whitening, int64_t inputs) {
  const Matrix<float>& map = whitening.map;
  ModuleSettings module;
  module.kind = ModuleKind::kDense;
  module.inputs = inputs;
  module.outputs = map.cols;
  module.bias = !whitening.mean.empty();
  std::vector<float> weights(map.cols * inputs, 0.0f);
  for (int64_t j = 0; j < map.cols; ++j) {
    for (int64_t i = 0; i < map.rows; ++i) weights[j * inputs + i] = map.at(i, j);
  }
  for (int64_t j = 0; module.bias && j < map.cols; ++j) {
    double shift = 0;
    for (int64_t i = 0; i < map.rows; ++i) {
      shift -= static_cast<double>(whitening.mean[i]) * map.at(i, j);
    }
    weights.push_back(static_cast<float>(shift));
  }
  module.weights = std::make_shared<const std::vector<float>>(std::move(weights));
  return module;
}

Matrix<float> fold_into_table(const Matrix<float>& table, const Whitening& whitening) {
  if (whitening.mean.empty()) return multiply(table, whitening.map);
  Matrix<float> rows = table;
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* const row = rows.row(i);
    const bool counts = std::any_of(row, row + rows.cols, [](float value) { return value != 0; });
    if (counts) subtract(whitening.mean, row);
  }
  return multiply(rows, whitening.map);
}

WhiteningReport whiten_model(const std::string& model, const std::vector<std::string>& texts,
                             const WhiteningOptions& options, const EncodeOptions& encode,
                             const std::string& output, EventSink& events) {
  const ModelFolder folder = open_original(model, output, events);
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
    events.warning(fmt::format(
        "the model's {} task head(s) are left out: they were trained on its vectors as they were",
        folder.heads.size()));
  }
  const std::unique_ptr<TensorSource> source = open_weights(folder.weights_path);
  save.weight_type = stored_type(*source, folder.settings.encoder);
  round_encoder_weights(save.settings.encoder, save.weight_type, flat.data());
  std::vector<std::string> copied;
  save.other_tensors = other_tensors(*source, folder.settings.encoder, copied);
  save_derived(
      folder, output,
      fmt::format("with its vectors whitened (power {:g}) from {} texts by `simile whiten`",
                  options.power, sample.rows),
      flat, encoder.tokenizer(), save);

  WhiteningReport report;
  report.texts = sample.rows;
  report.inputs = sample.cols;
  report.outputs = whitening.map.cols;
  report.kept = whitening.kept;
  report.largest_deviation = whitening.deviations.front();
  report.smallest_deviation = whitening.deviations.back();
  report.cosine_before = mean_cosine(sample);
  report.cosine_after = mean_cosine(ModuleChain({dense_module(whitening, sample.cols)})(sample));
  return report;
}

}  // namespace simile
