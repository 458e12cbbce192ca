// SPDX-License-Identifier: Apache-2.0
// From the hidden states of a packed batch to one vector per sequence.
//
// With h_1 ... h_n the hidden states of a sequence, special tokens included, the modes are those of
// pooling_modes() (simile/model/model_settings.h); several are put one behind the other. Where
// the first p tokens are left out (a prompt's), the others keep their place t as weight, cls takes
// the first that is left and n counts those that are left. A sequence without tokens left gives
// zeros. Sums run over tokens in order, so a vector depends on its own tokens alone.
//
// No modes at all is the pooling of an encoder that gives one state a sequence by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// hidden [tokens, H], offsets [B + 1] (encoder.h) -> pooled [B, modes * H], without the first
// `left_out` tokens of each sequence.
void pool_states(const std::vector<PoolingMode>& modes, const float* hidden,
                 const std::vector<int32_t>& offsets, int64_t H, float* pooled,
                 int64_t left_out = 0);

// Divides each row of [B, D] by its L2 norm. A row of zeros stays, and so does one whose length is
// 1 but for rounding: a second call changes no bit.
void normalise_rows(float* rows, int64_t B, int64_t D);

// How much each token of a sequence t_0 ... t_n-1 counts in a static encoder's mean:
//
//   w_k = (o_k^a - (o_k - 1)^a) / (1 + k / p)
//
// where t_k is the o_k-th of its token, a is the saturation and p the half position. With a below 1
// a token that comes o times counts o^a times, as term frequencies are damped in retrieval (BM25's
// k1; Robertson & Zaragoza, 2009). With p above 0 the token at position p counts half of the first:
// what a text is about stands at its beginning. a = 1 and p = 0 give every token the same weight.
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
