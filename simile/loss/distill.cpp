// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/distill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

Tensor projected(const Tensor& x, const Tensor& teacher, const Tensor& projection) {
  const int64_t size = x.size(1), teacher_size = teacher.size(1);
  if (!projection.defined()) {
    SIMILE_CHECK(size == teacher_size, ErrorKind::kInput,
                 fmt::format("loss: distill has embeddings of {} numbers and a teacher's vectors "
                             "of {}; give it a projection or choose a teacher of that size",
                             size, teacher_size));
    return x;
  }
  SIMILE_CHECK(
      projection.dim() == 2 && projection.size(0) == teacher_size && projection.size(1) == size,
      ErrorKind::kInput,
      fmt::format("loss: distill needs a projection [{}, {}], found [{}]", teacher_size, size,
                  fmt::join(projection.sizes(), ", ")));
  return inner_products(x, projection.to(x.options()));
}

void check_teacher(const Tensor& x, const Tensor& teacher) {
  SIMILE_CHECK(
      teacher.defined() && teacher.dim() == 2 && teacher.size(0) == x.size(0), ErrorKind::kInput,
      fmt::format("loss: distill needs a teacher's vector for each of {} texts", x.size(0)));
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

}  // namespace

void DistillOptions::visit(OptionVisitor& v) {
  v.field("distance", distance,
          choice_info("what should be small between embedding and teacher's vector: the mean "
                      "squared difference of their numbers, or 1 - cosine; or, with vectors of any "
                      "size, between the cosines of all texts of a batch: their mean squared "
                      "difference",
                      {"mse", "cosine", "scores"}));
  v.field("projection_learning_rate", projection_learning_rate,
          {"peak learning rate of the projection onto a teacher's vectors of another size; follows "
           "the model's schedule",
           "", 0.0});
}

Tensor distill_loss(const LossInput& input, const DistillOptions& options,
                    const Tensor& projection) {
  check_loss_input(input);
  SIMILE_CHECK(input.left_teachers.size() == 1, ErrorKind::kInput,
               fmt::format("loss: distill needs the vectors that one frozen model gave the texts, "
                           "and there are those of {}; give the objective one teacher",
                           input.left_teachers.size()));
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

std::vector<LossRow> distill_rows() {
  return {
      {"distill",
       "(1/m) Σ_i d(W x_i, a_i), a_i a teacher's vector of the same text, d the mean square or 1 "
       "- cosine, or (1/m²) Σ_ij (cos(x_i, x_j) - cos(a_i, a_j))²",
       "Reimers and Gurevych, Making Monolingual Sentence Embeddings Multilingual using Knowledge "
       "Distillation, 2020",
       "a smaller or other model that should give the vectors of one there is, from texts alone; "
       "W is trained where sizes differ",
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
       }}};
}

}  // namespace simile
