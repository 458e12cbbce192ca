// SPDX-License-Identifier: Apache-2.0
// Every kind of mask as a tensor has the bits of the kernels' masks.
#include "simile/nn/torch_dropout.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

EncoderDropout every_dropout() {
  EncoderDropout dropout;
  dropout.hidden = 0.1f;
  dropout.attention = 0.25f;
  dropout.head = 0.6f;
  dropout.embedding = 0.35f;
  dropout.attended = 0.5f;
  dropout.key = 0x9123456789abcdefull;
  dropout.step = (uint64_t{3} << 32) + 7;
  return dropout;
}

constexpr DropoutPlace kPlaces[] = {DropoutPlace::kEmbedding, DropoutPlace::kAttentionOutput,
                                    DropoutPlace::kOutput, DropoutPlace::kAttention,
                                    DropoutPlace::kInner};

// Bytes first ... of the mask as factors [8 bytes].
Tensor expected_factors(const DropoutMask& mask, int64_t first, int64_t bytes) {
  std::vector<uint8_t> keep(static_cast<size_t>(bytes));
  mask.fill(first, bytes, keep.data());
  std::vector<float> factors;
  for (const uint8_t byte : keep) {
    for (int bit = 0; bit < 8; ++bit) factors.push_back((byte >> bit & 1) != 0 ? mask.scale() : 0);
  }
  return torch::tensor(factors);
}

TEST(TorchDropout, RowsHaveTheBitsOfTheKernels) {
  for (const DropoutPlace place : kPlaces) {
    for (const int64_t layer : {0, 11}) {
      for (const int64_t width : {1, 16, 27, 64}) {
        for (const int64_t first : {int64_t{0}, int64_t{13}, int64_t{1} << 33}) {
          const DropoutMask mask(every_dropout(), place, layer);
          constexpr int64_t kRows = 9;
          const int64_t bytes = mask_bytes(width);
          const Tensor expected = expected_factors(mask, first * bytes, kRows * bytes)
                                      .view({kRows, 8 * bytes})
                                      .narrow(1, 0, width);
          const Tensor found = dropout_rows(mask, first, kRows, width, torch::zeros({1}));
          EXPECT_TRUE(torch::equal(found, expected)) << width << " from " << first;
          const Tensor exact =
              dropout_rows(mask, first, kRows, width, torch::zeros({1}, torch::kDouble));
          EXPECT_TRUE(torch::equal(exact, expected.to(torch::kDouble)));
        }
      }
    }
  }
}

TEST(TorchDropout, BytesInAnyOrderHaveTheBitsOfTheKernels) {
  const DropoutMask mask(every_dropout(), DropoutPlace::kAttention, 5);
  const Tensor expected = expected_factors(mask, 1000, 64).view({64, 8});
  const Tensor order = torch::randperm(64, torch::kInt64).view({4, 16});
  const Tensor found = dropout_bytes(mask, order + 1000, torch::zeros({1}));
  EXPECT_TRUE(torch::equal(found, expected.index_select(0, order.flatten()).view({4, 128})));
}

TEST(TorchDropout, HeadsAndTheirSurvivorsHaveTheBitsOfTheKernels) {
  for (const float p : {0.1f, 0.9f}) {
    for (const int64_t heads : {1, 3, 12}) {
      EncoderDropout dropout = every_dropout();
      dropout.head = p;
      const DropoutMask mask(dropout, DropoutPlace::kHead, 2);
      constexpr int64_t kSequences = 200, kFirst = 77;
      const Tensor expected = torch::empty({kSequences, heads});
      for (int64_t i = 0; i < kSequences; ++i) {
        mask.fill_heads(kFirst + i, heads, expected.data_ptr<float>() + i * heads);
      }
      const Tensor sequences = torch::arange(kFirst, kFirst + kSequences, torch::kInt64);
      const Tensor found = dropout_heads(mask, sequences, heads, torch::zeros({1}));
      EXPECT_TRUE(torch::equal(found, expected)) << heads << " heads, p " << p;
      EXPECT_TRUE((found > 0).any(1).all().item<bool>());
    }
  }
}

}  // namespace
}  // namespace simile
