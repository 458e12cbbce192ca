// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/dropout.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cmath>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

EncoderDropout dropout_of(float p) {
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = dropout.head = p;
  dropout.key = stream_key(1, "dropout");
  return dropout;
}

TEST(Dropout, KeepsTheProbabilityAndTheExpectation) {
  for (const float p : {0.0f, 0.1f, 0.5f, 0.9f}) {
    const DropoutMask mask(dropout_of(p), DropoutPlace::kOutput, 3);
    std::vector<uint8_t> bytes(100000);
    mask.fill(0, static_cast<int64_t>(bytes.size()), bytes.data());
    double kept = 0, neighbours = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      kept += static_cast<double>(std::bitset<8>(bytes[i]).count());
      neighbours += static_cast<double>(std::bitset<8>(bytes[i] & bytes[i] >> 1).count());
    }
    const double n = 8.0 * bytes.size(), q = 1 - p;
    EXPECT_NEAR(kept / n, q, 5 * std::sqrt(p * q / n) + 1e-5) << p;
    EXPECT_NEAR(neighbours / (n * 7 / 8), q * q, 0.005) << p;
    EXPECT_NEAR(mask.scale() * q, 1.0, 2e-4);
    EXPECT_EQ(mask.active(), p > 0);
  }
}

TEST(Dropout, BytesDoNotDependOnWhereFillingBegins) {
  const DropoutMask mask(dropout_of(0.3f), DropoutPlace::kAttention, 1);
  std::vector<uint8_t> whole(100);
  mask.fill(1000, 100, whole.data());
  for (int64_t i = 0; i < 100; i += 7) {
    uint8_t byte = 0;
    mask.fill(1000 + i, 1, &byte);
    EXPECT_EQ(byte, whole[i]);
  }
}

TEST(Dropout, PlacesLayersStepsAndKeysDiffer) {
  const auto bytes = [](EncoderDropout dropout, DropoutPlace place, int64_t layer) {
    std::vector<uint8_t> result(64);
    DropoutMask(dropout, place, layer).fill(0, 64, result.data());
    return result;
  };
  const EncoderDropout dropout = dropout_of(0.5f);
  EncoderDropout later = dropout, other = dropout;
  later.step = 1;
  other.key += 1;
  const auto base = bytes(dropout, DropoutPlace::kOutput, 0);
  EXPECT_EQ(bytes(dropout, DropoutPlace::kOutput, 0), base);
  EXPECT_NE(bytes(dropout, DropoutPlace::kAttentionOutput, 0), base);
  EXPECT_NE(bytes(dropout, DropoutPlace::kOutput, 1), base);
  EXPECT_NE(bytes(later, DropoutPlace::kOutput, 0), base);
  EXPECT_NE(bytes(other, DropoutPlace::kOutput, 0), base);
}

TEST(Dropout, AtLeastOneHeadSurvives) {
  const DropoutMask mask(dropout_of(0.9f), DropoutPlace::kHead, 0);
  double kept = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    std::vector<float> factors(4);
    mask.fill_heads(i, 4, factors.data());
    int survivors = 0;
    for (const float f : factors) {
      EXPECT_TRUE(f == 0 || f == mask.scale());
      survivors += f != 0;
    }
    EXPECT_GE(survivors, 1);
    kept += survivors;
  }
  EXPECT_NEAR(kept / 8000, 0.1 + std::pow(0.9, 4) / 4, 0.02);
}

}  // namespace
}  // namespace simile
