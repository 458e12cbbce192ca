// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/matryoshka.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "simile/core/error.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/normalize.h"

namespace simile {
namespace {

template <typename Number>
Number parse(const std::string& text, const char* key, const char* expected) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  SIMILE_CHECK(parsed.ec == std::errc() && parsed.ptr == end, ErrorKind::kRecipe,
               fmt::format("loss matryoshka: `{}` expects {}, found '{}'", key, expected, text));
  return number;
}

torch::Tensor prefix(const torch::Tensor& x, int64_t dimension) {
  if (!x.defined()) return x;
  SIMILE_CHECK(dimension >= 1 && dimension <= x.size(1), ErrorKind::kRecipe,
               fmt::format("loss matryoshka: `dimensions` has {}, the embedding {} numbers; give "
                           "dimensions from 1 to {}",
                           dimension, x.size(1), x.size(1)));
  return normalize_embeddings(x.narrow(1, 0, dimension), "l2");
}

LossInput cut(const LossInput& input, int64_t dimension) {
  LossInput part = input;
  part.logits = part.cross_logits = torch::Tensor();  // a head sees whole embeddings
  part.left = prefix(input.left, dimension);
  part.right = prefix(input.right, dimension);
  for (auto* list : {&part.negatives, &part.left_teachers, &part.right_teachers}) {
    for (torch::Tensor& x : *list) x = prefix(x, dimension);
  }
  return part;
}

}  // namespace

void MatryoshkaOptions::visit(OptionVisitor& v) {
  v.field("dimensions", dimensions, {"lengths of the prefixes, such as [256, 128, 64]"});
  v.field("weights", weights, {"weight of each prefix; empty: all 1"});
}

torch::Tensor matryoshka_loss(const LossInput& input, const MatryoshkaOptions& options,
                              const std::function<torch::Tensor(const LossInput&)>& loss) {
  check_loss_input(input);
  SIMILE_CHECK(!options.dimensions.empty(), ErrorKind::kRecipe,
               "loss matryoshka has no `dimensions`; give some, such as [256, 128, 64]");
  SIMILE_CHECK(options.weights.empty() || options.weights.size() == options.dimensions.size(),
               ErrorKind::kRecipe,
               fmt::format("loss matryoshka: {} weights for {} dimensions; give one for each",
                           options.weights.size(), options.dimensions.size()));
  torch::Tensor sum;
  for (size_t i = 0; i < options.dimensions.size(); ++i) {
    const auto dimension = parse<int64_t>(options.dimensions[i], "dimensions", "whole numbers");
    const double weight =
        options.weights.empty() ? 1.0 : parse<double>(options.weights[i], "weights", "numbers");
    SIMILE_CHECK(std::isfinite(weight), ErrorKind::kRecipe,
                 "loss matryoshka: `weights` should be finite numbers");
    const torch::Tensor part = weight * loss(cut(input, dimension));
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

namespace {

LossNeeds matryoshka_needs(const LossOptions& options) {
  LossNeeds needs = needs_of_terms(options);
  SIMILE_CHECK(needs.head == HeadNeed::kNone || needs.head == HeadNeed::kNumberIfGiven,
               ErrorKind::kRecipe,
               "loss 'matryoshka' cuts embeddings, and one of its `of` reads a head, which sees "
               "them whole; choose losses on embeddings");
  for (const LossTerm& term : options.of) {
    SIMILE_CHECK(
        find_loss(term.name).parts(term).projection_learning_rate == nullptr, ErrorKind::kRecipe,
        fmt::format("loss 'matryoshka' cuts embeddings, and '{}' compares them whole with a "
                    "teacher's; put the two side by side in a sum",
                    term.name));
  }
  needs.head = HeadNeed::kNone;
  return needs;
}

}  // namespace

LossRow matryoshka_row() {
  return {
      "matryoshka",
      "Σ_d w_d · Σ L(x_1..d / |x_1..d|) over the losses L in `of`",
      "Kusupati et al., Matryoshka Representation Learning, 2022",
      "vectors that may be cut short to save memory; name the whole length among the dimensions",
      "{name: matryoshka, dimensions: [8, 4], of: bsc}",
      matryoshka_needs,
      [](LossOptions& o, OptionVisitor& v) {
        o.get<MatryoshkaOptions>().visit(v);
        visit_terms(o, v);
      },
      [](const LossOptions& o, const LossInput& in, const LossContext& c) {
        return matryoshka_loss(in, o.get<MatryoshkaOptions>(), c.terms);
      },
      score_output,
      no_parts};
}

}  // namespace simile
