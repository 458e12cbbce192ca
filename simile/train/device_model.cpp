// SPDX-License-Identifier: Apache-2.0
#include "simile/train/device_model.h"

#include <torch/types.h>

#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/placement.h"

namespace simile {

SentenceEncoder load_on_device(const std::string& model, const std::string& device,
                               const std::string& precision, EventSink& events) {
  const torch::Device place = choose_device(device);
  const ProductType products = choose_inference_products(precision, place);
  const ModelFolder folder = open_model_folder(model, events, ModelUse::kPairs);
  const EncoderConfig& config = folder.settings.encoder;
  const EncoderShape shape = config.shape();
  const torch::Tensor weights = torch::empty({encoder_parameter_count(shape)});
  read_encoder_weights(folder.weights_path, config, weights.data_ptr<float>(), events);
  return {make_device_encoder(shape, weights.to(place), products), folder.settings,
          load_tokenizer(folder, events)};
}

}  // namespace simile
