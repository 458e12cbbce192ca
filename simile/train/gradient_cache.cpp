// SPDX-License-Identifier: Apache-2.0
#include "simile/train/gradient_cache.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "simile/batch/pack.h"

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

}  // namespace simile
