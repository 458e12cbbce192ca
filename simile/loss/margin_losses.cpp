// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/margin_losses.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "simile/core/check.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/nn/row_products.h"

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

  const double for_positives =
      far.empty() ? mean_of(near) : *std::min_element(far.begin(), far.end());
  const double for_negatives =
      near.empty() ? mean_of(far) : *std::max_element(near.begin(), near.end());
  const Tensor hard = torch::zeros_like(values);
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (positive[i] ? d[i] > for_positives : d[i] < for_negatives) hard.data_ptr<double>()[i] = 1;
  }
  return hard.to(distances.options());
}

// [m, m]; equal rows have distance 0 with zero gradient.
Tensor distances_among(const Tensor& x, const std::string& name) {
  if (name == "cosine") {
    const Tensor unit = normalize_embeddings(x, "l2");
    return 1.0 - inner_products(unit, unit);
  }
  // From differences, as a detour over inner products would lose the distances of near neighbours.
  constexpr int64_t kWithoutProducts = 2;
  return torch::cdist(x, x, 2.0, kWithoutProducts);
}

// The triplets of a batch. The loss is linear in the distances of those above zero.
class Miner {
 public:
  Miner(const Tensor& distances, const Tensor& classes, const TripletOptions& options)
      : weights(static_cast<size_t>(distances.numel()), 0.0),
        m_(distances.size(0)),
        distances_(distances.detach().to(torch::kCPU, torch::kDouble).contiguous()),
        margin_(options.margin) {
    const Tensor host = classes.to(torch::kCPU, torch::kInt64).contiguous();
    const int64_t* const of = host.data_ptr<int64_t>();
    for (int64_t anchor = 0; anchor < m_; ++anchor) {
      std::vector<int64_t> positives, negatives;  // texts of its class without itself, and others
      for (int64_t i = 0; i < m_; ++i) {
        if (of[i] != of[anchor]) negatives.push_back(i);
        if (of[i] == of[anchor] && i != anchor) positives.push_back(i);
      }
      if (negatives.empty()) continue;
      if (options.mining == "batch_hard") {
        mine_hardest(anchor, positives, negatives);
        continue;
      }
      for (const int64_t positive : positives) {
        if (options.mining == "batch_semi_hard") {
          add(anchor, positive, semi_hard_negative(anchor, positive, negatives));
        } else {
          for (const int64_t negative : negatives) add(anchor, positive, negative);
        }
      }
    }
  }

  std::vector<double> weights;  // [anchor, other]: what each distance counts
  int64_t above = 0;            // triplets above zero
  int64_t all = 0;

 private:
  static constexpr int64_t kNone = -1;  // a positive at distance 0

  double distance(int64_t anchor, int64_t other) const {
    return other == kNone ? 0.0 : distances_.data_ptr<double>()[anchor * m_ + other];
  }

  void add(int64_t anchor, int64_t positive, int64_t negative) {
    ++all;
    if (!(distance(anchor, positive) - distance(anchor, negative) + margin_ > 0.0)) return;
    ++above;
    if (positive != kNone) weights[static_cast<size_t>(anchor * m_ + positive)] += 1.0;
    weights[static_cast<size_t>(anchor * m_ + negative)] -= 1.0;
  }

  void mine_hardest(int64_t anchor, const std::vector<int64_t>& positives,
                    const std::vector<int64_t>& negatives) {
    const auto nearer = [&](int64_t a, int64_t b) {
      return distance(anchor, a) < distance(anchor, b);
    };
    const int64_t positive =
        positives.empty() ? kNone : *std::max_element(positives.begin(), positives.end(), nearer);
    add(anchor, positive, *std::min_element(negatives.begin(), negatives.end(), nearer));
  }

  int64_t semi_hard_negative(int64_t anchor, int64_t positive,
                             const std::vector<int64_t>& negatives) const {
    const double at_least = distance(anchor, positive);
    int64_t semi_hard = -1, farthest = negatives[0];
    for (const int64_t n : negatives) {
      const double d = distance(anchor, n);
      if (d > at_least && (semi_hard < 0 || d < distance(anchor, semi_hard))) semi_hard = n;
      if (d > distance(anchor, farthest)) farthest = n;
    }
    return semi_hard >= 0 ? semi_hard : farthest;
  }

  int64_t m_;
  Tensor distances_;
  double margin_;
};

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

Tensor triplet_loss(const LossInput& input, const TripletOptions& options) {
  if (options.mining != "none") return batch_triplet_loss(input, options);
  check_pair_input(input);
  SIMILE_CHECK(!input.negatives.empty(), ErrorKind::kInput,
               "loss: triplet needs a negative text for every pair, and the batch has none; map a "
               "negative column or choose a loss on pairs");
  const Tensor to_positive = row_distance(input.left, input.right, options.distance);
  Tensor sum;
  for (const auto& negative : input.negatives) {
    const Tensor part =
        (to_positive - row_distance(input.left, negative, options.distance) + options.margin)
            .relu();
    sum = sum.defined() ? sum + part : part;
  }
  return sum.mean() / static_cast<double>(input.negatives.size());
}

Tensor batch_triplet_loss(const LossInput& input, const TripletOptions& options) {
  check_loss_input(input);
  SIMILE_CHECK(
      options.mining == "batch_hard" || options.mining == "batch_semi_hard" ||
          options.mining == "batch_all",
      ErrorKind::kRecipe,
      "'" + options.mining + "' is no mining; choose batch_hard, batch_semi_hard or batch_all");
  SIMILE_CHECK(input.classes.defined() && input.classes.dim() == 1 &&
                   input.classes.size(0) == input.left.size(0),
               ErrorKind::kInput,
               "loss: triplet with mining: " + options.mining +
                   " needs classes, one for each text of the batch, and there are none; use data "
                   "with classes or mining: none");
  const Tensor distances = distances_among(input.left, options.distance);
  const Miner miner(distances, input.classes, options);
  const int64_t count =
      std::max<int64_t>(1, options.mining == "batch_all" ? miner.above : miner.all);
  const Tensor weights = torch::tensor(miner.weights, torch::kDouble)
                             .reshape(distances.sizes())
                             .to(distances.options());
  const double margins = options.margin * static_cast<double>(miner.above);
  return ((distances * weights).sum(1).sum() + margins) / count;
}

std::vector<LossRow> margin_rows() {
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
       threshold_parts<OnlineContrastiveOptions>},
      {"triplet", "mean of relu(d(u_i, v_i) - d(u_i, n_i) + margin)",
       "Schroff et al., FaceNet, 2015; Reimers and Gurevych, Sentence-BERT, 2019",
       "triples of text, positive and negative, when other texts of the batch are no safe "
       "negatives; with mining, single texts with classes (Hermans et al., 2017)",
       "{name: triplet, margin: 0.5}",
       [](const LossOptions& o) {
         LossNeeds needs = pairs(kIgnored, kRequired);
         needs.directed = true;
         if (o.get<TripletOptions>().mining == "none") return needs;
         needs.texts = TextNeed::kSingles;
         needs.negatives = kIgnored;
         needs.classes = kRequired;
         needs.compares = Compares::kOtherTexts;
         needs.keeps_apart = true;
         return needs;
       },
       visit_own<TripletOptions>, compute_own<TripletOptions, triplet_loss>, score_output,
       [](const LossOptions& o) {
         LossParts parts;
         parts.triplet = &o.get<TripletOptions>();
         return parts;
       }}};
}

}  // namespace simile
