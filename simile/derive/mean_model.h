// SPDX-License-Identifier: Apache-2.0
// The weights of several models of one architecture, averaged: the mean of runs that began with the
// same weights is often better than each, at no cost (Wortsman et al., "Model soups", 2022).
//
//   w = sum_i c_i w_i / sum_i c_i      over encoder, Dense and LayerNorm modules and task heads
//
// taken model by model, w += c_i / (c_1 + ... + c_i) (w_i - w), so that no more than two models are
// in memory and the mean of equal models is that model, bit for bit. Trained temperatures that all
// have are averaged too. Models that did not begin alike do not fit, and no folder tells.
#pragma once

#include <string>
#include <vector>

#include "simile/core/error.h"

namespace simile {

struct MeanOptions {
  std::vector<std::string> models;  // folders or built-in models, at least two
  std::vector<double> weights;      // c_i, one each; none: all 1
  std::string output;               // the folder to write
};

struct MeanPart {
  std::string model, fingerprint;
  double share = 0;  // c_i / sum of c
};

// Writes the mean, its weights in F32, with tokenizer and licences of the first model. Returns the
// models in the order they were given.
//
// Errors: kUsage for fewer than two models, weights that are not above 0, another number of them
// than of models, and an output that would replace one of the models; kInput, naming both folders
// and what differs, for models of another architecture, tokenizer, pooling, modules, length limit,
// prompts or heads than the first; those of open_model_folder(), read_encoder_weights(),
// read_head_weights() and save_model_folder().
std::vector<MeanPart> average_models(const MeanOptions& options, EventSink& events);

}  // namespace simile
