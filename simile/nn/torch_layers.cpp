// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_layers.h"

#include <torch/types.h>
#include <torch/version.h>

#include <array>
#include <cmath>

#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

// Below every score, and finite: a row that sees nothing, of padding, must not become NaN.
constexpr double kHiddenScore = -1e30;

#if TORCH_VERSION_MAJOR >= 2
constexpr bool kHasOperator = true;

Tensor by_operator(const AttentionInput& input) {
  c10::optional<Tensor> added;
  if (input.shift.defined()) added = input.shift.unsqueeze(0).to(input.query.scalar_type());
  if (input.hidden.defined()) {
    const Tensor none = torch::zeros({}, input.query.options());
    added = (added ? *added : none).masked_fill(input.hidden, kHiddenScore);
  }
  if (added) {
    const auto n = input.query.sizes();
    added = added->expand({n[0], n[1], n[2], n[2]});
  }
  return at::scaled_dot_product_attention(input.query, input.key, input.value, added);
}
#else
constexpr bool kHasOperator = false;

Tensor by_operator(const AttentionInput&) { return {}; }
#endif

Tensor by_products(const AttentionInput& input) {
  const double root = std::sqrt(static_cast<double>(input.query.size(-1)));
  Tensor scores = (input.query / root).matmul(input.key.transpose(-2, -1));
  if (scores.scalar_type() == torch::kBFloat16) scores = scores.to(torch::kFloat);
  if (input.shift.defined()) scores = scores + input.shift;
  if (input.hidden.defined()) scores = scores.masked_fill(input.hidden, kHiddenScore);
  Tensor shares = torch::softmax(scores, -1);
  if (input.factors.defined()) shares = shares * input.factors;
  return shares.to(input.value.scalar_type()).matmul(input.value);
}

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

Tensor attention_contexts(const AttentionInput& input) {
  return kHasOperator && !input.factors.defined() ? by_operator(input) : by_products(input);
}

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
