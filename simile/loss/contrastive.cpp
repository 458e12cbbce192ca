// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/contrastive.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"

namespace simile {
namespace {

using torch::Tensor;

double mean_of(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

// 1[i is hard], [m], like `distances`.
Tensor hard_pairs(const Tensor& distances, const Tensor& is_positive) {
  const Tensor values = distances.detach().to(torch::kCPU, torch::kDouble).contiguous();
  const Tensor kinds = is_positive.to(torch::kCPU).contiguous();
  const double* d = values.data_ptr<double>();
  const bool* positive = kinds.data_ptr<bool>();
  std::vector<double> near, far;  // distances of the positive and of the negative pairs
  for (int64_t i = 0; i < values.size(0); ++i) (positive[i] ? near : far).push_back(d[i]);

  const double for_positives = far.size() > 1 ? *std::min_element(far.begin(), far.end())  //
                                              : mean_of(near);
  const double for_negatives =
      near.size() > 1 ? *std::max_element(near.begin(), near.end()) : mean_of(far);
  const Tensor hard = torch::zeros_like(values);
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (positive[i] ? d[i] > for_positives : d[i] < for_negatives) hard.data_ptr<double>()[i] = 1;
  }
  return hard.to(distances.options());
}

}  // namespace

void ContrastiveOptions::visit(OptionVisitor& v) {
  v.field("distance", distance,
          choice_info("distance of the two embeddings; cosine is 1 - cosine",
                      {"cosine", "euclidean", "manhattan"}));
  v.field("margin", margin,
          {"negative pairs should be at least so far apart, in units of the distance", "", 0.0});
  visit_threshold(v, threshold);
}

Tensor contrastive_loss(const LossInput& input, const ContrastiveOptions& options) {
  check_pair_input(input);
  const Tensor distances = row_distance(input.left, input.right, options.distance);
  const Tensor is_positive = target_or_ones(input) > options.threshold;
  const Tensor apart = torch::where(is_positive, distances, (options.margin - distances).relu());
  return apart.square().mean() / 2;
}

Tensor online_contrastive_loss(const LossInput& input, const OnlineContrastiveOptions& options) {
  check_pair_input(input);
  const Tensor distances = row_distance(input.left, input.right, options.distance);
  const Tensor is_positive = target_or_ones(input) > options.threshold;
  const Tensor apart =
      torch::where(is_positive, distances, (options.margin - distances).relu()).square();
  return (apart * hard_pairs(distances, is_positive)).sum();
}

std::vector<LossRow> contrastive_rows() {
  return {
      {"contrastive",
       "(1/m) Σ_i ½ [p_i d(u_i, v_i)² + (1 - p_i) relu(margin - d(u_i, v_i))²], p_i = 1[y_i > t]",
       "Hadsell et al., Dimensionality Reduction by Learning an Invariant Mapping, 2006",
       "pairs labelled 0 or 1, when other texts of the batch are no safe negatives",
       "{name: contrastive, distance: cosine, margin: 0.5}",
       [](const LossOptions&) { return pairs(kRequired, kIgnored); }, visit_own<ContrastiveOptions>,
       compute_own<ContrastiveOptions, contrastive_loss>, score_output,
       threshold_parts<ContrastiveOptions>},
      {"online_contrastive",
       "Σ d(u_i, v_i)² over positives farther than the nearest negative + Σ relu(margin - d(u_i, "
       "v_i))² over negatives nearer than the farthest positive",
       "sentence-transformers, OnlineContrastiveLoss, 2020",
       "pairs labelled 0 or 1 of which many are easy: only the hard ones of the batch count",
       "{name: online_contrastive, margin: 0.5}",
       [](const LossOptions&) { return pairs(kRequired, kIgnored); },
       visit_own<OnlineContrastiveOptions>,
       compute_own<OnlineContrastiveOptions, online_contrastive_loss>, score_output,
       threshold_parts<OnlineContrastiveOptions>}};
}

}  // namespace simile
