// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

constexpr int64_t kRowsPerChunk = 1024;  // rows whose features are in memory at a time
constexpr int64_t kWorthThreads = 64;    // rows below which threads cost more than they save
constexpr double kSmallestNorm = 1e-12;

float mean_distance(const float* u, const float* v, int64_t H) {
  double sum = 0;
  for (int64_t j = 0; j < H; ++j) sum += std::abs(static_cast<double>(u[j]) - v[j]);
  return static_cast<float>(-sum / static_cast<double>(H));
}

float cosine(const float* u, const float* v, int64_t H) {
  double uv = 0, uu = 0, vv = 0;
  for (int64_t j = 0; j < H; ++j) {
    uv += static_cast<double>(u[j]) * v[j];
    uu += static_cast<double>(u[j]) * u[j];
    vv += static_cast<double>(v[j]) * v[j];
  }
  const double u_norm = std::sqrt(uu), v_norm = std::sqrt(vv);
  if (u_norm <= kSmallestNorm || v_norm <= kSmallestNorm) return 0;
  return static_cast<float>(uv / (u_norm * v_norm));
}

std::string describe(const Matrix<float>& matrix) {
  return fmt::format("[{}, {}]", matrix.rows, matrix.cols);
}

// The tensor of that name, or null.
const float* find_weights(const ModuleSettings& module, const char* name) {
  for (const ParameterSlot& slot : module_layout(module)) {
    if (slot.name == name) return module.weights->data() + slot.offset;
  }
  return nullptr;
}

void norm_rows(const ModuleSettings& module, Matrix<float>& rows) {
  const float* const weight = find_weights(module, "norm.weight");
  const float* const bias = find_weights(module, "norm.bias");
  const auto size = static_cast<double>(rows.cols);
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* const row = rows.row(i);
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < rows.cols; ++j) mean += row[j] / size;
    for (int64_t j = 0; j < rows.cols; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const double scale = 1 / std::sqrt(squares / size + kModuleNormEps);
    for (int64_t j = 0; j < rows.cols; ++j) {
      row[j] = static_cast<float>((row[j] - mean) * scale * weight[j] + bias[j]);
    }
  }
}

std::string scope_path(const std::string& model, const std::string& head) {
  return join_path(model, "heads/" + head + "/scope.json");
}

// The weights and the scope.
Head read_head(const ModelFolder& model, const SavedHead& saved) {
  const int64_t H = model.settings.embedding_size();
  Head head(saved.settings, H, read_head_weights(saved, H));
  const std::string path = scope_path(model.path, saved.settings.name);
  if (file_exists(path)) read_json_options(read_file(path), path, head.scope.emplace());
  for (size_t c = 0; head.scope && c < head.scope->means.size(); ++c) {
    SIMILE_CHECK(static_cast<int64_t>(head.scope->means[c].size()) == H, ErrorKind::kInput,
                 "{}: expected means of {} numbers, the model's embedding size, found {}", path, H,
                 head.scope->means[c].size());
  }
  return head;
}

Matrix<float> multiply(const Matrix<float>& x, const PackedMatrix& weight, const float* bias) {
  Matrix<float> y(x.rows, weight.columns());
  weight.multiply(x.values.data(), x.rows, bias, y.values.data());
  return y;
}

}  // namespace

Head::Head(const HeadSettings& settings, int64_t H, const float* weights)
    : weights_(weights), settings_(settings), H_(H) {
  check_head(settings);
  widths_ = head_widths(settings, H);
}

Head::Head(const HeadSettings& settings, int64_t H, std::vector<float> weights)
    : Head(settings, H, weights.data()) {
  const int64_t expected = head_parameter_count(settings, H);
  SIMILE_CHECK(static_cast<int64_t>(weights.size()) == expected, ErrorKind::kInput,
               "head '{}': {} weights, expected {}", settings.name, weights.size(), expected);
  owned_ = std::make_shared<const std::vector<float>>(std::move(weights));
  weights_ = owned_->data();
}

Matrix<float> Head::features(const Matrix<float>& u, const Matrix<float>& v, int64_t begin,
                             int64_t end) const {
  Matrix<float> x(end - begin, widths_[0]);
#pragma omp parallel for schedule(static) if (x.rows > kWorthThreads)
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const left = u.row(begin + i);
    if (settings_.input != "pair") {
      std::copy(left, left + H_, x.row(i));
    } else if (settings_.kind == "l1") {
      *x.row(i) = mean_distance(left, v.row(begin + i), H_);
    } else if (settings_.kind == "cosine") {
      *x.row(i) = cosine(left, v.row(begin + i), H_);
    } else {
      const float* const right = v.row(begin + i);  // [u; v; |u - v|] or [u; v]
      std::copy(left, left + H_, x.row(i));
      std::copy(right, right + H_, x.row(i) + H_);
      for (int64_t j = 0; settings_.difference && j < H_; ++j)
        x.row(i)[2 * H_ + j] = std::abs(left[j] - right[j]);
    }
  }
  return x;
}

Matrix<float> Head::logits(const Matrix<float>& u, const Matrix<float>& v) const {
  const bool pair = settings_.input == "pair";
  SIMILE_CHECK(u.cols == H_, ErrorKind::kInput, "head '{}' takes embeddings [m, {}], found {}",
               settings_.name, H_, describe(u));
  SIMILE_CHECK(pair ? v.rows == u.rows && v.cols == H_ : v.rows == 0, ErrorKind::kInput,
               "head '{}' of input {} takes {}, found {} and {}", settings_.name, settings_.input,
               pair ? "two embeddings of one shape" : "one embedding of each text", describe(u),
               describe(v));
  const std::vector<ParameterSlot> slots = head_layout(settings_, H_);
  std::vector<PackedMatrix> layers;
  for (size_t i = 0; i + 1 < widths_.size(); ++i) {
    layers.emplace_back(weights_ + slots[2 * i].offset, widths_[i + 1], widths_[i],
                        MatrixLayout::kColumns);
  }
  Matrix<float> logits(u.rows, logit_count());
  for (int64_t begin = 0; begin < u.rows; begin += kRowsPerChunk) {
    const int64_t end = std::min(begin + kRowsPerChunk, u.rows);
    Matrix<float> x = features(u, v, begin, end);
    for (size_t i = 0; i < layers.size(); ++i) {
      x = multiply(x, layers[i], weights_ + slots[2 * i + 1].offset);
      if (i + 1 == layers.size()) break;
      for (float& value : x.values) value = std::max(value, 0.0f);
    }
    std::copy(x.values.begin(), x.values.end(), logits.row(begin));
  }
  return logits;
}

void softmax(const float* logits, int64_t k, double* out) {
  const double top = *std::max_element(logits, logits + k);
  double sum = 0;
  for (int64_t j = 0; j < k; ++j) sum += out[j] = std::exp(logits[j] - top);
  for (int64_t j = 0; j < k; ++j) out[j] /= sum;
}

double sigmoid(double z) {
  const double small = std::exp(-std::fabs(z));
  return z >= 0 ? 1 / (1 + small) : small / (1 + small);
}

Matrix<double> head_probabilities(const HeadSettings& settings, const Matrix<float>& logits) {
  const int64_t k = head_widths(settings, 1).back();
  SIMILE_CHECK(logits.cols == k, ErrorKind::kInput, "head '{}' has {} logits, found {}",
               settings.name, k, logits.cols);
  Matrix<double> out(logits.rows, k);
  for (int64_t i = 0; i < out.rows; ++i) {
    const float* z = logits.row(i);
    if (settings.output == "classes") softmax(z, k, out.row(i));
    if (settings.output == "probability") *out.row(i) = sigmoid(*z);
    if (settings.output == "score") *out.row(i) = *z;
  }
  return out;
}

std::vector<Head> load_heads(const ModelFolder& model) {
  std::vector<Head> heads;
  for (const SavedHead& head : model.heads) heads.push_back(read_head(model, head));
  return heads;
}

std::vector<double> ClassScope::similarities(Matrix<float> u) const {
  normalise_rows(u.values.data(), u.rows, u.cols);
  std::vector<double> similarities(static_cast<size_t>(u.rows), -1);
  for (int64_t i = 0; i < u.rows; ++i) {
    double& most = similarities[static_cast<size_t>(i)];
    for (const std::vector<float>& mean : means) {
      most = std::max(most, std::inner_product(mean.begin(), mean.end(), u.row(i), 0.0));
    }
  }
  return similarities;
}

ClassScope choose_class_scope(Matrix<float> train, const std::vector<int32_t>& classes,
                              const Matrix<float>& dev) {
  constexpr double kOutside = 0.05;
  normalise_rows(train.values.data(), train.rows, train.cols);
  const auto count = static_cast<size_t>(*std::max_element(classes.begin(), classes.end())) + 1;
  ClassScope scope;
  scope.means.assign(count, std::vector<float>(static_cast<size_t>(train.cols)));
  for (int64_t i = 0; i < train.rows; ++i) {
    std::vector<float>& mean = scope.means[static_cast<size_t>(classes[static_cast<size_t>(i)])];
    for (size_t j = 0; j < mean.size(); ++j) mean[j] += train.row(i)[j];
  }
  for (std::vector<float>& mean : scope.means) {
    normalise_rows(mean.data(), 1, static_cast<int64_t>(mean.size()));
  }
  std::vector<double> found = scope.similarities(dev);
  std::sort(found.begin(), found.end());
  scope.minimum_similarity = found[static_cast<size_t>(kOutside * static_cast<double>(dev.rows))];
  return scope;
}

void write_class_scope(const std::string& model, const std::string& head, const ClassScope& scope) {
  write_file_atomic(scope_path(model, head), options_to_json(scope, -1) + "\n");
}

Head load_head(const ModelFolder& model, const std::string& name) {
  std::vector<HeadSettings> heads;
  for (const SavedHead& head : model.heads) heads.push_back(head.settings);
  return read_head(model,
                   model.heads[find_head(heads, name, fmt::format("the model '{}'", model.path))]);
}

ModuleChain::ModuleChain(const std::vector<ModuleSettings>& modules) {
  for (const ModuleSettings& module : modules) {
    Step step{module, {}, nullptr};
    if (module.kind == ModuleKind::kDense) {
      step.bias = find_weights(module, "linear.bias");
      for (const char* name : {"linear.weight", "residual.weight"}) {
        const float* const weight = find_weights(module, name);
        if (weight == nullptr) continue;
        step.linear.emplace_back(weight, module.outputs, module.inputs, MatrixLayout::kColumns);
      }
    }
    steps_.push_back(std::move(step));
  }
}

Matrix<float> ModuleChain::operator()(Matrix<float> rows) const {
  for (const Step& step : steps_) {
    if (step.settings.kind == ModuleKind::kNormalize) {
      normalise_rows(rows.values.data(), rows.rows, rows.cols);
    } else if (step.settings.kind == ModuleKind::kLayerNorm) {
      norm_rows(step.settings, rows);
    } else {
      Matrix<float> out = multiply(rows, step.linear[0], step.bias);
      const DenseActivation& activation = find_dense_activation(step.settings.activation);
      for (float& value : out.values) value = static_cast<float>(activation.apply(value));
      if (step.linear.size() > 1) rows = multiply(rows, step.linear[1], nullptr);
      for (size_t i = 0; step.settings.residual && i < out.values.size(); ++i) {
        out.values[i] += rows.values[i];
      }
      rows = std::move(out);
    }
  }
  return rows;
}

}  // namespace simile
