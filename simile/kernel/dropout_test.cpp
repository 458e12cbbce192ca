// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// The mean factor is 1 within its error, where a share `kept` of `count` has factor `scale`, others
// 0.
void expect_mean_one(double kept, double count, double scale) {
  const double deviation = scale * std::sqrt(kept * (1 - kept) / count);
  EXPECT_NEAR(kept * scale, 1.0, 4.5 * deviation);
}

TEST(Dropout, ExpectationIsOneOverStepsLayersAndSites) {
  constexpr int64_t kSteps = 300, kBytes = 500;
  for (const DropoutPlace place : {DropoutPlace::kEmbedding, DropoutPlace::kAttentionOutput,
                                   DropoutPlace::kOutput, DropoutPlace::kAttention}) {
    for (const float p : {0.1f, 0.3f, 0.77f}) {
      SCOPED_TRACE(p);
      EncoderDropout dropout = dropout_of(p);
      double kept = 0, count = 0;
      std::vector<int64_t> kept_at(8 * kBytes);
      for (; dropout.step < kSteps; ++dropout.step) {
        for (int64_t layer = 0; layer < 3; ++layer) {
          std::vector<uint8_t> bytes(kBytes);
          DropoutMask(dropout, place, layer).fill(0, kBytes, bytes.data());
          for (int64_t i = 0; i < 8 * kBytes; ++i) kept_at[i] += bytes[i / 8] >> i % 8 & 1;
        }
      }
      const double scale = DropoutMask(dropout, place, 0).scale();
      for (const int64_t at : kept_at) {
        // No place is dropped more often than others: six deviations, since there are thousands.
        EXPECT_NEAR(at * scale / (3 * kSteps), 1.0, 6 * std::sqrt((scale - 1) / (3 * kSteps)));
        kept += static_cast<double>(at);
        count += 3 * kSteps;
      }
      expect_mean_one(kept / count, count, scale);
    }
  }
}

TEST(Dropout, EveryHeadsExpectationIsOneAndOneSurvives) {
  constexpr int64_t kSteps = 200, kSequences = 50, kLayers = 2;
  for (const float p : {0.1f, 0.5f, 0.9f}) {
    for (const int64_t heads : {1, 2, 3, 12}) {
      SCOPED_TRACE(testing::Message() << p << ", " << heads << " heads");
      EncoderDropout dropout = dropout_of(p);
      std::vector<double> kept(static_cast<size_t>(heads));
      float factor = 0;
      for (; dropout.step < kSteps; ++dropout.step) {
        for (int64_t i = 0; i < kSequences * kLayers; ++i) {
          std::vector<float> factors(static_cast<size_t>(heads));
          const DropoutMask mask(dropout, DropoutPlace::kHead, i % kLayers);
          mask.fill_heads(i / kLayers, heads, factors.data());
          const float largest = *std::max_element(factors.begin(), factors.end());
          ASSERT_GT(largest, 0);
          if (factor == 0) factor = largest;
          for (int64_t h = 0; h < heads; ++h) {
            ASSERT_TRUE(factors[h] == 0 || factors[h] == factor);
            kept[h] += factors[h] != 0;
          }
        }
      }
      const double draws = kSteps * kSequences * kLayers;
      for (const double head : kept) expect_mean_one(head / draws, draws, factor);
      const double survival = 1 - p + std::pow(p, heads) / static_cast<double>(heads);
      EXPECT_NEAR(factor * survival, 1.0, 1e-4);  // p is rounded to 16 bits
    }
  }
}

}  // namespace
}  // namespace simile
