// SPDX-License-Identifier: Apache-2.0
// The weights of several models of one architecture, averaged: of runs that began with the same
// weights the mean is often better than each of them, and costs no more to use (Wortsman et al.,
// "Model soups", ICML 2022).
//
//   w = sum_i c_i w_i / sum_i c_i      over encoder, Dense and LayerNorm modules and task heads
//
// taken model by model, w += c_i / (c_1 + ... + c_i) (w_i - w), so that no more than two models are
// in memory and the mean of equal models is that model, bit for bit. Trained temperatures that all
// have are averaged too. Models that did not begin with the same weights do not fit each other, and
// nothing in a folder tells.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/event.h"
#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/model_folder.h"

namespace simile {

// All that is trained of a model.
struct ModelNumbers {
  std::vector<float> encoder;               // as encoder_layout()
  std::vector<std::vector<float>> modules;  // of ModelSettings::modules
  std::vector<std::vector<float>> heads;    // of ModelFolder::heads
  Temperatures temperatures;
  double weight = 1;  // sum of those that were averaged
};

class ModelFamily {
 public:
  // Errors: kUsage for fewer than two models; kInput, naming both folders and what differs, for
  // models of another architecture, tokenizer, pooling, modules, length limit, prompts or heads
  // than the first; those of open_model_folder() and check_encoder_weights().
  ModelFamily(const std::vector<std::string>& models, EventSink& events);

  size_t size() const { return folders_.size(); }
  const ModelFolder& folder(size_t model) const { return folders_[model]; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  // Errors: those of read_encoder_weights() and read_head_weights().
  ModelNumbers read(size_t model, double weight, EventSink& events) const;

  // What is in `numbers` as a model to be used, which they must outlive.
  ModelSettings settings(const ModelNumbers& numbers) const;
  SentenceEncoder encoder(const ModelNumbers& numbers) const;
  std::vector<Head> heads(const ModelNumbers& numbers) const;

  // Writes the folder, its weights in F32, with tokenizer and licences of the first model. Errors:
  // kUsage where it would replace one of the models; those of save_model_folder().
  void check_output(const std::string& output) const;
  void save(const std::string& output, const ModelNumbers& numbers, const std::string& card) const;

 private:
  std::vector<ModelFolder> folders_;
  Tokenizer tokenizer_;
};

// Takes `other` into the mean `numbers`, by the weights of both.
void average_into(ModelNumbers& numbers, const ModelNumbers& other);

}  // namespace simile
