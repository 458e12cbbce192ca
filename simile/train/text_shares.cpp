// SPDX-License-Identifier: Apache-2.0
#include "simile/train/text_shares.h"

#include "simile/batch/pack.h"

namespace simile {

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
