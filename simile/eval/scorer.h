// SPDX-License-Identifier: Apache-2.0
// The interface of a model to an evaluation: a number for a pair of texts, the best documents for a
// query, and the output of its heads, if it has any.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

class SharedTexts;  // simile/eval/shared_texts.h

struct RankedDocument {
  int64_t document = 0;  // position in the corpus
  double score = 0;      // higher is better
};
using Ranking = std::vector<RankedDocument>;  // from best to worst

// The `depth` best of these (0: all), from best to worst; a tie goes to the lower position.
Ranking best_documents(Ranking found, int64_t depth);

// All scores of queries with a corpus, a few queries at a time: a scorer ranks by them, and a
// hybrid adds up those of two scorers. A score depends only on its query and the corpus, not on the
// other queries of the call. Several threads may call it at once.
class CorpusScores {
 public:
  virtual ~CorpusScores() = default;

  virtual int64_t documents() const = 0;

  // scores[i * documents() + d] is that of query `first` + i, i < count, with document d.
  virtual void score(int64_t first, int64_t count, double* scores) const = 0;

  // scores[i] is that of the query with the document chosen[i].
  virtual void score_some(int64_t query, const std::vector<int64_t>& chosen,
                          double* scores) const = 0;

  // A search of the corpus finds the documents with a higher score than this.
  virtual double not_found() const { return -std::numeric_limits<double>::infinity(); }
};

// Queries first .. first + count - 1 of those that scores were made for.
struct QueryRange {
  int64_t first = 0, count = 0;
};

// Rankings of the queries in the range, as Scorer::rank() returns them; `candidates` begins with
// those of the first. Threads over queries; holds up to 32 MiB of scores a thread, or one query's.
std::vector<Ranking> rank_by_scores(const CorpusScores& scores, QueryRange range,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth);

// The output of a head for n texts or pairs of texts, and how tasks read it. Logits z [n, k]:
//
//   kind         k   class probabilities        score of a pair
//   classes      k   softmax(z)                 probability of the class at place 1; only for k = 2
//   probability  1   1 - sigmoid(z), sigmoid(z) sigmoid(z)
//   score        1   none                       z
//
// Errors: ErrorKind::kRecipe for a head that does not give the requested output; ErrorKind::kFailed
// for logits of another shape than above or that are not finite.
struct HeadOutput {
  std::string kind;
  std::vector<std::string> class_names;  // of classes: k; of probability: 2, or none for 0 and 1
  Matrix<float> logits;                  // [n, k]
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::string name() const = 0;

  // One score per pair; left and right have the same size.
  virtual std::vector<double> score_pairs(const std::vector<std::string>& left,
                                          const std::vector<std::string>& right) = 0;

  // Per query the `depth` best documents (0: all), or fewer if the scorer finds no more; equal
  // scores are ordered by position. `candidates`: per query the positions to rank, which are all
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

  // From now on caches the vectors of these texts, so that each is embedded once, or once for each
  // of its prompts. Only the first call counts. A scorer without vectors does nothing, which is one
  // that does not override this.
  virtual void embed_once(const std::shared_ptr<const SharedTexts>& /*texts*/) {}

  // Facts that a reader of the scores should know, for Report::notes.
  virtual std::vector<std::string> notes() const { return {}; }

  // The output of the head called `head` for pairs, or for single texts if `right` is empty. An
  // empty name means the model's only head. Errors: ErrorKind::kUsage for a model without heads, as
  // scorers are by default, for several heads and no name, and for an unknown name.
  virtual HeadOutput run_head(const std::string& head, const std::vector<std::string>& left,
                              const std::vector<std::string>& right);
};

// The classes that class_probabilities() has columns for.
std::vector<std::string> head_classes(const HeadOutput& output);

// [examples, classes]; rows sum to 1.
Matrix<double> class_probabilities(const HeadOutput& output, int64_t examples);

// [examples]
std::vector<double> head_scores(const HeadOutput& output, int64_t examples);

}  // namespace simile
