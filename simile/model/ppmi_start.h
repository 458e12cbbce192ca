// SPDX-License-Identifier: Apache-2.0
// Vectors for the tokens of a static encoder before it is trained, from a text corpus alone: tokens
// that occur near the same others begin near each other.
//
// Over the sequences kept of a corpus (piece_corpus.h), two places of a sequence that are d <=
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

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/model/piece_corpus.h"

namespace simile {

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
