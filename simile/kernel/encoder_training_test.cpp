// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_training.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/detail/reference_encoder_test.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using reference::Numbers;

struct Step {
  std::vector<float> hidden, gradients, grad_perturbation;
};

// One forward and backward pass; the loss is the sum of hidden * coefficients.
Step train_step(const EncoderShape& shape, const std::vector<float>& flat, const PackedBatch& batch,
                const EncoderDropout& dropout, const std::vector<float>& perturbation,
                const std::vector<float>& coefficients, EncoderTape& tape) {
  Step step;
  step.hidden.resize(static_cast<size_t>(batch.tokens() * shape.hidden));
  step.grad_perturbation.resize(step.hidden.size());
  step.gradients.assign(flat.size(), 0.0f);
  const EncoderGradients gradients = encoder_gradients(shape, step.gradients.data());
  const EncoderWeights weights = encoder_weights(shape, flat.data());
  encoder_forward_training(shape, weights, batch, dropout,
                           perturbation.empty() ? nullptr : perturbation.data(), tape,
                           step.hidden.data());
  encoder_backward(shape, weights, batch, dropout, tape, coefficients.data(), &gradients,
                   step.grad_perturbation.data());
  return step;
}

Step train_step(const EncoderShape& shape, const std::vector<float>& flat, const PackedBatch& batch,
                const EncoderDropout& dropout, const std::vector<float>& coefficients,
                ProductType products = ProductType::kFloat) {
  EncoderTape tape(products);
  return train_step(shape, flat, batch, dropout, {}, coefficients, tape);
}

// Those that this processor has.
std::vector<ProductType> product_types() {
  std::vector<ProductType> types = {ProductType::kFloat};
  if (bfloat_kernels() != nullptr) types.push_back(ProductType::kBfloat);
  return types;
}

std::vector<float> normals(size_t count, double deviation, const char* name) {
  RandomStream stream(7, name);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(deviation * stream.normal());
  return values;
}

// `mask` with every factor computed once: finite differences ask for each of them again and again.
// Places are below 128, but for the first.
template <typename Mask>
std::function<double(int64_t, int64_t, int64_t)> computed_once(Mask mask) {
  const auto known = std::make_shared<std::vector<double>>();
  return [=](int64_t first, int64_t second, int64_t third) {
    const auto at = static_cast<size_t>((first * 128 + second) * 128 + third);
    if (at >= known->size()) known->resize(at + 1, -1.0);
    double& factor = (*known)[at];
    if (factor < 0) factor = mask(first, second, third);
    return factor;
  };
}

// The masks of the encoder as the reference wants them.
reference::Masks masks_of(const EncoderShape& shape, const PackedBatch& batch,
                          const EncoderDropout& dropout) {
  reference::Masks masks;
  masks.hidden = computed_once([=](int64_t site, int64_t token, int64_t column) {
    const DropoutPlace place = site == 0       ? DropoutPlace::kEmbedding
                               : site % 2 == 1 ? DropoutPlace::kAttentionOutput
                                               : DropoutPlace::kOutput;
    const DropoutMask mask(dropout, place, site == 0 ? 0 : (site - 1) / 2);
    const int64_t width = site == 0 ? shape.embedding_size() : shape.hidden;
    uint8_t byte;
    mask.fill(token * mask_bytes(width) + column / 8, 1, &byte);
    return byte >> column % 8 & 1 ? double{mask.scale()} : 0.0;
  });
  masks.inner = computed_once([=](int64_t layer, int64_t token, int64_t column) {
    const DropoutMask mask(dropout, DropoutPlace::kInner, layer);
    uint8_t byte;
    mask.fill(token * mask_bytes(shape.intermediate) + column / 8, 1, &byte);
    return byte >> column % 8 & 1 ? double{mask.scale()} : 0.0;
  });
  const auto attention = computed_once([=](int64_t place, int64_t token, int64_t key) {
    const int64_t layer = place / shape.heads, head = place % shape.heads;
    int64_t first = 0, n = 0;
    for (; batch.offsets[n + 1] <= token; ++n) {
      const int64_t length = batch.offsets[n + 1] - batch.offsets[n];
      first += shape.heads * length * mask_bytes(length);
    }
    const int64_t length = batch.offsets[n + 1] - batch.offsets[n];
    first += (head * length + token - batch.offsets[n]) * mask_bytes(length) + key / 8;
    uint8_t byte;
    DropoutMask(dropout, DropoutPlace::kAttention, layer).fill(first, 1, &byte);
    return byte >> key % 8 & 1 ? 65536.0 / (65536.0 - std::lround(dropout.attention * 65536)) : 0.0;
  });
  masks.attention = [=](int64_t layer, int64_t head, int64_t token, int64_t key) {
    return attention(layer * shape.heads + head, token, key);
  };
  masks.head = computed_once([=](int64_t layer, int64_t sequence, int64_t head) {
    if (dropout.head == 0) return 1.0;
    std::vector<float> factors(static_cast<size_t>(shape.heads));
    DropoutMask(dropout, DropoutPlace::kHead, layer)
        .fill_heads(sequence, shape.heads, factors.data());
    return static_cast<double>(factors[head]);
  });
  return masks;
}

// A few positions in every tensor, for the embeddings in rows that the batch uses.
std::vector<int64_t> positions_to_check(const EncoderShape& shape, const PackedBatch& batch) {
  std::vector<int64_t> positions;
  RandomStream stream(3, "positions");
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    for (int i = 0; i < 4; ++i) {
      int64_t at = static_cast<int64_t>(stream.below(slot.size));
      const int64_t E = shape.embedding_size(), column = at % E;
      if (slot.name.find("word") != std::string::npos) {
        at = batch.ids[stream.below(batch.ids.size())] * E + column;
      } else if (slot.name.find("position") != std::string::npos) {
        at = (shape.position_offset + i) * E + column;
      }
      positions.push_back(slot.offset + at);
    }
  }
  return positions;
}

struct Case {
  const char* what;
  EncoderShape shape;
  std::vector<int32_t> lengths;
  EncoderDropout dropout;
};

// Differences of families, in combinations that the golden models do not have.
EncoderShape projected_shape() {
  EncoderShape shape = small_shape(3, 32, 4, 20);
  shape.embedding = 21;
  shape.projected = shape.shared_layers = true;
  shape.output_dropout = false;
  shape.activation = Activation::kGeluTanh;
  return shape;
}
EncoderShape pre_norm_shape() {
  EncoderShape shape = small_shape(4, 24, 4, 22);  // heads of 6, which fill no vector
  shape.types = 0;
  shape.pre_norm = shape.gated = shape.fused_qkv = shape.fused_gate = true;
  shape.attention_bias = shape.up_bias = shape.down_bias = shape.norm_bias = false;
  shape.rotary_base = 1000;
  shape.local_rotary_base = 50;
  shape.local_window = 3;
  shape.global_every = 2;
  shape.inner_dropout = true;
  shape.output_dropout = false;
  return shape;
}
EncoderShape relative_shape() {
  EncoderShape shape = small_shape(2, 30, 3, 25);
  shape.relative_buckets = 8;
  shape.position_offset = 2;
  shape.local_window = 5;
  shape.attended_dropout = false;
  shape.activation = Activation::kRelu;
  return shape;
}
EncoderShape gated_shape() {
  EncoderShape shape = small_shape(2, 32, 2, 19);
  shape.gated = true;
  shape.rotary_base = 100;
  shape.activation = Activation::kSilu;
  shape.attention_bias = false;
  return shape;
}

std::vector<Case> cases() {
  EncoderDropout some, all;
  some.hidden = 0.1f;
  some.attention = 0.2f;
  some.key = 12345;
  some.step = 3;
  all = some;
  all.head = 0.4f;
  EncoderDropout apart = some;
  apart.embedding = 0.3f;
  apart.attended = 0.25f;
  return {{"plain", small_shape(2, 32, 2, 48), {3, 1, 9, 18}, {}},
          {"dropout", small_shape(2, 32, 2, 48), {3, 1, 9, 18}, some},
          {"odd sizes", small_shape(1, 30, 3, 35), {5, 17, 2}, some},
          {"dropped heads", small_shape(2, 24, 4, 20), {5, 7, 2}, all},
          {"long", small_shape(1, 32, 1, 32), {60}, some},
          {"projected", projected_shape(), {3, 9, 18}, apart},
          {"pre-norm", pre_norm_shape(), {5, 61, 2, 33}, apart},
          {"pre-norm without dropout", pre_norm_shape(), {1, 40}, {}},
          {"relative", relative_shape(), {5, 62, 2}, some},
          {"gated", gated_shape(), {5, 17, 2}, all}};
}

TEST(EncoderTraining, HiddenStatesAndGradientsAgreeWithTheNaiveEncoder) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const PackedBatch batch = random_batch(c.shape, c.lengths);
    const std::vector<float> flat = random_parameters(c.shape, 0.2);
    const size_t size = static_cast<size_t>(batch.tokens() * c.shape.hidden);
    const std::vector<float> perturbation = normals(size, 0.1, "perturbation");
    const std::vector<float> coefficients = normals(size, 1.0, "coefficients");
    EncoderTape tape;
    const Step step = train_step(c.shape, flat, batch, c.dropout, perturbation, coefficients, tape);

    const reference::Masks masks = masks_of(c.shape, batch, c.dropout);
    Numbers wide(flat.begin(), flat.end()), shift(perturbation.begin(), perturbation.end());
    const auto loss = [&] {
      const Numbers hidden = reference::encode(
          c.shape, encoder_pointers<const double>(c.shape, wide.data()), batch, masks, shift);
      double sum = 0;
      for (size_t i = 0; i < size; ++i) sum += hidden[i] * coefficients[i];
      return sum;
    };
    const Numbers expected = reference::encode(
        c.shape, encoder_pointers<const double>(c.shape, wide.data()), batch, masks, shift);
    for (size_t i = 0; i < size; ++i) ASSERT_NEAR(step.hidden[i], expected[i], 1e-5);

    const auto slope = [&](double& at) {
      const double original = at, h = 1e-5;
      at = original + h;
      const double up = loss();
      at = original - h;
      const double down = loss();
      at = original;
      return (up - down) / (2 * h);
    };
    for (const int64_t i : positions_to_check(c.shape, batch)) {
      const double found = step.gradients[i];
      ASSERT_NEAR(found, slope(wide[i]), 2e-5 * (1 + std::abs(found))) << "parameter " << i;
    }
    for (size_t i = 0; i < size; i += size / 7) {
      const double found = step.grad_perturbation[i];
      ASSERT_NEAR(found, slope(shift[i]), 2e-5 * (1 + std::abs(found))) << "perturbation " << i;
    }
  }
}

double norm(const float* x, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += double{x[i]} * x[i];
  return std::sqrt(sum);
}

double cosine(const float* a, const float* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += double{a[i]} * b[i];
  return sum / (norm(a, size) * norm(b, size));
}

double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  std::vector<float> difference = found;
  for (size_t i = 0; i < found.size(); ++i) difference[i] -= expected[i];
  const auto size = static_cast<int64_t>(found.size());
  return norm(difference.data(), size) / norm(expected.data(), size);
}

TEST(EncoderTraining, ProductsInBfloat16GiveNearlyTheSameGradients) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: no bfloat16 on this processor";
  std::vector<Case> all = cases();
  all.push_back({"several chunks", small_shape(3, 64, 4, 150), {3, 90, 61, 17, 70, 33, 128}, {}});
  for (const Case& c : all) {
    SCOPED_TRACE(c.what);
    const PackedBatch batch = random_batch(c.shape, c.lengths);
    const std::vector<float> flat = random_parameters(c.shape, 0.1);
    const auto coefficients =
        normals(static_cast<size_t>(batch.tokens() * c.shape.hidden), 1, "coefficients");
    const auto step = [&](ProductType products) {
      EncoderTape tape(products);
      return train_step(c.shape, flat, batch, c.dropout, {}, coefficients, tape);
    };
    const Step exact = step(ProductType::kFloat), rounded = step(ProductType::kBfloat);
    const bool has_kink = c.shape.activation == Activation::kRelu;  // some numbers cross it
    const double tolerance = has_kink ? 2e-2 : 1e-2, least_cosine = has_kink ? 0.999 : 0.9999;
    EXPECT_NE(rounded.hidden, exact.hidden);
    EXPECT_LT(relative_difference(rounded.hidden, exact.hidden), tolerance);
    EXPECT_LT(relative_difference(rounded.gradients, exact.gradients), tolerance);
    EXPECT_LT(relative_difference(rounded.grad_perturbation, exact.grad_perturbation), tolerance);
    const double whole = norm(exact.gradients.data(), static_cast<int64_t>(flat.size()));
    for (const ParameterSlot& slot : encoder_layout(c.shape)) {
      const float* const expected = exact.gradients.data() + slot.offset;
      if (norm(expected, slot.size) < 1e-3 * whole) continue;  // what cancels: the keys' bias
      EXPECT_GT(cosine(rounded.gradients.data() + slot.offset, expected, slot.size), least_cosine)
          << slot.name;
    }
  }
}

// The floats of a layer: of layers that share them, those of the first.
std::vector<float> layer_floats(const EncoderShape& shape, int64_t layer,
                                const std::vector<float>& flat) {
  std::vector<float> floats;
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    if (slot.layer != layer) continue;
    floats.insert(floats.end(), flat.begin() + slot.offset, flat.begin() + slot.offset + slot.size);
  }
  return floats;
}

TEST(EncoderTraining, LayersAreToldWhenTheirGradientsAreWhole) {
  std::vector<ProductType> types = {ProductType::kFloat};
  if (bfloat_kernels() != nullptr) types.push_back(ProductType::kBfloat);
  for (const Case& c : cases()) {
    for (const ProductType type : types) {
      SCOPED_TRACE(c.what);
      const PackedBatch batch = random_batch(c.shape, c.lengths);
      const std::vector<float> flat = random_parameters(c.shape, 0.1);
      const EncoderWeights weights = encoder_weights(c.shape, flat.data());
      std::vector<float> hidden(static_cast<size_t>(batch.tokens() * c.shape.hidden));
      const auto upstream = normals(static_cast<size_t>(hidden.size()), 1, "coefficients");
      EncoderTape tape(type);
      encoder_forward_training(c.shape, weights, batch, c.dropout, nullptr, tape, hidden.data());
      std::vector<float> gradients(flat.size());
      const EncoderGradients places = encoder_gradients(c.shape, gradients.data());
      std::vector<std::vector<float>> told;
      const auto done = [&](int64_t layer) {
        EXPECT_EQ(layer, c.shape.layers - 1 - static_cast<int64_t>(told.size()));
        told.push_back(layer_floats(c.shape, layer, gradients));
      };
      encoder_backward(c.shape, weights, batch, c.dropout, tape, upstream.data(), &places, nullptr,
                       done);
      ASSERT_EQ(static_cast<int64_t>(told.size()), c.shape.layers);
      for (int64_t layer = 0; layer < c.shape.layers; ++layer) {
        const auto& then = told[static_cast<size_t>(c.shape.layers - 1 - layer)];
        EXPECT_EQ(then, layer_floats(c.shape, layer, gradients)) << "layer " << layer;
        EXPECT_EQ(then.empty(), c.shape.shared_layers && layer > 0);
      }
    }
  }
}

TEST(EncoderTraining, WithoutDropoutHiddenStatesHaveTheBitsOfInference) {
  for (const EncoderShape& shape : {small_shape(2, 64, 2, 96), projected_shape(), pre_norm_shape(),
                                    relative_shape(), gated_shape()}) {
    const std::vector<float> flat = random_parameters(shape, 0.1);
    const PackedBatch batch = random_batch(shape, {30, 3, 70, 1, 150});
    std::vector<float> trained(static_cast<size_t>(batch.tokens() * shape.hidden));
    std::vector<float> inferred = trained;
    EncoderTape tape;
    const EncoderWeights weights = encoder_weights(shape, flat.data());
    encoder_forward_training(shape, weights, batch, {}, nullptr, tape, trained.data());
    EncoderForward(shape, weights)(batch, inferred.data());
    EXPECT_EQ(trained, inferred);
  }
}

TEST(EncoderTraining, ThreadsDoNotChangeABit) {
  for (const EncoderShape& shape : {small_shape(3, 64, 4, 96), projected_shape(), pre_norm_shape(),
                                    relative_shape(), gated_shape()}) {
    const std::vector<float> flat = random_parameters(shape, 0.1);
    std::vector<int32_t> lengths;
    for (int32_t i = 0; i < 60; ++i) lengths.push_back(1 + i * 37 % 60);
    const PackedBatch batch = random_batch(shape, lengths);
    const std::vector<float> coefficients =
        normals(static_cast<size_t>(batch.tokens() * shape.hidden), 1, "coefficients");
    EncoderDropout dropout;
    dropout.hidden = dropout.attention = 0.1f;
    const int threads = thread_count();
    for (const ProductType type : product_types()) {
      set_thread_count(1);
      const Step one = train_step(shape, flat, batch, dropout, coefficients, type);
      for (const int count : {2, 3, 8}) {
        set_thread_count(count);
        const Step several = train_step(shape, flat, batch, dropout, coefficients, type);
        EXPECT_EQ(several.hidden, one.hidden);
        EXPECT_EQ(several.gradients, one.gradients);
        EXPECT_EQ(several.grad_perturbation, one.grad_perturbation);
      }
    }
    set_thread_count(threads);
  }
}

TEST(EncoderTraining, ATapeCanBeUsedAgainForOtherBatches) {
  const EncoderShape shape = small_shape(2, 32, 2, 48);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.1f;
  for (const ProductType type : product_types()) {
    EncoderTape tape(type);
    for (const std::vector<int32_t>& lengths :
         {std::vector<int32_t>{5, 90}, {3, 4}, {200, 1, 30}, {5, 90}}) {
      const PackedBatch batch = random_batch(shape, lengths);
      const std::vector<float> coefficients =
          normals(static_cast<size_t>(batch.tokens() * shape.hidden), 1, "coefficients");
      const Step again = train_step(shape, flat, batch, dropout, {}, coefficients, tape);
      const Step fresh = train_step(shape, flat, batch, dropout, coefficients, type);
      EXPECT_EQ(again.hidden, fresh.hidden);
      EXPECT_EQ(again.gradients, fresh.gradients);
    }
    EXPECT_GT(tape.bytes(), 0);
  }
}

TEST(EncoderTraining, GradientsAreAddedAndOnlyRowsOfWordsPresentAreTouched) {
  const EncoderShape shape = small_shape(1, 32, 2, 48);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  const PackedBatch batch = random_batch(shape, {6, 9});
  const std::vector<float> coefficients =
      normals(static_cast<size_t>(batch.tokens() * shape.hidden), 1, "coefficients");
  EncoderTape tape;
  const Step step = train_step(shape, flat, batch, {}, {}, coefficients, tape);
  std::vector<float> twice = step.gradients;
  const EncoderGradients pointers = encoder_gradients(shape, twice.data());
  encoder_backward(shape, encoder_weights(shape, flat.data()), batch, {}, tape, coefficients.data(),
                   &pointers, nullptr);
  for (size_t i = 0; i < twice.size(); ++i) {
    ASSERT_NEAR(twice[i], 2 * step.gradients[i], 1e-4 * (1 + std::abs(twice[i])));
  }
  const std::set<int32_t> present(batch.ids.begin(), batch.ids.end());
  for (int32_t id = 0; id < shape.vocabulary; ++id) {
    const float* row = step.gradients.data() + id * shape.hidden;
    const bool touched = std::any_of(row, row + shape.hidden, [](float g) { return g != 0; });
    EXPECT_EQ(touched, present.count(id) == 1) << id;
  }
}

TEST(EncoderTraining, ThePerturbationsGradientAloneHasTheSameBits) {
  for (const Case& c : cases()) {
    const PackedBatch batch = random_batch(c.shape, c.lengths);
    const std::vector<float> flat = random_parameters(c.shape, 0.2);
    const size_t size = static_cast<size_t>(batch.tokens() * c.shape.hidden);
    const std::vector<float> perturbation = normals(size, 0.1, "perturbation");
    const std::vector<float> coefficients = normals(size, 1.0, "coefficients");
    for (const ProductType type : product_types()) {
      EncoderTape tape(type);
      const Step full =
          train_step(c.shape, flat, batch, c.dropout, perturbation, coefficients, tape);
      std::vector<float> alone(size, 1.0f);
      encoder_backward(c.shape, encoder_weights(c.shape, flat.data()), batch, c.dropout, tape,
                       coefficients.data(), nullptr, alone.data());
      EXPECT_EQ(alone, full.grad_perturbation) << c.what;
    }
  }
}

TEST(EncoderTraining, StepsAndKeysGiveOtherMasksAndNothingElseDoes) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  const PackedBatch batch = random_batch(shape, {8, 20});
  const auto hidden = [&](uint64_t key, uint64_t step) {
    EncoderDropout dropout;
    dropout.hidden = 0.1f;
    dropout.key = key;
    dropout.step = step;
    std::vector<float> result(static_cast<size_t>(batch.tokens() * shape.hidden));
    EncoderTape tape;
    encoder_forward_training(shape, encoder_weights(shape, flat.data()), batch, dropout, nullptr,
                             tape, result.data());
    return result;
  };
  EXPECT_EQ(hidden(1, 1), hidden(1, 1));
  EXPECT_NE(hidden(1, 1), hidden(1, 2));
  EXPECT_NE(hidden(1, 1), hidden(2, 1));
}

TEST(EncoderTraining, PartsOfABatchHaveTheMasksOfTheWhole) {
  const EncoderShape shape = small_shape(2, 64, 4, 96);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.2f;
  dropout.head = 0.3f;
  const auto hidden_states = [&](const PackedBatch& batch, ProductType type) {
    std::vector<float> hidden(static_cast<size_t>(batch.tokens() * shape.hidden));
    EncoderTape tape(type);
    encoder_forward_training(shape, encoder_weights(shape, flat.data()), batch, dropout, nullptr,
                             tape, hidden.data());
    return hidden;
  };
  const PackedBatch whole = random_batch(shape, {9, 20, 1, 33, 5});
  for (const ProductType type : product_types()) {
    dropout.origin = {};
    const std::vector<float> expected = hidden_states(whole, type);
    std::vector<float> joined;
    for (size_t i = 0; i + 1 < whole.offsets.size(); ++i) {
      PackedBatch part;
      part.ids.assign(whole.ids.begin() + whole.offsets[i],
                      whole.ids.begin() + whole.offsets[i + 1]);
      part.type_ids.assign(whole.type_ids.begin() + whole.offsets[i],
                           whole.type_ids.begin() + whole.offsets[i + 1]);
      part.offsets = {0, static_cast<int32_t>(part.ids.size())};
      const std::vector<float> hidden = hidden_states(part, type);
      joined.insert(joined.end(), hidden.begin(), hidden.end());
      dropout.origin = origin_after(dropout.origin, shape, part);
    }
    EXPECT_EQ(joined, expected);
  }
}

TEST(EncoderTraining, AnEmptyBatchGivesNothing) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  const Step step = train_step(shape, flat, PackedBatch{}, {}, {});
  EXPECT_TRUE(
      std::all_of(step.gradients.begin(), step.gradients.end(), [](float g) { return g == 0; }));
}

TEST(EncoderTraining, ADroppedHeadIsSilentForItsWholeSequenceAndLearnsNothing) {
  const EncoderShape shape = small_shape(2, 32, 4, 48);
  const int64_t H = shape.hidden, size = shape.head_size(), layer = 1;
  const std::vector<float> flat = random_parameters(shape, 0.2);
  const PackedBatch batch = random_batch(shape, {7, 19});
  const std::vector<float> coefficients =
      normals(static_cast<size_t>(batch.tokens() * H), 1, "coefficients");
  EncoderDropout dropout;
  dropout.head = 0.5f;
  // A step in which some head of the layer is dropped in the first text and kept in the second.
  int64_t head = -1;
  while (head < 0) {
    ++dropout.step;
    std::vector<float> first(4), second(4);
    const DropoutMask mask(dropout, DropoutPlace::kHead, layer);
    mask.fill_heads(0, 4, first.data());
    mask.fill_heads(1, 4, second.data());
    for (int64_t h = 0; h < 4; ++h) {
      if (first[h] == 0 && second[h] != 0) head = h;
    }
  }
  const Step step = train_step(shape, flat, batch, dropout, coefficients);
  const auto gradient_of = [&](int64_t from, int64_t to) {  // of the head's values, tokens from..to
    std::vector<float> part(coefficients.size(), 0.0f);
    std::copy(coefficients.begin() + from * H, coefficients.begin() + to * H,
              part.begin() + from * H);
    Step only = train_step(shape, flat, batch, dropout, part);
    const EncoderGradients g = encoder_gradients(shape, only.gradients.data());
    const float* rows = g.layers[layer].qkv_weight + (2 * H + head * size) * H;
    return std::vector<float>(rows, rows + size * H);
  };
  EXPECT_THAT(gradient_of(0, 7), testing::Each(0.0f));
  EXPECT_THAT(gradient_of(7, 26), testing::Contains(testing::Ne(0.0f)));

  // Other values of that head move every token of the second text and none of the first.
  std::vector<float> other = flat;
  const EncoderGradients pointers = encoder_gradients(shape, other.data());
  for (int64_t i = 0; i < size; ++i) {
    pointers.layers[layer].qkv_bias[2 * H + head * size + i] += 1.0f;
  }
  const Step moved = train_step(shape, other, batch, dropout, coefficients);
  for (int64_t token = 0; token < batch.tokens(); ++token) {
    const auto at = token * H;
    const bool same = std::equal(step.hidden.begin() + at, step.hidden.begin() + at + H,
                                 moved.hidden.begin() + at);
    EXPECT_EQ(same, token < 7) << token;
  }
}

TEST(EncoderTraining, BadProbabilitiesAndStrangeTapesAreRefused) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  const PackedBatch batch = random_batch(shape, {3});
  std::vector<float> buffer(96, 0.0f);
  for (const float p : {-0.1f, 1.0f, std::nanf("")}) {
    EncoderDropout dropout;
    dropout.attention = p;
    EncoderTape tape;
    try {
      encoder_forward_training(shape, encoder_weights(shape, flat.data()), batch, dropout, nullptr,
                               tape, buffer.data());
      FAIL() << "accepted " << p;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    }
  }
  EncoderTape tape;
  EXPECT_THROW(encoder_backward(shape, encoder_weights(shape, flat.data()), batch, {}, tape,
                                buffer.data(), nullptr, nullptr),
               Error);
}

}  // namespace
}  // namespace simile
