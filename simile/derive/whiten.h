// SPDX-License-Identifier: Apache-2.0
// Whitening stretches the directions in which a model's vectors vary little and shrinks those in
// which they vary much (or which all share), so that more directions count in a cosine (Su et al.,
// "Whitening Sentence Representations for Better Semantics ...", 2021).
//
// For a sample of vectors x [n, D], with m their mean if `center` is set and 0 otherwise:
//
//   C = 1 / n * sum of (x - m)^T (x - m) = V diag(s_1^2 ... s_D^2) V^T,   s falling
//   y = (x - m) W,   W = c V_k diag(t_1^-power ... t_k^-power),   t_j^2 = s_j^2 + epsilon mean(s^2)
//
// with V_k the first k = dimensions columns of V (all of them for 0), so that leading numbers of y
// carry most, and c such that the sum of y's squares over the sample is that of x - m. Hence over
// the sample 1 / n sum of y^T y = c^2 diag(s_j^2 t_j^(-2 power)): power 1 makes all numbers vary
// alike, 0 only turns the axes (principal components), 0.5 is half way.
//
// Fitting uses all threads and gives the same bits with any number of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/model_settings.h"

namespace simile {

struct WhiteningOptions {
  double power = 0.5;
  int64_t dimensions = 0;
  bool center = false;
  double epsilon = 1e-3;

  void visit(OptionVisitor& v);
};

struct Whitening {
  std::vector<float> mean;         // m [D]; empty without `center`
  Matrix<float> map;               // W [D, k]
  std::vector<double> deviations;  // s [D]
  double kept = 1;                 // share of the sum of s^2 in the first k
};

// sample [n, D]. Errors: kInput for n < 2 D, kRecipe for more dimensions than D, kFailed for a
// vector that is not finite or a sample whose vectors are all equal to m.
Whitening fit_whitening(const Matrix<float>& sample, const WhiteningOptions& options);

// As a Dense module y = x W - m W behind the modules that gave x. `inputs` > D: of longer vectors,
// of which the first D were the sample, the others are left out.
ModuleSettings dense_module(const Whitening& whitening, int64_t inputs);

// Into the rows of a static table [V, D], whose text vectors are the means of their tokens' rows:
// E' = (E - m) W [V, k], where rows of zeros (tokens that do not count) stay zeros.
//
// Without m this is exact: mean(e_i W) = mean(e_i) W. With m, of a text of n tokens of which c have
// rows other than zeros, mean(e'_i) = c / n * (n / c * mean(e_i) - m) W: except for its length, the
// whitened mean over those c tokens. So the sample must then be such means; were m taken off rows
// of zeros too, punctuation would pull every text towards -m W.
Matrix<float> fold_into_table(const Matrix<float>& table, const Whitening& whitening);

struct WhiteningReport {
  int64_t texts = 0;
  int64_t inputs = 0, outputs = 0;  // numbers of a vector before and after
  double kept = 1;                  // share of the variance in the dimensions kept
  double largest_deviation = 0, smallest_deviation = 0;  // of the axes before
  // Mean cosine of two different texts of the sample: near 0 where vectors use all directions.
  double cosine_before = 0, cosine_after = 0;
};

// Rewrites the model folder with its vectors whitened, fitted on a sample of texts.
//
// The map goes into the table of a static model. In other models it is a Dense module behind the
// model's modules, before Normalize at the end, so that sentence-transformers loads the folder too.
// It is fitted to vectors as they come there: not divided by their length, and only their leading
// dimensions where the model keeps so many. Weights stay in the type they were stored in. Task
// heads (with a warning) and temperatures are left out, because they were trained on the vectors as
// they were. `encode` says how the texts are encoded; its dimensions and normalize do not matter.
// Errors: those of open_model_folder(), save_model_folder() and fit_whitening(); kUsage when
// `output` is the model's own folder.
WhiteningReport whiten_model(const std::string& model, const std::vector<std::string>& texts,
                             const WhiteningOptions& options, const EncodeOptions& encode,
                             const std::string& output, EventSink& events);

}  // namespace simile
