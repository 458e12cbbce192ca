// SPDX-License-Identifier: Apache-2.0
// A joined model for the tests of whole runs.
#pragma once

#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/derive/join.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_settings.h"
#include "simile/model/model_writer.h"
#include "simile/text/tokenizer.h"

namespace simile::testing {

inline void save_made_up(const std::string& folder, const std::string& name,
                         const ModelSettings& settings) {
  std::vector<float> weights(
      static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())));
  initialise_encoder_weights(settings.encoder, 3, weights.data());
  ModelToSave model;
  model.settings = settings;
  model.weights = weights.data();
  const Tokenizer tokenizer = Tokenizer::load(join_path(folder, "vocab.txt"));
  model.tokenizer = {{"tokenizer.json", tokenizer.to_json()}};
  save_model_folder(join_path(folder, name), model);
}

// Models `table`, `bert` and `joined` of the two in the folder of a RunTest.
inline void save_joined(const std::string& folder) {
  ModelSettings bert;
  EncoderConfig& config = bert.encoder;
  config.layers = 2;
  config.hidden = 16;
  config.heads = 2;
  config.intermediate = 32;
  config.positions = 16;
  config.vocabulary = 45;
  bert.max_length = 5;  // less than some texts have
  save_made_up(folder, "bert", bert);
  ModelSettings table;
  table.encoder = static_encoder_config(45, 24, "test");
  table.pooling.modes.clear();
  table.max_length = table.encoder.shape().longest_sequence();
  save_made_up(folder, "table", table);
  join_models({{join_path(folder, "table"), 1}, {join_path(folder, "bert"), 0.7}},
              join_path(folder, "joined"), silent_events());
}

}  // namespace simile::testing
