// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/teacher_losses.h"

#include <fmt/ranges.h>

#include "simile/core/check.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

Tensor projected(const Tensor& x, const Tensor& teacher, const Tensor& projection) {
  const int64_t size = x.size(1), teacher_size = teacher.size(1);
  if (!projection.defined()) {
    SIMILE_CHECK(size == teacher_size, ErrorKind::kInput,
                 "loss: distill has embeddings of {} numbers and a teacher's vectors of {}; give "
                 "it a projection or choose a teacher of that size",
                 size, teacher_size);
    return x;
  }
  SIMILE_CHECK(
      projection.dim() == 2 && projection.size(0) == teacher_size && projection.size(1) == size,
      ErrorKind::kInput, "loss: distill needs a projection [{}, {}], found [{}]", teacher_size,
      size, fmt::join(projection.sizes(), ", "));
  return inner_products(x, projection.to(x.options()));
}

void check_teacher(const Tensor& x, const Tensor& teacher) {
  SIMILE_CHECK(teacher.defined() && teacher.dim() == 2 && teacher.size(0) == x.size(0),
               ErrorKind::kInput, "loss: distill needs a teacher's vector for each of {} texts",
               x.size(0));
}

// cos(x_i, x_j) [m, m].
Tensor cosines(const Tensor& x) {
  const Tensor unit = normalize_embeddings(x, "l2");
  return inner_products(unit, unit);
}

Tensor score_loss(const Tensor& x, const Tensor& teacher) {
  return (cosines(x) - cosines(teacher.detach().to(x.options()))).square().mean();
}

Tensor side_loss(const Tensor& x, const Tensor& teacher, const DistillOptions& options,
                 const Tensor& projection) {
  const Tensor student = projected(x, teacher, projection);
  const Tensor wanted = teacher.detach().to(student.options());
  if (options.distance == "cosine") return row_distance(student, wanted, "cosine").mean();
  return (student - wanted).square().mean(1).mean();
}

void check_teachers(const LossInput& input) {
  SIMILE_CHECK(!input.left_teachers.empty(), ErrorKind::kInput,
               "loss: rcl needs the vectors frozen models gave both sides, and there are none; "
               "give the objective teachers or choose a loss without");
  SIMILE_CHECK(input.left_teachers.size() == input.right_teachers.size(), ErrorKind::kInput,
               "loss: rcl needs every teacher's vectors of both sides, found {} left and {} right",
               input.left_teachers.size(), input.right_teachers.size());
  for (const auto* side : {&input.left_teachers, &input.right_teachers}) {
    for (const Tensor& teacher : *side) {
      SIMILE_CHECK(teacher.sizes() == input.left.sizes(), ErrorKind::kInput,
                   "loss: rcl compares texts with their teachers' vectors, which should be [{}] "
                   "like them, found [{}]; choose a teacher with vectors of that size",
                   fmt::join(input.left.sizes(), ", "), fmt::join(teacher.sizes(), ", "));
    }
  }
}

// The mean of -log softmax_k(s · cos(x_i, a_k))_i over i.
Tensor regulariser(const Tensor& x, const Tensor& teacher, double scale) {
  const Tensor frozen = teacher.detach().to(x.options());
  const Tensor scores =
      inner_products(normalize_embeddings(x, "l2"), normalize_embeddings(frozen, "l2")) * scale;
  return -scores.log_softmax(1).diagonal().mean();
}

// s · cos(q_i, ind_j), [m, m + n·m].
Tensor rcl_scores(const LossInput& input, double scale) {
  BscOptions cosine;
  cosine.normalize = "l2";
  return bsc_scores(input, cosine, torch::full({}, scale, input.left.options()));
}

template <typename Options>
SmoothOutput rcl_output(const LossOptions& options, const LossInput& input, const LossContext&) {
  return row_output(rcl_scores(input, options.get<Options>().scale));
}

LossNeeds rcl_needs(Requirement teachers) {
  LossNeeds needs = batch_pairs(kOptional, kOptional);
  needs.teachers = teachers;
  needs.duplicates_are_negatives = true;
  return needs;
}

}  // namespace

void DistillOptions::visit(OptionVisitor& v) {
  v.field(
      "distance", distance,
      choice_info("what should be small between embedding and teacher's vector: the mean squared "
                  "difference of their numbers, or 1 - cosine; or, with vectors of any size, "
                  "between the cosines of all texts of a batch: their mean squared difference",
                  {"mse", "cosine", "scores"}));
  v.field("projection_learning_rate", projection_learning_rate,
          {"peak rate of the projection onto vectors of another size; follows the model's schedule",
           "", 0.0});
}

Tensor distill_loss(const LossInput& input, const DistillOptions& options,
                    const Tensor& projection) {
  check_loss_input(input);
  SIMILE_CHECK(input.left_teachers.size() == 1, ErrorKind::kInput,
               "loss: distill needs the vectors that one frozen model gave the texts, and there "
               "are those of {}; give the objective one teacher",
               input.left_teachers.size());
  const bool has_right = !input.right_teachers.empty();
  SIMILE_CHECK(!has_right || input.right.defined(), ErrorKind::kInput,
               "loss: distill found a teacher's vectors of right texts, and the batch has none");
  check_teacher(input.left, input.left_teachers[0]);
  if (has_right) check_teacher(input.right, input.right_teachers[0]);
  if (options.distance == "scores") {
    if (!has_right) return score_loss(input.left, input.left_teachers[0]);
    return score_loss(torch::cat({input.left, input.right}),
                      torch::cat({input.left_teachers[0], input.right_teachers[0]}));
  }
  const Tensor left = side_loss(input.left, input.left_teachers[0], options, projection);
  if (!has_right) return left;
  return (left + side_loss(input.right, input.right_teachers[0], options, projection)) / 2;
}

void RclEntropyOptions::visit(OptionVisitor& v) {
  v.field("scale", scale, {"what cosines are multiplied by (1 / temperature)", "", 0.0});
  v.field(
      "phi", phi,
      {"weight of the entropy of the other texts: above 0 sharpens them, below 0 evens them out",
       "", -1e6, 1e6});
  visit_threshold(v, threshold);
}

Tensor rcl_entropy_loss(const LossInput& input, const RclEntropyOptions& options) {
  const Tensor log_p = rcl_scores(input, options.scale).log_softmax(1);
  const Tensor own = torch::eye(log_p.size(0), log_p.size(1), log_p.options()).to(torch::kBool);
  const Tensor entropy = -(log_p.exp() * log_p).masked_fill(own, 0.0).sum(1);
  const Tensor terms = options.phi * entropy - log_p.diagonal();
  const Tensor is_positive = target_or_ones(input) > options.threshold;
  return torch::where(is_positive, terms, torch::zeros_like(terms)).mean();
}

void RclOptions::visit(OptionVisitor& v) {
  v.field("scale", scale, {"what cosines are multiplied by (1 / temperature)", "", 0.0});
  visit_threshold(v, threshold);
}

Tensor rcl_loss(const LossInput& input, const RclOptions& options) {
  check_pair_input(input);
  check_teachers(input);
  BscOptions rows;
  rows.directions = "left";
  rows.threshold = options.threshold;
  Tensor loss = bsc_loss_of_scores(rcl_scores(input, options.scale), input, rows);
  for (size_t n = 0; n < input.left_teachers.size(); ++n) {
    loss = loss + regulariser(input.left, input.left_teachers[n], options.scale) +
           regulariser(input.right, input.right_teachers[n], options.scale);
  }
  return loss;
}

std::vector<LossRow> teacher_rows() {
  return {{"distill",
           "(1/m) Σ_i d(W x_i, a_i), a_i a teacher's vector of the same text, d the mean square or "
           "1 - cosine, or (1/m²) Σ_ij (cos(x_i, x_j) - cos(a_i, a_j))²",
           "Reimers and Gurevych, Making Monolingual Sentence Embeddings Multilingual using "
           "Knowledge Distillation, 2020",
           "a model that learns to give a teacher's vectors, from texts without labels; if the "
           "sizes differ, W is trained too",
           "{name: distill, distance: mse}",
           [](const LossOptions&) {
             LossNeeds needs;
             needs.texts = TextNeed::kEither;
             needs.teachers = kRequired;
             needs.compares = Compares::kTeachers;
             return needs;
           },
           visit_own<DistillOptions>,
           [](const LossOptions& o, const LossInput& in, const LossContext& c) {
             return distill_loss(in, o.get<DistillOptions>(), c.projection);
           },
           score_output,
           [](const LossOptions& o) {
             LossParts parts;
             const DistillOptions& own = o.get<DistillOptions>();
             if (own.distance != "scores")
               parts.projection_learning_rate = &own.projection_learning_rate;
             return parts;
           }},
          {"rcl_entropy",
           "(1/m) Σ_i 1[y_i > t] [-log p_ii - φ Σ_{j ≠ i} p_ij log p_ij], p_ij = softmax_j(s "
           "cos(u_i, v_j))",
           "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
           "the models that rcl takes as teachers, one for each phi (0.01 to 0.05)",
           "{name: rcl_entropy, phi: 0.01}", [](const LossOptions&) { return rcl_needs(kIgnored); },
           visit_own<RclEntropyOptions>, compute_own<RclEntropyOptions, rcl_entropy_loss>,
           rcl_output<RclEntropyOptions>, threshold_parts<RclEntropyOptions>},
          {"rcl",
           "(1/m) Σ_i [1[y_i > t] CE(u_i, v) + Σ_n CE(u_i, Au^n) + Σ_n CE(v_i, Av^n)], CE(x_i, a) "
           "= -log softmax_k(s cos(x_i, a_k))_i, Au^n and Av^n vectors of frozen models",
           "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
           "search on pairs that few steps overfit: train two to five rcl_entropy models of "
           "different phi first, and give them as teachers",
           "{name: rcl, scale: 1}", [](const LossOptions&) { return rcl_needs(kRequired); },
           visit_own<RclOptions>, compute_own<RclOptions, rcl_loss>, rcl_output<RclOptions>,
           threshold_parts<RclOptions>}};
}

}  // namespace simile
