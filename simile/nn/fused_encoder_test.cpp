// SPDX-License-Identifier: Apache-2.0
// The fused engine against its oracle in plain ATen calls: values and every gradient.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>

#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/model/encoder_tensors.h"
#include "simile/nn/detail/tensor_setup_test.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

EncoderConfig small_config() {
  EncoderConfig config;
  config.layers = 2;
  config.hidden = 32;
  config.heads = 4;
  config.intermediate = 64;
  config.vocabulary = 50;
  config.positions = 40;
  return config;
}

PackedBatch make_batch(const std::vector<int32_t>& lengths, bool with_types) {
  PackedBatch batch;
  batch.offsets = {0};
  RandomStream stream(1, "batch");
  for (const int32_t length : lengths) {
    for (int32_t i = 0; i < length; ++i) {
      batch.ids.push_back(static_cast<int32_t>(stream.below(50)));
      if (with_types) batch.type_ids.push_back(i % 2);
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

// Weights far enough from their start that every gradient matters.
void fill(TrainableEncoder& node, const EncoderConfig& config) {
  float* const weights = node.parameters().data_ptr<float>();
  initialise_encoder_weights(config, 3, weights);
  RandomStream stream(4, "noise");
  for (int64_t i = 0; i < node.parameter_count(); ++i) {
    weights[i] += static_cast<float>(0.1 * stream.normal());
  }
}

TEST(FusedEncoder, AgreesWithItsTorchOracleInValueAndEveryGradient) {
  for (const bool with_types : {false, true}) {
    const EncoderConfig config = small_config();
    const auto node_owner = make_fused_encoder(config.shape());
    TrainableEncoder& node = *node_owner;
    fill(node, config);
    const PackedBatch batch = make_batch({1, 7, 40, 12, 3}, with_types);
    torch::manual_seed(1);
    const torch::Tensor direction = torch::randn({batch.tokens(), config.hidden});
    const torch::Tensor shift = 0.01 * torch::randn({batch.tokens(), config.hidden});

    const torch::Tensor shift_node = shift.clone().set_requires_grad(true);
    const torch::Tensor hidden = node.forward(batch, EncoderDropout(), shift_node);
    (hidden * direction).sum().backward();

    const torch::Tensor weights =
        node.parameters().clone().to(torch::kFloat64).set_requires_grad(true);
    const torch::Tensor shift_oracle = shift.to(torch::kFloat64).set_requires_grad(true);
    const torch::Tensor expected =
        encode_with_torch(config.shape(), weights, batch, {}, shift_oracle);
    (expected * direction.to(torch::kFloat64)).sum().backward();

    EXPECT_LT(largest_difference(hidden, expected), 1e-5);
    EXPECT_LT(largest_difference(shift_node.grad(), shift_oracle.grad()), 1e-4);
    const torch::Tensor gradient = node.gradients().clone();
    for (const ParameterSlot& slot : encoder_layout(config.shape())) {
      const torch::Tensor got = gradient.narrow(0, slot.offset, slot.size);
      const torch::Tensor want = weights.grad().narrow(0, slot.offset, slot.size);
      EXPECT_LT(largest_difference(got, want),
                2e-4 * std::max(1.0, want.abs().max().item<double>()))
          << slot.name;
      // A key's bias moves every score of a row alike, so its gradient is zero.
      if (slot.name.find("key.bias") == std::string::npos) {
        EXPECT_GT(want.abs().max().item<double>(), 0) << slot.name;
      }
    }
  }
}

TEST(FusedEncoder, AddsTheGradientsOfSeveralForwardCalls) {
  const EncoderConfig config = small_config();
  const auto node_owner = make_fused_encoder(config.shape());
  TrainableEncoder& node = *node_owner;
  fill(node, config);
  const PackedBatch first = make_batch({5, 9}, false), second = make_batch({11}, false);
  const auto gradient_of = [&](const std::vector<const PackedBatch*>& batches) {
    node.gradients().zero_();
    torch::Tensor sum = torch::zeros({});
    for (const PackedBatch* batch : batches) sum = sum + node.forward(*batch, {}).sin().sum();
    sum.backward();
    return node.gradients().clone();
  };
  const torch::Tensor both = gradient_of({&first, &second});
  EXPECT_LT(largest_difference(both, gradient_of({&first}) + gradient_of({&second})), 1e-4);
}

EncoderDropout some_dropout() {
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = dropout.head = 0.2f;
  dropout.key = 5;
  return dropout;
}

TEST(FusedEncoder, SkippingWeightGradientsKeepsTheBitsOfThePerturbations) {
  const EncoderConfig config = small_config();
  const auto node_owner = make_fused_encoder(config.shape());
  TrainableEncoder& node = *node_owner;
  fill(node, config);
  const PackedBatch batch = make_batch({5, 9, 31}, false);
  torch::manual_seed(1);
  const torch::Tensor start = 0.01 * torch::randn({batch.tokens(), config.hidden});
  const auto gradient_of = [&](WeightGradients mode) {
    const torch::Tensor shift = start.clone().set_requires_grad(true);
    node.forward(batch, some_dropout(), shift, mode).sin().sum().backward();
    return shift.grad();
  };
  const torch::Tensor alone = gradient_of(WeightGradients::kSkip);
  const torch::Tensor gradients = node.gradients().clone();
  EXPECT_EQ(gradients.count_nonzero().item<int64_t>(), 0);
  EXPECT_TRUE(torch::equal(alone, gradient_of(WeightGradients::kAdd)));
  EXPECT_FALSE(node.forward(batch, {}, {}, WeightGradients::kSkip).requires_grad());
}

TEST(FusedEncoder, CallsOfBothKindsMayPrecedeBackward) {
  const EncoderConfig config = small_config();
  const auto node_owner = make_fused_encoder(config.shape());
  TrainableEncoder& node = *node_owner;
  fill(node, config);
  const PackedBatch first = make_batch({5, 9}, false), second = make_batch({11}, false);
  torch::manual_seed(1);
  const torch::Tensor start = 0.01 * torch::randn({second.tokens(), config.hidden});
  const auto run = [&](bool with_first, bool with_second) {
    node.gradients().zero_();
    const torch::Tensor shift = start.clone().set_requires_grad(true);
    torch::Tensor sum = torch::zeros({});
    if (with_first) sum = sum + node.forward(first, some_dropout()).sin().sum();
    if (with_second) {
      sum = sum + node.forward(second, {}, shift, WeightGradients::kSkip).sin().sum();
      sum = sum + node.forward(second, {}, shift, WeightGradients::kSkip).cos().sum();
    }
    sum.backward();
    return std::make_pair(node.gradients().clone(), shift.grad());
  };
  const auto both = run(true, true);
  EXPECT_TRUE(torch::equal(both.first, run(true, false).first));
  EXPECT_TRUE(torch::equal(both.second, run(false, true).second));
}

TEST(FusedEncoder, OtherWeightsGiveConstantsUnderTheSameMasks) {
  const EncoderConfig config = small_config();
  const auto node_owner = make_fused_encoder(config.shape());
  TrainableEncoder& node = *node_owner;
  fill(node, config);
  const PackedBatch batch = make_batch({5, 9}, false);
  const torch::Tensor own = node.forward(batch, some_dropout());
  const torch::Tensor other = node.parameters().clone();
  const torch::Tensor same = node.forward_with(other, batch, some_dropout());
  EXPECT_TRUE(torch::equal(same, own));
  EXPECT_FALSE(same.requires_grad());
  other.mul_(0.9f);
  const torch::Tensor moved = node.forward_with(other, batch, some_dropout());
  EXPECT_FALSE(torch::equal(moved, own));
  own.sum().backward();  // its tape was not taken by the calls in between
  const torch::Tensor gradient = node.gradients().clone();
  node.parameters().copy_(other);
  EXPECT_TRUE(torch::equal(node.forward(batch, some_dropout()), moved));
  EXPECT_GT(gradient.abs().max().item<double>(), 0);
}

TEST(FusedEncoder, GivesTheSameBitsOnOneAndTwoThreads) {
  const EncoderConfig config = small_config();
  const PackedBatch batch = make_batch({30, 7, 40, 12, 3, 25, 33, 40, 18}, false);
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.1f;
  dropout.key = 77;
  const auto run = [&](int threads) {
    set_thread_count(threads);
    const auto node_owner = make_fused_encoder(config.shape());
    TrainableEncoder& node = *node_owner;
    fill(node, config);
    const torch::Tensor hidden = node.forward(batch, dropout);
    pool_tokens(hidden, batch.offsets, PoolingMode::kMean).sin().sum().backward();
    return torch::cat({hidden.detach().flatten(), node.gradients().clone()});
  };
  const int before = thread_count();
  const torch::Tensor one = run(1), two = run(2);
  set_thread_count(before);
  EXPECT_TRUE(torch::equal(one, two));
}

}  // namespace
}  // namespace simile
