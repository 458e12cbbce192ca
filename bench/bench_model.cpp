// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_model.h"

#include <vector>

#include "simile/core/check.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/text/tokenizer.h"

namespace simile::bench {
namespace {

struct Shape {
  const char* name;
  int64_t layers, hidden, heads, intermediate;
};
constexpr Shape kShapes[] = {
    {"mini", 4, 256, 4, 1024}, {"minilm", 6, 384, 12, 1536}, {"bert", 12, 768, 12, 3072}};

EncoderConfig make_config(const std::string& name) {
  for (const Shape& shape : kShapes) {
    if (name != shape.name) continue;
    EncoderConfig config;
    config.layers = shape.layers;
    config.hidden = shape.hidden;
    config.heads = shape.heads;
    config.intermediate = shape.intermediate;
    return config;
  }
  throw_error(ErrorKind::kUsage, "unknown model '{}'; expected mini, minilm or bert", name);
}

}  // namespace

void write_random_model(const std::string& path, const std::string& name,
                        const std::string& tokenizer_folder, int64_t positions) {
  ModelToSave model;
  EncoderConfig& config = model.settings.encoder;
  config = make_config(name);
  config.positions = model.settings.max_length = positions;
  config.vocabulary = Tokenizer::load(tokenizer_folder).vocabulary_size();
  std::vector<float> weights(static_cast<size_t>(encoder_parameter_count(config.shape())));
  initialise_encoder_weights(config, 1, weights.data());
  model.weights = weights.data();
  model.tokenizer = read_tokenizer_files(tokenizer_folder);
  model.model_card = "Random weights, for measuring speed.\n";
  save_model_folder(path, model);
}

}  // namespace simile::bench
