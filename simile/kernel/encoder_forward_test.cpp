// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_forward.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/detail/reference_encoder_test.h"

namespace simile {
namespace {

std::vector<float> encode(const EncoderShape& shape, const std::vector<float>& flat,
                          const PackedBatch& batch, ProductType products = ProductType::kFloat) {
  std::vector<float> hidden(static_cast<size_t>(batch.tokens() * shape.hidden),
                            std::numeric_limits<float>::quiet_NaN());
  const EncoderForward encoder(shape, encoder_weights(shape, flat.data()), products);
  encoder(batch, hidden.data());
  return hidden;
}

// Those that this processor has.
std::vector<ProductType> product_types() {
  std::vector<ProductType> types = {ProductType::kFloat, ProductType::kByte};
  if (bfloat_kernels() != nullptr) types.push_back(ProductType::kBfloat);
  return types;
}

PackedBatch take_sequence(const PackedBatch& batch, int64_t i) {
  const int32_t begin = batch.offsets[i], end = batch.offsets[i + 1];
  PackedBatch one;
  one.ids.assign(batch.ids.begin() + begin, batch.ids.begin() + end);
  one.type_ids.assign(batch.type_ids.begin() + begin, batch.type_ids.begin() + end);
  one.offsets = {0, end - begin};
  return one;
}

TEST(EncoderForward, AgreesWithTheNaiveEncoder) {
  struct Case {
    int64_t layers, hidden, heads, intermediate;
    std::vector<int32_t> lengths;
  };
  const Case cases[] = {
      {2, 64, 2, 128, {1, 5, 14, 17, 33}},
      {1, 96, 3, 100, {16, 2, 31}},
      {2, 36, 6, 50, {7, 1, 20}},
      {1, 30, 2, 33, {3, 29}},
      {1, 5, 5, 3, {4, 18}},
      {1, 64, 1, 64, {90}},
      {0, 32, 2, 32, {3, 4}},
  };
  for (const Case& c : cases) {
    const EncoderShape shape = small_shape(c.layers, c.hidden, c.heads, c.intermediate);
    const std::vector<float> flat = random_parameters(shape, 0.2);
    const PackedBatch batch = random_batch(shape, c.lengths);
    const reference::Numbers wide(flat.begin(), flat.end());
    const reference::Numbers expected =
        reference::encode(shape, encoder_pointers<const double>(shape, wide.data()), batch);
    const std::vector<float> found = encode(shape, flat, batch);
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::isnan(found[i]) ? 1.0 : std::abs(found[i] - expected[i]));
    }
    EXPECT_LT(worst, 1e-5) << "hidden " << c.hidden << " heads " << c.heads;
  }
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

// Every variant has the products of a layer; the last one a projection and a gate as well.
TEST(EncoderForward, RoundedProductsStayNearTheNaiveEncoder) {
  std::vector<EncoderShape> shapes = {small_shape(2, 64, 2, 128), small_shape(2, 36, 6, 50),
                                      small_shape(1, 255, 5, 257), small_shape(3, 44, 4, 70)};
  shapes.back().embedding = 30;
  shapes.back().projected = shapes.back().gated = shapes.back().pre_norm = true;
  for (const EncoderShape& shape : shapes) {
    const std::vector<float> flat = random_parameters(shape, 0.1);
    const PackedBatch batch = random_batch(shape, {1, 5, 14, 0, 33});
    const reference::Numbers wide(flat.begin(), flat.end());
    const reference::Numbers expected =
        reference::encode(shape, encoder_pointers<const double>(shape, wide.data()), batch);
    for (const ProductType products : product_types()) {
      const std::vector<float> found = encode(shape, flat, batch, products);
      std::vector<double> difference(found.begin(), found.end());
      for (size_t i = 0; i < expected.size(); ++i) difference[i] -= expected[i];
      const double most = products == ProductType::kByte ? 0.05 : 0.02;
      EXPECT_LT(norm_of(difference), most * norm_of({expected.begin(), expected.end()}));
      if (products != ProductType::kFloat) {
        EXPECT_NE(found, encode(shape, flat, batch));
      }
    }
  }
}

TEST(EncoderForward, ATextHasTheSameBitsAloneAndInAnyBatch) {
  for (const EncoderShape& shape : {small_shape(2, 64, 2, 128), small_shape(2, 44, 4, 70)}) {
    const std::vector<float> flat = random_parameters(shape, 0.1);
    std::vector<int32_t> lengths;
    for (int32_t i = 1; i <= 48; ++i) lengths.push_back(i * 7 % 48 + 1);
    for (const int32_t length : {200, 255, 256, 257}) lengths.push_back(length);
    const PackedBatch batch = random_batch(shape, lengths);
    for (const ProductType products : product_types()) {
      const std::vector<float> together = encode(shape, flat, batch, products);
      for (int64_t i = 0; i < batch.size(); ++i) {
        const std::vector<float> alone = encode(shape, flat, take_sequence(batch, i), products);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                               together.begin() + batch.offsets[i] * shape.hidden))
            << lengths[i] << " tokens";
      }
    }
  }
}

TEST(EncoderForward, ThreadsDoNotChangeABit) {
  const EncoderShape shape = small_shape(2, 64, 4, 96);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  const PackedBatch batch = random_batch(shape, {50, 3, 100, 20, 31, 64, 90, 12, 7, 8, 40});
  const int threads = thread_count();
  for (const ProductType products : product_types()) {
    set_thread_count(1);
    const std::vector<float> one = encode(shape, flat, batch, products);
    for (const int count : {2, 5}) {
      set_thread_count(count);
      EXPECT_EQ(encode(shape, flat, batch, products), one);
    }
  }
  set_thread_count(threads);
}

TEST(EncoderForward, TypeIdsDefaultToZero) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  PackedBatch batch = random_batch(shape, {4, 9});
  std::fill(batch.type_ids.begin(), batch.type_ids.end(), 0);
  const std::vector<float> zeros = encode(shape, flat, batch);
  batch.type_ids.clear();
  EXPECT_EQ(encode(shape, flat, batch), zeros);
}

TEST(EncoderForward, LongestSequencesAndEmptyBatchesWork) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.3);
  for (const int32_t length : {511, 512}) {
    const PackedBatch batch = random_batch(shape, {length});
    const reference::Numbers wide(flat.begin(), flat.end());
    const reference::Numbers expected =
        reference::encode(shape, encoder_pointers<const double>(shape, wide.data()), batch);
    const std::vector<float> found = encode(shape, flat, batch);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5);
  }
  for (const ProductType products : product_types()) {
    EXPECT_TRUE(encode(shape, flat, PackedBatch{}, products).empty());
    EXPECT_EQ(encode(shape, flat, random_batch(shape, {0, 2, 0}), products).size(), 64u);
  }
}

TEST(EncoderForward, BatchesThatDoNotFitTheModelAreRefused) {
  const EncoderShape shape = small_shape(1, 32, 2, 32);
  const std::vector<float> flat = random_parameters(shape, 0.1);
  struct Case {
    PackedBatch batch;
    std::string message;
  };
  const Case cases[] = {
      {{{1, 50}, {}, {0, 2}}, "id 50 of token 1"},
      {{{1, -1}, {}, {0, 2}}, "id -1 of token 1"},
      {{{1, 2}, {0, 2}, {0, 2}}, "type id 2 of token 1"},
      {{{1, 2}, {0}, {0, 2}}, "1 type ids for 2 tokens"},
      {{{1, 2}, {}, {0, 1}}, "offsets run from 0 to 1"},
      {{{1, 2}, {}, {1, 2}}, "offsets run from 1 to 2"},
      {{{1, 2}, {}, {0, 3, 2}}, "has -1 tokens"},
      {{{1, 2}, {}, {}}, "expected 0 to 2"},
      {{std::vector<int32_t>(521, 1), {}, {0, 521}}, "520 positions"},
  };
  for (const Case& c : cases) {
    try {
      encode(shape, flat, c.batch);
      FAIL() << "accepted: " << c.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), testing::HasSubstr(c.message));
    }
  }
}

TEST(EncoderForward, LayersReadOneByOneAndAWordTableOfHalvesGiveTheSameBits) {
  const EncoderShape shape = small_shape(3, 48, 4, 100);
  std::vector<float> flat = random_parameters(shape, 0.2);
  const int64_t words = shape.vocabulary * shape.hidden;
  round_to_halves(flat.data(), words);
  const PackedBatch batch = random_batch(shape, {3, 70, 1, 20});

  const EncoderWeights whole = encoder_weights(shape, flat.data());
  std::vector<uint16_t> halves(static_cast<size_t>(words));
  std::transform(whole.word, whole.word + words, halves.begin(), float_to_half);
  EncoderWeights rest = whole;
  rest.word = nullptr;
  rest.half_word = halves.data();
  for (LayerPointers<const float>& layer : rest.layers) {
    layer.qkv_weight = layer.attention_weight = layer.up_weight = layer.down_weight = nullptr;
  }
  std::vector<float> memory;  // one layer at a time
  const LayerReader read_layer = [&](int64_t i) {
    const LayerPointers<const float>& layer = whole.layers[static_cast<size_t>(i)];
    memory.assign(layer.qkv_weight, layer.output_norm_bias + shape.hidden);
    LayerPointers<const float> moved = layer;
    for (const float* LayerPointers<const float>::*part :
         {&LayerPointers<const float>::qkv_weight, &LayerPointers<const float>::attention_weight,
          &LayerPointers<const float>::up_weight, &LayerPointers<const float>::down_weight}) {
      moved.*part = memory.data() + (layer.*part - layer.qkv_weight);
    }
    return moved;
  };
  for (const ProductType products : product_types()) {
    const EncoderForward forward(shape, rest, read_layer, products);
    std::fill(memory.begin(), memory.end(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> found(static_cast<size_t>(batch.tokens() * shape.hidden));
    forward(batch, found.data());
    EXPECT_EQ(found, encode(shape, flat, batch, products));
  }
}

}  // namespace
}  // namespace simile
