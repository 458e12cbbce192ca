// SPDX-License-Identifier: Apache-2.0
#include "simile/train/gradient_cache.h"

#include <torch/utils.h>

#include "simile/batch/packing.h"

namespace simile {

std::vector<BatchChunk> cut_chunks(const std::vector<std::vector<int32_t>>& texts,
                                   const std::vector<int32_t>& second,
                                   const std::vector<int32_t>& which, int64_t tokens,
                                   const EncoderShape& shape, const EncoderDropout& dropout) {
  std::vector<BatchChunk> chunks;
  std::vector<int32_t> members;
  int64_t held = 0;
  EncoderDropout next = dropout;
  const auto cut = [&] {
    chunks.push_back({pack_texts(texts, second, members), next});
    next.origin = origin_after(next.origin, shape, chunks.back().packed);
    members.clear();
    held = 0;
  };
  for (const int32_t text : which) {
    const auto length = static_cast<int64_t>(texts[static_cast<size_t>(text)].size());
    if (tokens > 0 && !members.empty() && held + length > tokens) cut();
    members.push_back(text);
    held += length;
  }
  if (!members.empty() || chunks.empty()) cut();
  return chunks;
}

torch::Tensor encode_without_graph(const std::vector<BatchChunk>& chunks,
                                   const EncodeChunk& encode) {
  torch::NoGradGuard guard;
  std::vector<torch::Tensor> vectors;
  for (const BatchChunk& chunk : chunks) vectors.push_back(encode(chunk));
  return torch::cat(vectors, 0);
}

void carry_gradient(const std::vector<BatchChunk>& chunks, const EncodeChunk& encode,
                    const torch::Tensor& gradient) {
  int64_t first = 0;
  for (const BatchChunk& chunk : chunks) {
    const int64_t texts = chunk.packed.size();
    encode(chunk).backward(gradient.narrow(0, first, texts).contiguous());
    first += texts;
  }
}

std::vector<int64_t> cut_shares(const std::vector<std::vector<int32_t>>& texts,
                                const std::vector<int32_t>& which, int64_t ranks) {
  const auto length = [&](int32_t text) {
    return static_cast<int64_t>(texts[static_cast<size_t>(text)].size());
  };
  int64_t total = 0;
  for (const int32_t text : which) total += length(text);
  std::vector<int64_t> bounds = {0};
  int64_t before = 0;  // tokens
  for (int64_t i = 0; i < static_cast<int64_t>(which.size()); ++i) {
    // A text goes to the share that its middle lies in.
    const int64_t own = length(which[static_cast<size_t>(i)]);
    while (static_cast<int64_t>(bounds.size()) < ranks &&
           (2 * before + own) * ranks >= 2 * static_cast<int64_t>(bounds.size()) * total) {
      bounds.push_back(i);
    }
    before += own;
  }
  bounds.resize(static_cast<size_t>(ranks) + 1, static_cast<int64_t>(which.size()));
  return bounds;
}

std::vector<BatchChunk> cut_share(const std::vector<std::vector<int32_t>>& texts,
                                  const std::vector<int32_t>& second,
                                  const std::vector<int32_t>& which, int64_t begin, int64_t end,
                                  int64_t tokens, const EncoderShape& shape,
                                  const EncoderDropout& dropout) {
  if (begin == end) return {};
  EncoderDropout own = dropout;
  const std::vector<int32_t> before(which.begin(), which.begin() + begin);
  own.origin = origin_after(dropout.origin, shape, pack_texts(texts, second, before));
  return cut_chunks(texts, second, {which.begin() + begin, which.begin() + end}, tokens, shape,
                    own);
}

}  // namespace simile
