// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_model.h"

#include <fmt/format.h>

#include <vector>

#include "simile/checkpoint/initialise.h"
#include "simile/checkpoint/model_folder.h"
#include "simile/core/error.h"
#include "simile/text/tokenizer.h"

namespace simile::bench {
namespace {

EncoderConfig make_config(const std::string& name) {
  SIMILE_CHECK(name == "minilm" || name == "bert", ErrorKind::kUsage,
               fmt::format("unknown model '{}'; expected minilm or bert", name));
  EncoderConfig config;
  const bool small = name == "minilm";
  config.layers = small ? 6 : 12;
  config.hidden = small ? 384 : 768;
  config.heads = 12;
  config.intermediate = small ? 1536 : 3072;
  return config;
}

}  // namespace

void write_random_model(const std::string& path, const std::string& name,
                        const std::string& tokenizer_folder) {
  ModelToSave model;
  EncoderConfig& config = model.settings.encoder;
  config = make_config(name);
  config.vocabulary = Tokenizer::load(tokenizer_folder).vocabulary_size();
  std::vector<float> weights(static_cast<size_t>(encoder_parameter_count(config.shape())));
  initialise_encoder_weights(config, 1, weights.data());
  model.weights = weights.data();
  model.tokenizer = read_tokenizer_files(tokenizer_folder);
  model.model_card = "Random weights, for measuring speed.\n";
  save_model_folder(path, model);
}

}  // namespace simile::bench
