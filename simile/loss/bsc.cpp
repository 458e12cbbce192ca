// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/bsc.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "simile/core/check.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

bool has_repeats(const Tensor& group) {
  return std::get<0>(torch::_unique(group)).size(0) < group.size(0);
}

// Whether texts that occur twice in the batch are known and must not count as negatives.
bool treats_repeats(const LossInput& input, const std::string& duplicates) {
  if (duplicates == "negatives") return false;
  const bool is_known = input.left_group.defined() && input.right_group.defined();
  SIMILE_CHECK(is_known || duplicates == "mask", ErrorKind::kInput,
               "loss: duplicates: " + duplicates +
                   " needs the ids of equal texts of both sides, and the batch has none; give them "
                   "or choose duplicates: negatives");
  return is_known && (has_repeats(input.left_group) || has_repeats(input.right_group));
}

// Whether texts of the same class in the batch must not count as negatives.
bool treats_classes(const LossInput& input, const std::string& same_class) {
  if (same_class == "negatives") return false;
  SIMILE_CHECK(input.classes.defined(), ErrorKind::kInput,
               "loss: same_class: mask needs the class of each pair, and the batch has none; give "
               "data of `format: classes`, or choose same_class: negatives");
  return has_repeats(input.classes);
}

// Cells [m, m] that are left out of denominators; not defined: none.
Tensor left_out_cells(const LossInput& input, const BscOptions& options, const Tensor& positives) {
  Tensor cells;
  const bool masks_positives = positives.defined() && options.duplicates == "mask";
  if (masks_positives) cells = positives;
  if (treats_classes(input, options.same_class)) {
    Tensor same = input.classes.unsqueeze(1) == input.classes.unsqueeze(0);
    if (positives.defined() && !masks_positives) same = same & ~positives;
    cells = cells.defined() ? cells | same : same;
  }
  return cells.defined() ? cells & ~torch::eye(cells.size(0), cells.options()) : cells;
}

// Per row of `scores` [m, columns >= m]: log-softmax of its positive cells, [m]. `positives` are
// those that count beside (i, i); not defined: none.
Tensor row_terms(const Tensor& all_scores, const Tensor& positives, Tensor left_out) {
  const int64_t m = all_scores.size(0);
  Tensor scores = all_scores;
  if (left_out.defined()) {
    if (scores.size(1) > m) {
      left_out = torch::cat({left_out, left_out.new_zeros({m, scores.size(1) - m})}, 1);
    }
    constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
    scores = scores.masked_fill(left_out, kMinusInfinity);
  }
  if (!positives.defined()) return scores.log_softmax(1).diagonal();
  const Tensor cells = scores.log_softmax(1).narrow(1, 0, m);
  const Tensor sums = torch::where(positives, cells, torch::zeros_like(cells)).sum(1);
  return sums / positives.sum(1).clamp_min(1);
}

// The term added to scores [m, m + n·m]: log α where a pair meets its own explicit negatives.
Tensor own_negative_shift(const Tensor& scores, double weight) {
  const int64_t m = scores.size(0);
  const Tensor own = torch::eye(m, scores.options()) * std::log(weight);
  std::vector<Tensor> blocks = {torch::zeros({m, m}, scores.options())};
  blocks.insert(blocks.end(), static_cast<size_t>(scores.size(1) / m - 1), own);
  return torch::cat(blocks, 1);
}

Tensor positive_pairs(const LossInput& input, const BscOptions& options) {
  return target_or_ones(input) > options.threshold;
}

// L of the terms of rows and columns, [m]; not defined: of the other alone.
Tensor loss_of_terms(const Tensor& rows, const Tensor& columns, const LossInput& input,
                     const BscOptions& options) {
  const Tensor is_positive = positive_pairs(input, options);
  Tensor terms = rows.defined() ? rows : columns;
  if (rows.defined() && columns.defined()) terms = (rows + columns) / 2;
  const Tensor sum = -torch::where(is_positive, terms, torch::zeros_like(terms)).sum();
  if (options.divisor == "batch") return sum / input.left.size(0);
  return sum / is_positive.sum().clamp_min(1);
}

double scale_of(const MnrlOptions& options) {
  if (options.scale > 0.0) return options.scale;
  return options.similarity == "cosine" ? 20.0 : 1.0;  // 1: dot products and a head's numbers
}

BscOptions bsc_options(const MnrlOptions& options) {
  BscOptions bsc;
  bsc.temperature.value = 1.0 / scale_of(options);
  bsc.normalize = options.similarity == "cosine" ? "l2" : "none";
  bsc.directions = "left";
  bsc.threshold = options.threshold;
  bsc.duplicates = options.duplicates;
  bsc.same_class = options.same_class;
  return bsc;
}

Tensor mnrl_scores(const LossInput& input, const MnrlOptions& options) {
  if (options.similarity != "head") return bsc_scores(input, bsc_options(options));
  SIMILE_CHECK(input.cross_logits.defined(), ErrorKind::kInput,
               "loss: mnrl with similarity: head needs a head's numbers for all pairs of the "
               "batch, and there are none; give the objective a head or choose cosine or dot");
  return input.cross_logits * scale_of(options);
}

}  // namespace

void BscOptions::visit(OptionVisitor& v) {
  v.group("temperature", temperature, "temperature of the softmax");
  v.field("normalize", normalize,
          choice_info("normalisation of each side's embeddings before scores are computed",
                      normalization_names()));
  v.field("directions", directions,
          choice_info("softmax over the right texts of a left one (left), the reverse (right), or "
                      "the mean of the two",
                      {"both", "left", "right"}));
  v.field(
      "divisor", divisor,
      choice_info("the sum is divided by the size of the batch or by its number of positive pairs",
                  {"batch", "positives"}));
  visit_threshold(v, threshold);
  visit_duplicates(v, duplicates);
  visit_same_class(v, same_class);
  v.field(
      "hard_negative_weight", hard_negative_weight,
      {"how many times a pair's own explicit negatives count among its negatives", "", 1e-6, 1e6});
}

Tensor right_texts(const LossInput& input) {
  if (input.negatives.empty()) return input.right;
  std::vector<Tensor> texts = {input.right};
  texts.insert(texts.end(), input.negatives.begin(), input.negatives.end());
  return torch::cat(texts, 0);
}

Tensor bsc_scores(const LossInput& input, const BscOptions& options, const Tensor& scale) {
  check_pair_input(input);
  const Tensor products =
      inner_products(normalize_embeddings(input.left, options.normalize),
                     normalize_embeddings(right_texts(input), options.normalize));
  if (!scale.defined()) return products * (1.0 / options.temperature.value);
  // One scale for each row: its gradient is then summed row by row, whatever the number of threads.
  return products * scale.expand({products.size(0), 1});
}

Tensor bsc_loss_of_scores(const Tensor& all_scores, const LossInput& input,
                          const BscOptions& options) {
  check_loss_input(input);
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(
      all_scores.defined() && all_scores.dim() == 2 && all_scores.size(0) == m &&
          all_scores.size(1) >= m && all_scores.size(1) % m == 0,
      ErrorKind::kInput,
      "loss: the scores of all pairs should have shape [m, m + n·m] with m = {}, found {}; give "
      "each left text its score with every right text",
      m,
      all_scores.defined() ? fmt::format("[{}]", fmt::join(all_scores.sizes(), ", ")) : "nothing");
  Tensor known;  // positives among the cells (left i, right j), [m, m]; not defined: plain loss
  if (treats_repeats(input, options.duplicates)) {
    const Tensor is_positive = positive_pairs(input, options);
    const auto same = [](const Tensor& group) { return group.unsqueeze(1) == group.unsqueeze(0); };
    known = (same(input.left_group) & is_positive.unsqueeze(0)) |
            (same(input.right_group) & is_positive.unsqueeze(1));
  }
  const Tensor left_out = left_out_cells(input, options, known);
  const Tensor positives = options.duplicates == "positives" ? known : Tensor();
  const auto turned = [](const Tensor& cells) { return cells.defined() ? cells.t() : cells; };
  const double weight = options.hard_negative_weight;
  const Tensor scores =
      weight == 1.0 ? all_scores : all_scores + own_negative_shift(all_scores, weight);
  Tensor rows, columns;
  if (options.directions != "right") rows = row_terms(scores, positives, left_out);
  if (options.directions != "left") {
    columns = row_terms(scores.narrow(1, 0, m).t(), turned(positives), turned(left_out));
  }
  return loss_of_terms(rows, columns, input, options);
}

Tensor bsc_loss(const LossInput& input, const BscOptions& options, const Tensor& scale) {
  check_pair_input(input);
  if (options.hard_negative_weight == 1.0 && !treats_repeats(input, options.duplicates) &&
      !treats_classes(input, options.same_class)) {
    const Tensor left = normalize_embeddings(input.left, options.normalize);
    const Tensor right = normalize_embeddings(right_texts(input), options.normalize);
    const Tensor factor =
        scale.defined() ? scale : torch::full({}, 1.0 / options.temperature.value, left.options());
    if (has_contrastive_terms(left, right, factor)) {
      const auto [rows, columns] =
          contrastive_terms(left, right, factor, options.directions != "right",
                            options.directions != "left", input.products);
      return loss_of_terms(rows, columns, input, options);
    }
  }
  return bsc_loss_of_scores(bsc_scores(input, options, scale), input, options);
}

void MnrlOptions::visit(OptionVisitor& v) {
  v.field("similarity", similarity,
          choice_info("score of two texts: cosine or dot product of their embeddings, or the "
                      "number of a head that compares every left text with every right one",
                      {"cosine", "dot", "head"}));
  v.field("scale", scale,
          {"what scores are multiplied by (1 / temperature); 0 takes 20 for cosine and 1 otherwise",
           "", 0.0});
  visit_threshold(v, threshold);
  visit_duplicates(v, duplicates);
  visit_same_class(v, same_class);
}

Tensor mnrl_loss(const LossInput& input, const MnrlOptions& options) {
  if (options.similarity != "head") return bsc_loss(input, bsc_options(options));
  return bsc_loss_of_scores(mnrl_scores(input, options), input, bsc_options(options));
}

std::vector<LossRow> bsc_rows() {
  return {{"bsc",
           "-(1/m) Σ_i 1[y_i > t] log softmax(U Vᵀ / τ)_ii, mean over rows and columns "
           "(half of the paper's eq. 1, as its code)",
           "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
           "positive pairs, with or without labelled negatives, when every other text of the batch "
           "can serve as a negative; gains most from batches of similar texts (order: neighbours)",
           "{name: bsc, temperature: 0.1, normalize: l2}",
           [](const LossOptions& o) {
             LossNeeds needs = batch_pairs(o.get<BscOptions>().same_class);
             needs.directed = o.get<BscOptions>().directions != "both";
             return needs;
           },
           visit_own<BscOptions>, compute_bsc<BscOptions>, bsc_output<BscOptions>,
           bsc_parts<BscOptions>},
          {"mnrl", "-(1/m) Σ_i 1[y_i > t] log softmax_j(s · sim(u_i, v_j))_i",
           "Henderson et al., Efficient Natural Language Response Suggestion for Smart Reply, 2017",
           "questions and answers: only the left side searches the right; takes hard negatives",
           "{name: mnrl, scale: 20}",
           [](const LossOptions& o) {
             LossNeeds needs = batch_pairs(o.get<MnrlOptions>().same_class);
             needs.directed = true;
             if (o.get<MnrlOptions>().similarity != "head") return needs;
             needs.head = HeadNeed::kNumber;
             needs.cross_logits = true;
             return needs;
           },
           visit_own<MnrlOptions>, compute_own<MnrlOptions, mnrl_loss>,
           [](const LossOptions& o, const LossInput& in, const LossContext&) {
             return row_output(mnrl_scores(in, o.get<MnrlOptions>()));
           },
           [](const LossOptions& o) {
             const MnrlOptions& own = o.get<MnrlOptions>();
             return LossParts{nullptr, nullptr, &own.threshold, &own.duplicates, &own.same_class};
           }},
          {"simcse",
           "-(1/m) Σ_i 1[y_i > t] log softmax_j(cos(u_i, v_j) / τ)_i, v_i the same text under "
           "another dropout mask, or an entailed one",
           "Gao et al., SimCSE: Simple Contrastive Learning of Sentence Embeddings, 2021",
           "texts without labels (both columns the same, a model with dropout), or entailed texts "
           "with contradicting ones as negatives",
           "{name: simcse, temperature: 0.05}",
           [](const LossOptions& o) {
             LossNeeds needs = batch_pairs(o.get<SimcseOptions>().bsc.same_class);
             needs.directed = needs.equal_sides = true;
             return needs;
           },
           visit_own<SimcseOptions>, compute_bsc<SimcseOptions>, bsc_output<SimcseOptions>,
           bsc_parts<SimcseOptions>}};
}

}  // namespace simile
