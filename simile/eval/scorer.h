// SPDX-License-Identifier: Apache-2.0
// What an evaluation needs of a model: a number for a pair of texts, the best documents for a
// query, and what its heads say, where it has any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/eval/corpus_scores.h"
#include "simile/eval/head_output.h"

namespace simile {

class SharedTexts;  // simile/eval/shared_texts.h

class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::string name() const = 0;

  // One score per pair; left and right have the same size.
  virtual std::vector<double> score_pairs(const std::vector<std::string>& left,
                                          const std::vector<std::string>& right) = 0;

  // Per query the `depth` best documents (0: all), or fewer where the scorer finds no more; equal
  // scores stand in order of position. `candidates`: per query the positions to rank, which are all
  // scored, or empty to search the whole corpus.
  virtual std::vector<Ranking> rank(const std::vector<std::string>& queries,
                                    const std::vector<std::string>& corpus,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth);

  // The scores that rank() ranks by, which it does unless it is overridden. Errors:
  // ErrorKind::kUsage for a scorer that does not override this.
  virtual std::unique_ptr<CorpusScores> score_corpus(const std::vector<std::string>& queries,
                                                     const std::vector<std::string>& corpus);

  // The vectors that the scores compare, [texts, D], as they come for texts of pairs. Errors:
  // ErrorKind::kUsage for a scorer without vectors, which is one that does not override this.
  virtual Matrix<float> embed(const std::vector<std::string>& texts);

  // From now on keeps the vectors of these texts, each of which is then embedded once, or once for
  // each prompt that stands before it. A scorer without vectors does nothing, which is one that
  // does not override this.
  virtual void embed_once(const std::shared_ptr<const SharedTexts>& /*texts*/) {}

  // What a reader of the scores should know of them, for Report::notes.
  virtual std::vector<std::string> notes() const { return {}; }

  // What the head called `head` says about pairs, or about single texts when `right` is empty. An
  // empty name is the only head there is. Errors: ErrorKind::kUsage for a model without heads,
  // which is what a scorer is that does not say otherwise, for several heads and no name, and for
  // a name that none of them has.
  virtual HeadOutput run_head(const std::string& head, const std::vector<std::string>& left,
                              const std::vector<std::string>& right);
};

}  // namespace simile
