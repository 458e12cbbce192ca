// SPDX-License-Identifier: Apache-2.0
// The layers after the pooling: the modules up to the Normalize at the end, and task heads, which
// turn pooled embeddings into logits. Formulas: model_settings.h and head_settings.h.
//
//   const Head head = load_head(open_model_folder("models/mini", silent_events()), "sentiment");
//   const Matrix<float> logits = head.logits(u);  // [m, k]
//
// A row's result is the same, bit for bit, whatever rows come with it and with however many
// threads. Const methods may run in several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_settings.h"

namespace simile {

// Applies modules one after the other.
class ModuleChain {
 public:
  explicit ModuleChain(const std::vector<ModuleSettings>& modules);

  // [m, inputs of the first module] -> [m, outputs of the last].
  Matrix<float> operator()(Matrix<float> rows) const;

 private:
  struct Step {
    ModuleSettings settings;
    std::vector<PackedMatrix> linear;  // Dense: W, and R where the residual has its own
    const float* bias;                 // Dense: of W, or null
  };
  std::vector<Step> steps_;
};

// Texts that belong to none of a head's classes. A classifier gives a text on anything else one of
// them, often with a high probability, but the text's vector is far from those of all classes
// (docs/results/methods.md). The similarity of a text is max_c cos(u, mean of x / |x| over texts x
// of class c), u and x before Normalize; below the minimum it belongs to none.
struct ClassScope {
  double minimum_similarity = -1;
  std::vector<std::vector<float>> means;  // [classes][H], of length 1

  void visit(OptionVisitor& v) {
    v.required("minimum_similarity", minimum_similarity);
    v.required("means", means);
  }

  std::vector<double> similarities(Matrix<float> u) const;  // of each row
};

// The means of `train` [m, H] with their classes from 0 (zeros of a class without rows), and the
// highest minimum that keeps 95 % of `dev` [n, H]; m, n > 0.
ClassScope choose_class_scope(Matrix<float> train, const std::vector<int32_t>& classes,
                              const Matrix<float>& dev);

// Writes heads/NAME/scope.json in a model folder, where load_head() finds it.
void write_class_scope(const std::string& model, const std::string& head, const ClassScope& scope);

class Head {
 public:
  // A view of weights [head_parameter_count(settings, H)] that somebody else owns and may change
  // between calls (training's evaluation). Errors: see check_head().
  Head(const HeadSettings& settings, int64_t H, const float* weights);
  // Owns the weights. Errors: the same; kInput for another number of weights.
  Head(const HeadSettings& settings, int64_t H, std::vector<float> weights);

  const HeadSettings& settings() const { return settings_; }
  int64_t embedding_size() const { return H_; }  // H
  int64_t logit_count() const { return widths_.back(); }

  // Logits [m, k] of embeddings u [m, H] before Normalize and, for input pair, v [m, H].
  // Errors (kInput): v missing, not wanted or of another shape; rows that are not H long.
  Matrix<float> logits(const Matrix<float>& u, const Matrix<float>& v = {}) const;

  // Which texts belong to none of its classes; nothing where training chose none.
  std::optional<ClassScope> scope;

 private:
  Matrix<float> features(const Matrix<float>& u, const Matrix<float>& v, int64_t begin,
                         int64_t end) const;

  std::shared_ptr<const std::vector<float>> owned_;  // null for a view
  const float* weights_;
  HeadSettings settings_;
  int64_t H_;
  std::vector<int64_t> widths_;
};

// Probabilities [m, k] of the classes (softmax), the probability [m, 1] (sigmoid), or the score as
// it is. Errors (kInput): logits of another width than the head's.
Matrix<double> head_probabilities(const HeadSettings& settings, const Matrix<float>& logits);

// The functions behind probabilities: softmax(z)[j] = exp(z_j) / sum_i exp(z_i) of k logits, and
// sigmoid(z) = 1 / (1 + exp(-z)), without overflow.
void softmax(const float* logits, int64_t k, double* out);
double sigmoid(double z);

// Heads of a model folder, with their weights and scopes. Errors (kInput): see read_head_weights();
// a scope that is not JSON or of another size.
std::vector<Head> load_heads(const ModelFolder& model);

// One of them; an empty name means the only one. Errors (kRecipe): no such head, or
// no or several heads where the name is empty; the message names those the model has.
Head load_head(const ModelFolder& model, const std::string& name);

}  // namespace simile
