// SPDX-License-Identifier: Apache-2.0
// An encoder as everything that only needs its results sees it: a packed batch in, hidden states
// out: one for each token, or, of an encoder that averages by itself, one for each sequence.
//
// Contract of every implementation:
//   - A hidden state depends on its sequence only: the same bits alone, in any batch, and
//     for any number of threads. Two implementations, or one on two processors, may differ in bits.
//   - `hidden` [states, H] is in the caller's memory, whole when the call returns, in the order of
//     the batch's tokens or sequences.
//   - Calls may run in several threads at once; one call uses up to simile::thread_count().
//   - The weights do not change while it lives: who trains makes a new one to look at new weights.
//   - Errors: kInput for a batch that does not fit: ids outside the vocabulary, type ids outside
//     their table, sequences longer than longest_sequence(), offsets that do not rise from 0 to the
//     tokens. `hidden` then holds nothing.
//
// EncoderForward (a transformer on the CPU) and StaticEncoder (an average of rows of a table)
// implement it, and other arithmetic, on a device.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

// A batch of token sequences as one run of tokens with offsets: never a padded rectangle.
struct PackedBatch {
  std::vector<int32_t> ids;       // [tokens]
  std::vector<int32_t> type_ids;  // [tokens], 0 or 1; empty means all 0
  std::vector<int32_t> offsets;   // [size + 1]; sequence i is tokens offsets[i] .. offsets[i+1]

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t size() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
};

class Encoder {
 public:
  virtual ~Encoder() = default;

  virtual int64_t hidden_size() const = 0;       // H
  virtual int64_t vocabulary() const = 0;        // ids are below it
  virtual int64_t longest_sequence() const = 0;  // tokens
  // Rows of `hidden`: the batch's tokens, or its sequences.
  virtual int64_t states(const PackedBatch& batch) const { return batch.tokens(); }

  virtual void operator()(const PackedBatch& batch, float* hidden) const = 0;
};

}  // namespace simile
