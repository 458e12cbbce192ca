// SPDX-License-Identifier: Apache-2.0
// Dropout masks that are a pure function of (key, step, site, place): the same on every machine,
// for any number of threads and any way the work is cut.
//
// A decision takes 16 random bits and keeps a number if they are at least round(p * 65536). Kept
// numbers are multiplied by 1 / (1 - p'), p' being the exact probability round(p * 65536) / 65536.
// So each factor has expectation 1, and dropout changes no sum on average.
//
// DropHead draws so for each of n heads of a layer in a sequence. Were all to fall, one, drawn
// evenly, survives; so a head survives with probability s = 1 - p' + p'^n / n, and the factor of
// those that do is 1 / s in every draw (1 / (1 - p') without that rule), with expectation 1.
//
// Byte b of a site's mask holds 8 decisions, from Philox4x32-10 block (b, site) (Salmon et al.
// 2011) under a key made of key and step: bits 2w and 2w + 1 from the low and high half of word w.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct MaskStream;

// Where a part of a batch begins in the whole: its masks are then those that the whole batch would
// have there, so that a batch may be encoded in parts (gradient caching).
struct DropoutOrigin {
  int64_t token = 0;
  int64_t attention_byte = 0;  // of a layer's attention masks
  int64_t sequence = 0;
};

// Where the part after `part` begins.
DropoutOrigin origin_after(const DropoutOrigin& origin, const EncoderShape& shape,
                           const PackedBatch& part);

struct EncoderDropout {
  float hidden = 0;  // on embeddings, attention outputs and feed-forward outputs (EncoderVariant)
  float attention = 0;  // on attention probabilities
  float head = 0;     // DropHead (Zhou et al. 2020): a head of a layer is zero for a whole sequence
  uint64_t key = 0;   // of the random stream, stream_key(seed, name)
  uint64_t step = 0;  // other masks each step
  DropoutOrigin origin;
  float embedding = -1;  // on embeddings alone; below 0: as hidden
  float attended = -1;   // on attention outputs alone; below 0: as hidden
};

// Where in the encoder a mask applies. Layers count from 0.
enum class DropoutPlace : uint32_t {
  kEmbedding,
  kAttentionOutput,
  kOutput,
  kAttention,
  kHead,
  kInner  // before the feed-forward's second product
};

class DropoutMask {
 public:
  // Errors: kRecipe for a probability outside [0, 1).
  DropoutMask(const EncoderDropout& dropout, DropoutPlace place, int64_t layer);

  bool active() const { return threshold_ > 0; }
  float scale() const { return scale_; }  // of what is kept; of heads see fill_heads

  // Bytes first .. first + bytes of the mask. Hidden masks have mask_bytes(width) bytes a token (H,
  // embeddings E, kInner I), tokens in the order of the batch; attention masks, sequence by
  // sequence, mask_bytes(length) bytes for each head and query token.
  void fill(int64_t first, int64_t bytes, uint8_t* mask) const;

  // The same bytes from `first` on, for code that computes them elsewhere.
  MaskStream stream(int64_t first = 0) const;

  // kHead: the factors on the heads of sequence `index` of the batch, 0 or 1 / s, the same for all
  // that survive; at least one does. factors [heads].
  void fill_heads(int64_t index, int64_t heads, float* factors) const;

  float head_scale(int64_t heads) const;  // the 1 / s of fill_heads()

 private:
  uint64_t key_;
  uint32_t site_;
  uint32_t threshold_;
  float scale_;
};

}  // namespace simile
