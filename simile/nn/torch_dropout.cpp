// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_dropout.h"

#include <torch/types.h>

#include <array>

#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr int64_t kWord = 0xffffffff;

Tensor high_word(const Tensor& x) { return x.bitwise_right_shift(32).bitwise_and_(kWord); }

// The four words of blocks (number, site, last), each [...] of int64 below 2^32.
std::array<Tensor, 4> philox_words(const Tensor& numbers, uint32_t site, uint32_t last,
                                   uint64_t key) {
  constexpr int64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  std::array<Tensor, 4> c = {numbers.bitwise_and(kWord), high_word(numbers),
                             torch::full_like(numbers, static_cast<int64_t>(site)),
                             torch::full_like(numbers, static_cast<int64_t>(last))};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Tensor p0 = c[0] * kMultiplier0, p1 = c[2] * kMultiplier1;
    c[0] = high_word(p1).bitwise_xor_(c[1]).bitwise_xor_(static_cast<int64_t>(k0));
    c[2] = high_word(p0).bitwise_xor_(c[3]).bitwise_xor_(static_cast<int64_t>(k1));
    c[1] = p1.bitwise_and(kWord);
    c[3] = p0.bitwise_and(kWord);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

}  // namespace

Tensor dropout_bytes(const DropoutMask& mask, const Tensor& bytes, const Tensor& like) {
  const auto words = philox_words(bytes, mask.site(), 0, mask.key());
  std::vector<Tensor> halves;  // bit 2w from the low, bit 2w + 1 from the high half of word w
  for (const Tensor& word : words) {
    halves.push_back(word.bitwise_and(0xffff));
    halves.push_back(word.bitwise_right_shift(16));
  }
  const Tensor keep =
      torch::stack(halves, -1).flatten(-2) >= static_cast<int64_t>(mask.threshold());
  return keep.to(like.options()).mul_(mask.scale());
}

Tensor dropout_rows(const DropoutMask& mask, int64_t first_row, int64_t rows, int64_t width,
                    const Tensor& like) {
  const auto numbers = [&](int64_t begin, int64_t end) {
    return torch::arange(begin, end, like.options().dtype(torch::kInt64));
  };
  const Tensor bytes = (numbers(first_row, first_row + rows) * mask_bytes(width)).unsqueeze(1) +
                       numbers(0, (width + 7) / 8);
  return dropout_bytes(mask, bytes, like).narrow(1, 0, width);
}

Tensor dropout_heads(const DropoutMask& mask, const Tensor& sequences, int64_t heads,
                     const Tensor& like) {
  const Tensor number = torch::arange(heads, sequences.options());
  const auto first =
      philox_words(sequences.unsqueeze(1) * heads + number, mask.site(), 0, mask.key())[0];
  const Tensor keep = first.bitwise_and(0xffff) >= static_cast<int64_t>(mask.threshold());
  const Tensor survivor = philox_words(sequences, mask.site(), 1, mask.key())[0] % heads;
  const Tensor saved = keep.any(1, true).logical_not().logical_and(survivor.unsqueeze(1) == number);
  return keep.logical_or(saved).to(like.options()).mul_(mask.head_scale(heads));
}

}  // namespace simile
