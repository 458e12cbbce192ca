// SPDX-License-Identifier: Apache-2.0
// The vectors served are those of the model trained: inference without torch against the encoder in
// plain ATen calls.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/encoder_reader.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

TEST(Parity, ServedVectorsAgreeWithTheAtenEncoderForEveryPooling) {
  const std::string path = std::string(SIMILE_SOURCE_DIR) + "/tests/golden/tiny-bert";
  const SentenceEncoder loaded = SentenceEncoder::load(path, silent_events());
  const EncoderShape shape = loaded.settings().encoder.shape();
  torch::Tensor flat = torch::empty({encoder_parameter_count(shape)});
  read_encoder_weights(path + "/model.safetensors", loaded.settings().encoder,
                       flat.data_ptr<float>(), silent_events());
  const std::vector<std::string> texts = {"the cat sat on the mat .", "", "a red dog ran", "sun"};
  PackedBatch batch;
  batch.offsets = {0};
  for (const std::string& text : texts) {
    loaded.tokenizer().encode_ids(text, batch.ids);
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  for (const PoolingModeRow& row : pooling_modes()) {
    const PoolingMode mode = row.mode;
    ModelSettings settings = loaded.settings();
    settings.pooling = mode;
    settings.normalize = false;
    const SentenceEncoder encoder(make_encoder(shape, flat.data_ptr<float>()), settings,
                                  loaded.tokenizer());
    Matrix<float> served = encoder.encode(texts, {}, silent_events());
    const torch::Tensor expected =
        pool_tokens(encode_with_torch(shape, flat, batch), batch.offsets, mode);
    const torch::Tensor got = torch::from_blob(served.values.data(), {served.rows, served.cols});
    EXPECT_LT((got - expected).abs().max().item<float>(), 1e-5f) << pooling_mode_name(mode);
  }
}

}  // namespace
}  // namespace simile
