// SPDX-License-Identifier: Apache-2.0
// A corpus of token id sequences as the start of a static table needs it: in how many sequences
// each token occurs, and the sequences themselves, as many as fit.
//
// A sequence (a sentence, a paragraph) is one document of the document frequencies. Tokens that are
// not `counted` (punctuation, special tokens) are left out of what is kept, as if they were not in
// the text. When more than max_tokens tokens are kept, every other sequence is dropped and from
// then on only every second, fourth, eighth ... is kept, so that what is kept stays spread over the
// whole corpus; document frequencies are of all sequences. The same calls of add() give the same
// corpus. Memory: 4 bytes a token kept (while it grows up to three times that), 8 a token of the
// vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simile {

class PieceCorpus {
 public:
  static constexpr int32_t kEnd = -1;  // stands before, between and behind the sequences kept

  // counted [V]: 1 for tokens to keep (find_word_pieces()).
  explicit PieceCorpus(std::vector<uint8_t> counted, int64_t max_tokens = 100000000);

  // One sequence. Errors (kInput): an id outside the vocabulary.
  void add(const std::vector<int32_t>& ids);

  int64_t vocabulary() const { return static_cast<int64_t>(counted_.size()); }
  int64_t sequences() const { return sequences_; }
  const std::vector<uint8_t>& counted() const { return counted_; }
  const std::vector<int64_t>& document_frequencies() const { return document_frequencies_; }  // [V]
  const std::vector<int32_t>& tokens() const { return tokens_; }

  // [V]: log((n + 1) / (df + 1)) of n sequences; of a token that never occurs log(n + 1).
  std::vector<float> idf() const;

 private:
  void halve();

  std::vector<uint8_t> counted_;
  size_t max_tokens_;
  std::vector<int32_t> tokens_;
  std::vector<int64_t> document_frequencies_;
  std::vector<int64_t> last_sequence_;  // in which each token occurred, from 1
  int64_t sequences_ = 0;
  int64_t every_ = 1;  // of which one is kept
};

// Multiplies row i of table [V, D] by idf[i] over the mean of idf, or by 0.02 where that is less,
// and by 0 where kept[i] is 0: how a static table starts, whatever its vectors.
void scale_rows(const std::vector<float>& idf, const std::vector<uint8_t>& kept, float* table,
                int64_t D);

}  // namespace simile
