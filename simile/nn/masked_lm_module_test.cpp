// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head in both engines, against the reference and each other.
#include "simile/nn/masked_lm_module.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/nn/engines.h"

namespace simile {
namespace {

using Json = nlohmann::json;
using torch::Tensor;

Tensor sines(int64_t count, double phase, double scale) {
  return (torch::arange(count, torch::kDouble) * 0.37 + phase).sin().mul(scale).to(torch::kFloat);
}

Tensor numbers(const Json& json) { return torch::tensor(json.get<std::vector<double>>()); }

void expect_near(const Tensor& found, const Json& expected, double tolerance, const char* what) {
  const Tensor want = numbers(expected).to(torch::kDouble);
  const Tensor got = found.flatten().narrow(0, 0, want.numel()).to(torch::kDouble);
  EXPECT_LT((got - want).abs().max().item<double>(), tolerance) << what;
}

// The inputs of tools/golden/masked_lm.py; hidden states that no encoder made.
TEST(MaskedLmModule, ValuesAndGradientsAreThoseOfTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/masked_lm.json");
  const Json golden = Json::parse(file);
  const auto H = golden["hidden"].get<int64_t>();
  for (const Json& c : golden["cases"]) {
    EncoderShape shape;
    shape.hidden = H;
    shape.heads = 1;
    shape.vocabulary = c["vocabulary"];
    shape.positions = 1;
    const int64_t V = shape.vocabulary;
    const MaskedTokens masked{c["positions"], c["words"]};
    const auto encoder_owner = make_torch_encoder(shape);
    TrainableEncoder& encoder = *encoder_owner;
    encoder.parameters().narrow(0, 0, V * H).copy_(sines(V * H, 0.7, 0.8));
    const auto head_owner = make_torch_masked_lm(shape);
    MaskedLmModule& head = *head_owner;
    head.parameters().copy_(
        torch::cat({sines(H * H, 0.2, 0.5), sines(H, 0.3, 0.1), sines(H, 0.4, 1.0),
                    sines(H, 0.5, 0.2), sines(V, 0.6, 0.3)}));
    const int64_t tokens = c["tokens"];
    const Tensor hidden = sines(tokens * H, 0.1, 1.0).view({tokens, H}).set_requires_grad(true);
    const VocabularyLoss loss =
        head.backward(encoder, hidden, masked, 1.0f / static_cast<float>(masked.size()));
    EXPECT_NEAR(loss.sum, c["sum"].get<double>(), 1e-5 * c["sum"].get<double>());
    EXPECT_EQ(loss.correct, c["correct"].get<int64_t>());
    expect_near(hidden.grad(), c["hidden_gradient"], 2e-6, "hidden");
    expect_near(head.gradients(), c["head_gradient"], 2e-6, "head");
    const Tensor decoder = head.gradients().narrow(0, H * H + 3 * H, V);
    EXPECT_NEAR(decoder.norm().item<double>(), c["decoder_gradient_norm"].get<double>(), 2e-6);
    const Tensor table = encoder.gradients().narrow(0, 0, V * H).view({V, H});
    EXPECT_NEAR(table.norm().item<double>(), c["embedding_gradient_norm"].get<double>(), 1e-5);
    for (size_t i = 0; i < c["embedding_rows"].size(); ++i) {
      expect_near(table[c["embedding_rows"][i].get<int64_t>()], c["embedding_gradient"][i], 2e-6,
                  "embedding");
    }
  }
}

struct Engines {
  std::unique_ptr<TrainableEncoder> encoder;
  std::unique_ptr<MaskedLmModule> head;
};

TEST(MaskedLmModule, TheEnginesAgreeThroughTheEncoder) {
  EncoderShape shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = 4;
  shape.intermediate = 64;
  shape.vocabulary = 90;
  shape.positions = 512;
  std::vector<float> weights(static_cast<size_t>(encoder_parameter_count(shape)));
  RandomStream random(2, "weights");
  for (float& weight : weights) weight = static_cast<float>(0.2 * random.normal());
  std::vector<float> head(static_cast<size_t>(masked_lm_parameter_count(shape)));
  initialise_masked_lm_weights(shape, 3, head.data());
  PackedBatch batch;
  batch.offsets = {0, 400, 430};
  MaskedTokens masked;  // of more than one block
  for (int32_t i = 0; i < batch.offsets.back(); ++i) {
    batch.ids.push_back(static_cast<int32_t>(random.below(90)));
    if (i % 7 == 0) continue;
    masked.positions.push_back(i);
    masked.words.push_back(i % 90);
  }
  std::vector<Engines> engines(2);
  engines[0] = {make_fused_encoder(shape), make_fused_masked_lm(shape)};
  engines[1] = {make_torch_encoder(shape), make_torch_masked_lm(shape)};
  std::vector<double> sums;
  for (const Engines& engine : engines) {
    engine.encoder->from_host(weights.data());
    engine.head->from_host(head.data());
    EXPECT_EQ(engine.head->to_host(), head);
    const Tensor hidden = engine.encoder->forward(batch, {});
    const VocabularyLoss alone = engine.head->losses(*engine.encoder, hidden.detach(), masked);
    const VocabularyLoss loss = engine.head->backward(*engine.encoder, hidden, masked, 0.01f);
    EXPECT_EQ(alone.sum, loss.sum);
    EXPECT_EQ(alone.correct, loss.correct);
    sums.push_back(loss.sum);
    const Tensor again = engine.encoder->forward(batch, {});
    EXPECT_EQ(engine.head->losses(*engine.encoder, again.detach(), {}).sum, 0);
    engine.head->backward(*engine.encoder, again, {}, 1.0f);  // adds nothing
    EXPECT_THROW(engine.head->losses(*engine.encoder, again.detach(), {{0}, {90}}), Error);
  }
  EXPECT_NEAR(sums[0], sums[1], 1e-5 * sums[0]);
  const auto difference = [](const Tensor& a, const Tensor& b) {
    return (a - b).abs().max().item<double>() / std::max(1.0, b.abs().max().item<double>());
  };
  EXPECT_LT(difference(engines[1].encoder->gradients(), engines[0].encoder->gradients()), 1e-4);
  EXPECT_LT(difference(engines[1].head->gradients(), engines[0].head->gradients()), 1e-4);
}

}  // namespace
}  // namespace simile
