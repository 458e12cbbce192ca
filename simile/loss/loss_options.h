// SPDX-License-Identifier: Apache-2.0
// The recipe group `loss`: a name and the options of that loss alone. Without torch.
//
//   loss: {name: bsc, temperature: 0.05, normalize: l2}
//   loss: mse
//   loss: {name: sum, of: [{name: bsc, weight: 0.5}, pearson]}
//   loss: {name: matryoshka, dimensions: [256, 64], of: bsc}
//
// visit() names `name` first and then only the options of the loss it holds, so that an option of
// another loss is an unknown key. Also the needs of losses and the columns of the data, which are
// compared before the first step.
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct LossTerm;

struct LossOptions {
  std::string name = "bsc";
  std::vector<LossTerm> of;  // of the losses that are made of others: sum, matryoshka

  // The options of the loss `name`, T being their type (BscOptions, ...); by default until set.
  template <typename T>
  T& get() {
    if (T* options = std::any_cast<T>(&own_)) return *options;
    return own_.emplace<T>();
  }
  template <typename T>
  const T& get() const {
    static const auto defaults = std::make_unique<const T>();
    const T* options = std::any_cast<T>(&own_);
    return options != nullptr ? *options : *defaults;
  }

  void visit(OptionVisitor& v);

 private:
  std::any own_;
};

struct LossTerm : LossOptions {
  double weight = 1;

  void visit(OptionVisitor& v);
};

// Smoothness-inducing regularisation, whose symbols simile/loss/siar.h explains.
struct SiarOptions {
  double weight = 0.0;
  int64_t steps = 1;
  double noise = 1e-5;
  double step_size = 1e-3;
  double radius = 1e-5;
  std::string norm = "inf";
  std::string mode = "ball";
  double bregman = 0.0;
  double bregman_decay = 0.99;

  void visit(OptionVisitor& v);
};

// Trained parameters of a loss, as a checkpoint stores them: Loss::parameters(), in their order.
using LossState = std::vector<std::pair<std::string, std::vector<float>>>;

// "; MultipleNegativesRankingLoss is `loss: mnrl` here", for the longest name of a
// sentence-transformers loss that occurs in `text`, ignoring case; otherwise an empty text.
std::string hint_of_foreign_loss(const std::string& text);

enum class Requirement { kIgnored, kOptional, kRequired };

enum class TextNeed { kPairs, kSingles, kEither };

// The numbers that a loss takes from the objective's head: none; one number per pair (or text)
// instead of the cosine, if there is a head or always; one number per class.
enum class HeadNeed { kNone, kNumberIfGiven, kNumber, kClasses };

// The things that a loss compares. A batch with fewer than two of them gives no gradient.
enum class Compares {
  kOwnTexts,      // those of each example
  kTeachers,      // each text with a teacher's vector of it
  kOtherTexts,    // texts of other examples, or explicit negatives
  kOtherTargets,  // pairs of another target
};

struct LossNeeds {
  TextNeed texts = TextNeed::kPairs;  // a loss that reads a head does not look at the texts
  Requirement target = Requirement::kIgnored;
  Requirement negatives = Requirement::kIgnored;
  Requirement classes = Requirement::kIgnored;
  Requirement teachers = Requirement::kIgnored;
  HeadNeed head = HeadNeed::kNone;
  bool unit_target = false;                 // targets must lie in [0, 1]
  bool cross_logits = false;                // the head compares every left with every right
  Compares compares = Compares::kOwnTexts;  // of a loss made of others: not known
  bool keeps_apart = false;  // pushes apart texts that do not belong together, with some options
  bool directed = false;     // asks of every left which right is its own, and never the reverse
  bool equal_sides = false;  // both sides of a pair may be the same text
  bool duplicates_are_negatives = false;  // and no option (LossParts::duplicates) says otherwise
};

// The needs of two losses computed on the same batch.
LossNeeds operator|(const LossNeeds& a, const LossNeeds& b);

// The columns that a data set, as the recipe maps it, offers a loss.
struct LossData {
  int64_t negatives = 0;  // columns of explicit negatives
  bool has_target = false;
  double target_minimum = 1.0;
  double target_maximum = 1.0;
  bool has_right = true;             // pairs; otherwise single texts
  int64_t classes = 0;               // 0: the texts have none
  int64_t teachers = 0;              // frozen models whose vectors are there
  int64_t head_outputs = 0;          // numbers the head gives; 0: no head
  bool head_is_probability = false;  // its number is the logit of one
  std::string file = {};             // that messages name; empty: none
  double score_offset = 0;           // taken from the scores of the file before ...
  double score_scale = 1;            // ... they were divided by this
};

// "triples (left, right, negative) with targets from 0 to 1"
std::string describe(const LossData& data);

// "pairs, a score, classes optional": for the table of losses.
std::string describe(const LossNeeds& needs);

// Compares a loss with the data before training. Errors (kRecipe): the loss lacks something (pairs,
// targets, negatives, classes, a head, teachers, targets in [0, 1], a target above its threshold);
// the message says what the loss needs, what the data has, and which losses would fit. Returns
// warnings: data the loss does not look at.
std::vector<std::string> check_loss_data(const LossOptions& options, const LossData& data);

// Computes the loss of a made-up batch of two, such as the data would give, to find errors before
// training. `hidden` is the size of embeddings, `teachers` those of the teachers' vectors. Errors:
// as the loss's constructor and function.
void try_loss(const LossOptions& options, const LossData& data, int64_t hidden,
              const std::vector<int64_t>& teachers);

// Warnings about options that rarely belong together: a temperature near 0.1 with a normalisation
// by coordinate, or of 1 and more with l2.
std::vector<std::string> loss_option_warnings(const LossOptions& options);

}  // namespace simile
