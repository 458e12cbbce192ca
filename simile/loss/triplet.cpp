// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/triplet.h"

#include "simile/core/error.h"
#include "simile/loss/batch_triplet.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"

namespace simile {

void TripletOptions::visit(OptionVisitor& v) {
  v.field("margin", margin,
          {"how much farther than the positive a negative should be, in units of the distance", "",
           0.0});
  v.field("distance", distance,
          choice_info("distance of two embeddings: euclidean, or cosine for 1 - cosine",
                      {"euclidean", "cosine"}));
  v.field("mining", mining,
          choice_info("triplets are given (none) or found by the classes of the batch's texts: the "
                      "hardest of each text, a semi-hard one of each two texts of a class, or all",
                      {"none", "batch_hard", "batch_semi_hard", "batch_all"}));
}

torch::Tensor triplet_loss(const LossInput& input, const TripletOptions& options) {
  if (options.mining != "none") return batch_triplet_loss(input, options);
  check_pair_input(input);
  SIMILE_CHECK(!input.negatives.empty(), ErrorKind::kInput,
               "loss: triplet needs a negative text for every pair, and the batch has none; map a "
               "negative column or choose a loss on pairs");
  const torch::Tensor to_positive = row_distance(input.left, input.right, options.distance);
  torch::Tensor sum;
  for (const auto& negative : input.negatives) {
    const torch::Tensor part =
        (to_positive - row_distance(input.left, negative, options.distance) + options.margin)
            .relu();
    sum = sum.defined() ? sum + part : part;
  }
  return sum.mean() / static_cast<double>(input.negatives.size());
}

LossRow triplet_row() {
  return {"triplet",
          "mean of relu(d(u_i, v_i) - d(u_i, n_i) + margin)",
          "Schroff et al., FaceNet, 2015; Reimers and Gurevych, Sentence-BERT, 2019",
          "triples of text, positive and negative, when other texts of the batch are no safe "
          "negatives; with mining, single texts with classes (Hermans et al., 2017)",
          "{name: triplet, margin: 0.5}",
          [](const LossOptions& o) {
            if (o.get<TripletOptions>().mining == "none") return pairs(kIgnored, kRequired);
            LossNeeds needs;
            needs.texts = TextNeed::kSingles;
            needs.classes = kRequired;
            needs.compares = Compares::kOtherTexts;
            return needs;
          },
          visit_own<TripletOptions>,
          [](const LossOptions& o, const LossInput& in, const LossContext&) {
            return triplet_loss(in, o.get<TripletOptions>());
          },
          score_output,
          no_parts};
}

}  // namespace simile
