// SPDX-License-Identifier: Apache-2.0
// The two engines of training against each other: every family and variant, dropout on.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "simile/core/random.h"
#include "simile/model/detail/family_golden_test.h"
#include "simile/nn/detail/tensor_setup_test.h"
#include "simile/nn/engines.h"

namespace simile {
namespace {

using torch::Tensor;

// Sequences of these lengths, which make several groups.
PackedBatch make_batch(const EncoderShape& shape, const std::vector<int32_t>& lengths) {
  PackedBatch batch;
  batch.offsets = {0};
  RandomStream stream(1, "batch");
  const int64_t longest = shape.longest_sequence();
  for (const int32_t length : lengths) {
    for (int64_t i = 0; i < std::min<int64_t>(length, longest); ++i) {
      batch.ids.push_back(static_cast<int32_t>(stream.below(shape.vocabulary)));
      if (shape.types > 1) batch.type_ids.push_back(static_cast<int32_t>(i % 2));
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

EncoderDropout all_dropout() {
  EncoderDropout dropout;
  dropout.hidden = 0.1f;
  dropout.attention = 0.2f;
  dropout.head = 0.3f;
  dropout.embedding = 0.15f;
  dropout.attended = 0.05f;
  dropout.key = 5;
  dropout.step = 3;
  dropout.origin = {17, 1234, 5};
  return dropout;
}

EncoderShape two_layer_shape() {
  EncoderShape shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.heads = 4;
  shape.intermediate = 64;
  shape.vocabulary = 50;
  shape.positions = 64;
  shape.types = 2;
  return shape;
}

std::vector<float> random_weights(const EncoderShape& shape) {
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(shape)));
  RandomStream stream(4, "weights");
  for (float& weight : flat) weight = static_cast<float>(0.2 * stream.normal());
  return flat;
}

struct Pass {
  Tensor hidden, gradient, shift;
};

Pass run(TrainableEncoder& encoder, const std::vector<float>& weights, const PackedBatch& batch) {
  const int64_t H = encoder.shape().hidden;
  encoder.from_host(weights.data());
  torch::manual_seed(1);
  const Tensor direction = torch::randn({batch.tokens(), H});
  const Tensor shift = (0.01 * torch::randn({batch.tokens(), H})).set_requires_grad(true);
  const Tensor hidden = encoder.forward(batch, all_dropout(), shift);
  (hidden * direction).sum().backward();
  return {hidden.detach(), encoder.gradients(), shift.grad()};
}

void expect_equal_engines(const EncoderShape& shape, const std::vector<float>& weights) {
  const PackedBatch batch = make_batch(shape, {3, 40, 1, 12, 64, 5, 60, 12});
  const auto fused_owner = make_fused_encoder(shape);
  TrainableEncoder& fused = *fused_owner;
  const auto plain_owner = make_torch_encoder(shape);
  TrainableEncoder& plain = *plain_owner;
  const Pass expected = run(fused, weights, batch), found = run(plain, weights, batch);
  const auto scale = [](const Tensor& x) { return std::max(1.0, x.abs().max().item<double>()); };
  EXPECT_LT(largest_difference(found.hidden, expected.hidden), 1e-5 * scale(expected.hidden));
  EXPECT_LT(largest_difference(found.shift, expected.shift), 1e-4 * scale(expected.shift));
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    const Tensor want = expected.gradient.narrow(0, slot.offset, slot.size);
    EXPECT_LT(largest_difference(found.gradient.narrow(0, slot.offset, slot.size), want),
              1e-4 * scale(want))
        << slot.name;
  }
}

TEST(TorchEncoder, AgreesWithTheFusedEngineForEveryFamilyWithDropout) {
  for (const std::string& name : FamilyGolden::names()) {
    SCOPED_TRACE(name);
    const FamilyGolden golden(name);
    expect_equal_engines(golden.config.shape(), golden.read_weights());
  }
}

TEST(TorchEncoder, AgreesWithTheFusedEngineForEveryVariantWithDropout) {
  const auto check = [](const char* what, void (*change)(EncoderShape&)) {
    SCOPED_TRACE(what);
    EncoderShape shape = two_layer_shape();
    change(shape);
    expect_equal_engines(shape, random_weights(shape));
  };
  check("plain", [](EncoderShape&) {});
  check("inner dropout", [](EncoderShape& s) {
    s.inner_dropout = true;
    s.output_dropout = s.attended_dropout = false;
  });
  check("projected", [](EncoderShape& s) {
    s.embedding = 16;
    s.projected = true;
  });
  check("windows without padding", [](EncoderShape& s) {
    s.rotary_base = 10000;
    s.local_rotary_base = 500;
    s.local_window = 4;
    s.global_every = 2;
    s.pre_norm = true;
  });
  check("relative", [](EncoderShape& s) { s.relative_buckets = 8; });
  check("one layer for all", [](EncoderShape& s) { s.shared_layers = true; });
  check("gated", [](EncoderShape& s) {
    s.gated = true;
    s.activation = Activation::kSilu;
    s.attention_bias = s.up_bias = s.down_bias = s.norm_bias = false;
  });
}

TEST(TorchEncoder, ProductsInBfloat16AreNearAndGradientsStayFloats) {
  for (const std::string name : {"bert", "albert", "mpnet", "modernbert"}) {
    SCOPED_TRACE(name);
    const FamilyGolden golden(name);
    const EncoderShape shape = golden.config.shape();
    const PackedBatch batch = make_batch(shape, {3, 40, 1, 12});
    const std::vector<float> weights = golden.read_weights();
    const auto exact_owner = make_torch_encoder(shape);
    TrainableEncoder& exact = *exact_owner;
    const auto rounded_owner = make_torch_encoder(
        shape, allocate_encoder_memory(shape, torch::kCPU), ProductType::kBfloat);
    TrainableEncoder& rounded = *rounded_owner;
    const Pass expected = run(exact, weights, batch), found = run(rounded, weights, batch);
    const auto distance = [](const Tensor& a, const Tensor& b) {
      return ((a - b).norm() / b.norm()).item<double>();
    };
    EXPECT_EQ(found.hidden.scalar_type(), torch::kFloat);
    EXPECT_GT(distance(found.hidden, expected.hidden), 1e-5);
    EXPECT_LT(distance(found.hidden, expected.hidden), 0.03);
    EXPECT_LT(distance(found.gradient, expected.gradient), 0.12);
    EXPECT_LT(distance(found.shift, expected.shift), 0.12);
  }
}

TEST(TorchEncoder, PaddingAndThePartsOfABatchMoveNoMask) {
  const EncoderShape shape = two_layer_shape();
  const auto encoder_owner = make_torch_encoder(shape);
  TrainableEncoder& encoder = *encoder_owner;
  encoder.from_host(random_weights(shape).data());
  const PackedBatch whole = make_batch(shape, {30, 4, 50, 9});
  EncoderDropout dropout = all_dropout();
  torch::NoGradGuard guard;
  const Tensor together = encoder.forward(whole, dropout);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < 4; ++i) {
    PackedBatch part;
    part.ids.assign(whole.ids.begin() + whole.offsets[i], whole.ids.begin() + whole.offsets[i + 1]);
    part.type_ids.assign(whole.type_ids.begin() + whole.offsets[i],
                         whole.type_ids.begin() + whole.offsets[i + 1]);
    part.offsets = {0, static_cast<int32_t>(part.ids.size())};
    parts.push_back(encoder.forward(part, dropout));
    dropout.origin = origin_after(dropout.origin, shape, part);
  }
  EXPECT_LT(largest_difference(torch::cat(parts), together), 1e-5);
}

TEST(TorchEncoder, GradientsAddUpInPlaceOrAreSkipped) {
  const EncoderShape shape = two_layer_shape();
  const auto encoder_owner = make_torch_encoder(shape);
  TrainableEncoder& encoder = *encoder_owner;
  encoder.from_host(random_weights(shape).data());
  const PackedBatch batch = make_batch(shape, {5, 9, 31});
  const float* const place = encoder.gradients().data_ptr<float>();
  torch::manual_seed(1);
  const Tensor start = 0.01 * torch::randn({batch.tokens(), shape.hidden});
  const auto gradient_of = [&](WeightGradients mode) {
    const Tensor shift = start.clone().set_requires_grad(true);
    encoder.forward(batch, all_dropout(), shift, mode).sin().sum().backward();
    return shift.grad();
  };
  const Tensor alone = gradient_of(WeightGradients::kSkip);
  EXPECT_EQ(encoder.gradients().count_nonzero().item<int64_t>(), 0);
  EXPECT_TRUE(torch::equal(alone, gradient_of(WeightGradients::kAdd)));
  const Tensor once = encoder.gradients().clone();
  EXPECT_GT(once.abs().max().item<double>(), 0);
  gradient_of(WeightGradients::kAdd);
  EXPECT_LT(largest_difference(encoder.gradients(), 2 * once), 1e-6);
  EXPECT_EQ(encoder.gradients().data_ptr<float>(), place);
  EXPECT_FALSE(encoder.forward(batch, {}, {}, WeightGradients::kSkip).requires_grad());
}

TEST(TorchEncoder, OtherWeightsGiveConstantsAndTheOwnAnInferenceEncoder) {
  const EncoderShape shape = two_layer_shape();
  const auto encoder_owner = make_torch_encoder(shape);
  TrainableEncoder& encoder = *encoder_owner;
  const std::vector<float> weights = random_weights(shape);
  encoder.from_host(weights.data());
  EXPECT_EQ(encoder.to_host(), weights);
  const PackedBatch batch = make_batch(shape, {5, 9, 31});
  const Tensor other = 0.9 * encoder.parameters();
  const Tensor moved = encoder.forward_with(other, batch, all_dropout());
  EXPECT_FALSE(moved.requires_grad());
  const Tensor served = torch::empty({batch.tokens(), shape.hidden});
  (*encoder.inference())(batch, served.data_ptr<float>());
  EXPECT_LT(largest_difference(served, encoder.forward(batch, {})), 1e-5);
  encoder.parameters().copy_(other);
  EXPECT_TRUE(torch::equal(encoder.forward(batch, all_dropout()), moved));
}

}  // namespace
}  // namespace simile
