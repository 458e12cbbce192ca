// SPDX-License-Identifier: Apache-2.0
// What a static table starts from: which tokens count (find_word_pieces()), a corpus of token ids
// (PieceCorpus), and vectors made from that corpus alone (ppmi_start()): tokens that occur near the
// same others begin near each other.
//
// Over the sequences kept of a corpus, two places of a sequence that are d <=
// window apart are counted with the weight w_d (flat: 1, linear: window + 1 - d):
//
//   c_ij    the sum of w_d over all places of i and of j (c_ij = c_ji)
//   n_i     the sum over j of c_ij, i itself included
//   M_ij    max(0, log(c_ij / n_i) - log(n_j^s / sum over k of n_k^s) - shift)
//
// with s = smoothing, for i != j and c_ij >= minimum_count, else 0: positive pointwise mutual
// information, with the smoothing of the context's distribution (0.75 there) and the shift (log of
// the number of negatives) of Levy, Goldberg and Dagan, "Improving Distributional Similarity with
// Lessons Learned from Word Embeddings", TACL 2015. With the truncated singular value decomposition
// M = U S V^T, row i of the result is
//
//   u_i     row i of U S^power, divided by its length; 0 of a token that does not occur
//   e_i     u_i + noise / sqrt(D) * N(0, 1), divided by its length
//   E_i     e_i * max(0.02, idf_i / mean of idf), 0 where `counted` is 0 (scale_rows())
//
// Results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/text/tokenizer.h"

namespace simile {

// Which tokens of a vocabulary stand for words and which for what is between them: in a mean of
// token vectors, punctuation only blurs.
//
// 1 for each token whose text begins with a letter, a digit (categories L and N) or a mark (M), 0
// for the others and for special tokens. Its text is the token without "##", U+2581 or U+0120 before
// it; of a byte-level vocabulary, which has a token for each of the 256 bytes, the bytes it stands
// for, without white space before them. Bytes that begin within a character count as a letter.
std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer);

// A corpus of token id sequences (sentences, paragraphs): in how many each token occurs, and the
// sequences themselves, as many as fit.
//
// Tokens that are not `counted` are left out of what is kept, as if they were not in the text. When
// more than max_tokens tokens are kept, every other sequence is dropped and from then on only every
// second, fourth, eighth ... is kept, spread over the whole corpus; document frequencies are of all
// sequences. The same calls of add() give the same corpus. Memory: 4 bytes a token kept (while it
// grows up to three times that), 8 a token of the vocabulary.
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

struct PpmiOptions {
  int64_t window = 20;
  std::string weighting = "flat";
  double smoothing = 1;
  double shift = 0;
  double minimum_count = 3;
  double power = 0.5;
  double noise = 0.3;
  int64_t iterations = 2;
  int64_t oversample = 20;
  int64_t max_tokens = 100000000;  // for PieceCorpus
  int64_t seed = 1;                // of its start and of the noise; in a recipe that of the run

  void visit(OptionVisitor& v);
};

// E [V, D]. Memory beside the corpus: 4 bytes a token kept, 12 for each pair in M, and about 4 V D
// floats. Progress: tasks "count" and "factorise".
// Errors (kInput): fewer than D tokens of `counted` occur in the corpus.
Matrix<float> ppmi_start(const PieceCorpus& corpus, int64_t D, const PpmiOptions& options,
                         EventSink& events);

// e_i [V, D] with u_i = 0, E scaled as above: the random start.
Matrix<float> random_start(const PieceCorpus& corpus, int64_t D, uint64_t seed);

}  // namespace simile
