// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mnrl.h"

#include "simile/core/error.h"
#include "simile/loss/detail/row_parts.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr double kCosineScale = 20.0;
constexpr double kPlainScale = 1.0;  // of dot products and of a head's numbers

double scale_of(const MnrlOptions& options) {
  if (options.scale > 0.0) return options.scale;
  return options.similarity == "cosine" ? kCosineScale : kPlainScale;
}

}  // namespace

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
  SIMILE_CHECK(
      input.cross_logits.defined(), ErrorKind::kInput,
      "loss: mnrl with similarity: head needs a head's numbers for all pairs of the batch, "
      "and there are none; give the objective a head or choose cosine or dot");
  return input.cross_logits * scale_of(options);
}

Tensor mnrl_loss(const LossInput& input, const MnrlOptions& options) {
  if (options.similarity != "head") return bsc_loss(input, bsc_options(options));
  return bsc_loss_of_scores(mnrl_scores(input, options), input, bsc_options(options));
}

std::vector<LossRow> mnrl_rows() {
  return {{"mnrl", "-(1/m) Σ_i 1[y_i > t] log softmax_j(s · sim(u_i, v_j))_i",
           "Henderson et al., Efficient Natural Language Response Suggestion for Smart Reply, 2017",
           "questions and answers, queries and documents: only the left side searches the right; "
           "takes hard negatives",
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
           visit_own<SimcseOptions>,
           [](const LossOptions& o, const LossInput& in, const LossContext& c) {
             return bsc_loss(in, o.get<SimcseOptions>().bsc, c.scale);
           },
           [](const LossOptions& o, const LossInput& in, const LossContext& c) {
             return row_output(bsc_scores(in, o.get<SimcseOptions>().bsc, c.scale));
           },
           [](const LossOptions& o) { return bsc_parts(o.get<SimcseOptions>().bsc); }}};
}

}  // namespace simile
