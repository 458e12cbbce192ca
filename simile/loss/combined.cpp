// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/combined.h"

#include <algorithm>

#include "simile/core/check.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/graded.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

Tensor prefix(const Tensor& x, int64_t dimension) {
  if (!x.defined()) return x;
  SIMILE_CHECK(dimension >= 1 && dimension <= x.size(1), ErrorKind::kRecipe,
               "loss matryoshka: `dimensions` has {}, the embedding {} numbers; give 1 to {}",
               dimension, x.size(1), x.size(1));
  return normalize_embeddings(x.narrow(1, 0, dimension), "l2");
}

LossInput cut(const LossInput& input, int64_t dimension) {
  LossInput part = input;
  part.logits = part.cross_logits = Tensor();  // a head sees whole embeddings
  part.left = prefix(input.left, dimension);
  part.right = prefix(input.right, dimension);
  for (auto* list : {&part.negatives, &part.left_teachers, &part.right_teachers}) {
    for (Tensor& x : *list) x = prefix(x, dimension);
  }
  return part;
}

LossNeeds matryoshka_needs(const LossOptions& options) {
  LossNeeds needs = needs_of_terms(options);
  SIMILE_CHECK(needs.head == HeadNeed::kNone || needs.head == HeadNeed::kNumberIfGiven,
               ErrorKind::kRecipe,
               "loss 'matryoshka' cuts embeddings, and one of its `of` reads a head, which sees "
               "them whole; choose losses on embeddings");
  for (const LossTerm& term : options.of) {
    SIMILE_CHECK(find_loss(term.name).parts(term).projection_learning_rate == nullptr,
                 ErrorKind::kRecipe,
                 "loss 'matryoshka' cuts embeddings, and '{}' compares them whole with a "
                 "teacher's; put the two side by side in a sum",
                 term.name);
  }
  needs.head = HeadNeed::kNone;
  return needs;
}

}  // namespace

Tensor combo_loss(const LossInput& input, const ComboOptions& options, const Tensor& scale) {
  if (options.mu == 0.0) return mse_loss(input);
  const Tensor bsc = bsc_loss(input, options.bsc, scale);
  if (options.mu == 1.0) return bsc;
  return options.mu * bsc + (1.0 - options.mu) * mse_loss(input);
}

void MatryoshkaOptions::visit(OptionVisitor& v) {
  v.field("dimensions", dimensions, {"lengths of the prefixes, such as [256, 128, 64]", "", 1});
  v.field("weights", weights, {"weight of each prefix; empty: all 1", "", -1e12, 1e12});
}

Tensor matryoshka_loss(const LossInput& input, const MatryoshkaOptions& options,
                       const std::function<Tensor(const LossInput&)>& loss) {
  check_loss_input(input);
  SIMILE_CHECK(!options.dimensions.empty(), ErrorKind::kRecipe,
               "loss matryoshka has no `dimensions`; give some, such as [256, 128, 64]");
  SIMILE_CHECK(options.weights.empty() || options.weights.size() == options.dimensions.size(),
               ErrorKind::kRecipe,
               "loss matryoshka: {} weights for {} dimensions; give one for each",
               options.weights.size(), options.dimensions.size());
  Tensor sum;
  for (size_t i = 0; i < options.dimensions.size(); ++i) {
    const double weight = options.weights.empty() ? 1.0 : options.weights[i];
    const Tensor part = weight * loss(cut(input, options.dimensions[i]));
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Tensor global_orthogonal_loss(const LossInput& input) {
  check_pair_input(input);
  const int64_t m = input.left.size(0), size = input.left.size(1);
  const Tensor cosines = inner_products(normalize_embeddings(input.left, "l2"),
                                        normalize_embeddings(input.right, "l2"));
  const Tensor own = torch::eye(m, cosines.options()).to(torch::kBool);
  const Tensor others = cosines.masked_fill(own, 0.0);
  const double count = static_cast<double>(std::max<int64_t>(1, m * (m - 1)));
  // Row by row: a sum over all cells at once would depend on the number of threads.
  const Tensor first = others.sum(1).sum() / count;
  const Tensor second = others.square().sum(1).sum() / count;
  return first.square() + (second - 1.0 / static_cast<double>(size)).relu();
}

std::vector<LossRow> combined_rows() {
  return {
      {"sum", "Σ w · L over the losses L in `of`, on the same embeddings",
       "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
       "several aims at once, such as bsc with pearson (section 7); every text is encoded once",
       "{name: sum, of: [{name: bsc, weight: 0.5}, mse]}", needs_of_terms, visit_terms,
       [](const LossOptions&, const LossInput& in, const LossContext& c) { return c.terms(in); },
       score_output, no_parts},
      {"combo", "μ · bsc + (1 - μ) · mse",
       "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
       "graded or 0/1 pairs, when both the order of candidates and the value of the score matter",
       "{name: combo, mu: 0.1, temperature: 0.1}",
       [](const LossOptions& o) {
         LossNeeds needs = pairs(kRequired, kOptional, true);
         const ComboOptions& own = o.get<ComboOptions>();
         needs.classes = batch_pairs(own.bsc.same_class).classes;
         needs.compares = own.mu == 1 ? Compares::kOtherTexts : Compares::kOwnTexts;
         needs.keeps_apart = true;
         return needs;
       },
       visit_own<ComboOptions>,
       [](const LossOptions& o, const LossInput& in, const LossContext& c) {
         return combo_loss(in, o.get<ComboOptions>(), c.scale);
       },
       bsc_output<ComboOptions>, bsc_parts<ComboOptions>},
      {"matryoshka", "Σ_d w_d · Σ L(x_1..d / |x_1..d|) over the losses L in `of`",
       "Kusupati et al., Matryoshka Representation Learning, 2022",
       "vectors that may be cut short to save memory; name the whole length among the dimensions",
       "{name: matryoshka, dimensions: [8, 4], of: bsc}", matryoshka_needs,
       [](LossOptions& o, OptionVisitor& v) {
         o.get<MatryoshkaOptions>().visit(v);
         visit_terms(o, v);
       },
       [](const LossOptions& o, const LossInput& in, const LossContext& c) {
         return matryoshka_loss(in, o.get<MatryoshkaOptions>(), c.terms);
       },
       score_output, no_parts},
      {"global_orthogonal",
       "(mean of cos(u_i, v_j))² + relu(mean of cos(u_i, v_j)² - 1/D), over i ≠ j",
       "Zhang et al., Learning Spread-out Local Feature Descriptors, 2017",
       "a part of a sum beside a loss that brings pairs together, when all cosines are high",
       "global_orthogonal", [](const LossOptions&) { return batch_pairs(kIgnored, kIgnored); },
       visit_nothing, compute_plain<global_orthogonal_loss>, score_output, no_parts}};
}

}  // namespace simile
