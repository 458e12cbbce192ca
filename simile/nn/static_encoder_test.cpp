// SPDX-License-Identifier: Apache-2.0
// The static encoder under both engines.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/nn/engines.h"

namespace simile {
namespace {

constexpr int64_t kStaticRows = 9, kStaticWidth = 24;

EncoderShape table_shape() {
  EncoderShape shape;
  shape.averaged = true;
  shape.vocabulary = kStaticRows;
  shape.hidden = kStaticWidth;
  shape.positions = 100;
  return shape;
}

// Row 4 is zero.
std::vector<float> table_weights() {
  RandomStream stream(3, "table");
  std::vector<float> weights(kStaticRows * kStaticWidth);
  for (float& value : weights) value = static_cast<float>(stream.normal());
  std::fill_n(weights.begin() + 4 * kStaticWidth, kStaticWidth, 0.0f);
  return weights;
}

PackedBatch table_batch() {
  PackedBatch batch;
  batch.ids = {1, 2, 2, 4, 0, 8, 7, 4, 5};
  batch.offsets = {0, 4, 4, 5, 9};
  return batch;
}

EncoderDropout table_dropout(double hidden) {
  EncoderDropout dropout;
  dropout.hidden = static_cast<float>(hidden);
  dropout.key = 8;
  dropout.step = 2;
  dropout.origin = {100, 1000, 7};
  return dropout;
}

torch::Tensor table_upstream() {
  return torch::arange(4 * kStaticWidth).reshape({4, kStaticWidth}).remainder(7) - 3.0f;
}

struct Passed {
  torch::Tensor states, gradients, perturbation_gradient;
};

Passed pass(TrainableEncoder& encoder, double dropout, WeightGradients kind) {
  encoder.from_host(table_weights().data());
  torch::Tensor shift = torch::linspace(-1, 1, 9 * kStaticWidth).reshape({9, kStaticWidth});
  shift.set_requires_grad(true);
  const torch::Tensor states = encoder.forward(table_batch(), table_dropout(dropout), shift, kind);
  (states * table_upstream()).sum().backward();
  return {states.detach(), encoder.gradients().clone(), shift.grad()};
}

TEST(StaticEngine, BothEnginesGiveTheSameStatesAndGradients) {
  for (const double dropout : {0.0, 0.3}) {
    for (const WeightGradients kind : {WeightGradients::kAdd, WeightGradients::kSkip}) {
      const auto fused = make_fused_encoder(table_shape());
      const auto plain = make_torch_encoder(table_shape());
      const Passed a = pass(*fused, dropout, kind), b = pass(*plain, dropout, kind);
      EXPECT_LT((a.states - b.states).abs().max().item<double>(), 1e-6);
      EXPECT_LT((a.gradients - b.gradients).abs().max().item<double>(), 1e-5);
      EXPECT_LT((a.perturbation_gradient - b.perturbation_gradient).abs().max().item<double>(),
                1e-6);
      EXPECT_EQ(a.gradients.abs().sum().item<float>() > 0, kind == WeightGradients::kAdd);
      const torch::Tensor zero = a.gradients.narrow(0, 4 * kStaticWidth, kStaticWidth);
      EXPECT_EQ(zero.abs().sum().item<float>(), 0);
    }
  }
}

TEST(StaticEngine, WithoutDropoutTheStatesAreThoseOfInference) {
  const auto encoder_owner = make_fused_encoder(table_shape());
  TrainableEncoder& encoder = *encoder_owner;
  encoder.from_host(table_weights().data());
  const PackedBatch batch = table_batch();
  const torch::Tensor states = encoder.forward(batch, {});
  const auto inference = encoder.inference();
  ASSERT_EQ(inference->states(batch), 4);
  const torch::Tensor inferred = torch::empty({4, kStaticWidth});
  (*inference)(batch, inferred.data_ptr<float>());
  EXPECT_TRUE(torch::equal(states.detach(), inferred));
  EXPECT_EQ(states.detach()[1].abs().sum().item<float>(), 0);  // of no tokens

  const torch::Tensor other = encoder.parameters() * 2;
  EXPECT_TRUE(torch::equal(encoder.forward_with(other, batch, {}), states.detach() * 2));
}

TEST(StaticEngine, BatchesThatDoNotFitAreErrors) {
  PackedBatch outside = table_batch();
  outside.ids[1] = kStaticRows;
  for (const auto& encoder : {make_fused_encoder, make_torch_encoder}) {
    EXPECT_THROW(encoder(table_shape(), {}, ProductType::kFloat)->forward(outside, {}), Error);
  }
}

TEST(StaticEngine, DropoutOfAPartIsThatOfItsBatch) {
  const auto encoder_owner = make_fused_encoder(table_shape());
  TrainableEncoder& encoder = *encoder_owner;
  encoder.from_host(table_weights().data());
  const EncoderDropout dropout = table_dropout(0.4);
  const torch::Tensor whole = encoder.forward(table_batch(), dropout).detach();
  PackedBatch first, rest;
  first.ids = {1, 2, 2, 4};
  first.offsets = {0, 4, 4};
  rest.ids = {0, 8, 7, 4, 5};
  rest.offsets = {0, 1, 5};
  EncoderDropout of_rest = dropout;
  of_rest.origin = origin_after(dropout.origin, table_shape(), first);
  const torch::Tensor parts = torch::cat(
      {encoder.forward(first, dropout).detach(), encoder.forward(rest, of_rest).detach()});
  EXPECT_TRUE(torch::equal(parts, whole));
}

}  // namespace
}  // namespace simile
