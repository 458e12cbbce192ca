// SPDX-License-Identifier: Apache-2.0
// How much each token of a sequence t_0 ... t_n-1 counts in a static encoder's mean:
//
//   w_k = (o_k^a - (o_k - 1)^a) / (1 + k / p)
//
// where t_k is the o_k-th of its token, a is the saturation and p the half position. With a below 1
// a token that comes o times counts o^a times, as term frequencies are damped in retrieval (BM25's
// k1; Robertson & Zaragoza, 2009). With p above 0 the token at position p counts half of the first:
// what a text is about stands at its beginning. a = 1 and p = 0 give every token the same weight.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/packed.h"

namespace simile {

class TokenWeights {
 public:
  // Of the shape of an averaged encoder.
  explicit TokenWeights(const EncoderShape& shape);

  // shares[k] = w_k / sum w of the tokens `ids` [length], each below the vocabulary.
  void operator()(const int32_t* ids, int64_t length, float* shares) const;

  // The shares of all tokens [tokens] of a batch, which must fit (check_batch()). Threads share the
  // sequences.
  std::vector<float> of_batch(const PackedBatch& batch) const;

 private:
  float gain(int32_t occurrence) const;

  EncoderShape shape_;
  std::vector<float> gains_;  // of the first occurrences
};

}  // namespace simile
