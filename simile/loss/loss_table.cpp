// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr const char* kBscPaper =
    "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021";

LossParts bsc_parts(const BscOptions& o) {
  return {&o.temperature, &o.normalize, &o.threshold, &o.duplicates};
}

// The options member of a loss is visited under its name.
template <auto member>
void visit_member(LossOptions& options, OptionVisitor& v) {
  (options.*member).visit(v);
}

std::vector<LossRow> make_table() {
  const auto ignored = Requirement::kIgnored;
  const auto optional = Requirement::kOptional;
  const auto required = Requirement::kRequired;
  return {
      {"bsc", optional, optional, false,
       "-(1/m) Σ_i 1[y_i > t] log softmax(U Vᵀ / τ)_ii, mean over rows and columns", kBscPaper,
       "positive pairs, with or without labelled negatives, when every other text of the batch can "
       "serve as a negative; gains most from batches of similar texts (order: neighbours)",
       visit_member<&LossOptions::bsc>,
       [](const LossOptions& o, const LossInput& in, const Tensor& s) {
         return bsc_loss(in, o.bsc, s);
       },
       [](const LossOptions& o) { return bsc_parts(o.bsc); }},
      {"combo", required, optional, true, "μ · bsc + (1 - μ) · mse", kBscPaper,
       "graded or 0/1 pairs, when both the order of candidates and the value of the score matter",
       visit_member<&LossOptions::combo>,
       [](const LossOptions& o, const LossInput& in, const Tensor& s) {
         return combo_loss(in, o.combo, s);
       },
       [](const LossOptions& o) { return bsc_parts(o.combo.bsc); }},
      {"mnrl", optional, optional, false,
       "-(1/m) Σ_i 1[y_i > t] log softmax_j(s · sim(u_i, v_j))_i",
       "Henderson et al., Efficient Natural Language Response Suggestion for Smart Reply, 2017",
       "questions and answers, queries and documents: only the left side searches the right; takes "
       "hard negatives",
       visit_member<&LossOptions::mnrl>,
       [](const LossOptions& o, const LossInput& in, const Tensor&) {
         return mnrl_loss(in, o.mnrl);
       },
       [](const LossOptions& o) {
         return LossParts{nullptr, nullptr, &o.mnrl.threshold, &o.mnrl.duplicates};
       }},
      {"mse", required, ignored, true, "(1/m) Σ_i (cos(u_i, v_i) - y_i)²",
       "Reimers and Gurevych, Sentence-BERT, 2019",
       "graded similarity, as in STS: the cosine should equal the target",
       visit_member<&LossOptions::mse>,
       [](const LossOptions&, const LossInput& in, const Tensor&) { return mse_loss(in); },
       [](const LossOptions&) { return LossParts{}; }},
      {"simcse", optional, optional, false,
       "-(1/m) Σ_i 1[y_i > t] log softmax_j(cos(u_i, v_j) / τ)_i, v_i the same text under another "
       "dropout mask, or an entailed one",
       "Gao et al., SimCSE: Simple Contrastive Learning of Sentence Embeddings, 2021",
       "texts without labels (both columns the same, a model with dropout), or entailed texts with "
       "contradicting ones as negatives",
       visit_member<&LossOptions::simcse>,
       [](const LossOptions& o, const LossInput& in, const Tensor& s) {
         return bsc_loss(in, o.simcse.bsc, s);
       },
       [](const LossOptions& o) { return bsc_parts(o.simcse.bsc); }},
      {"triplet", ignored, required, false, "mean of relu(d(u_i, v_i) - d(u_i, n_i) + margin)",
       "Schroff et al., FaceNet, 2015; Reimers and Gurevych, Sentence-BERT, 2019",
       "triples of text, positive and negative, when other texts of the batch are no safe "
       "negatives",
       visit_member<&LossOptions::triplet>,
       [](const LossOptions& o, const LossInput& in, const Tensor&) {
         return triplet_loss(in, o.triplet);
       },
       [](const LossOptions&) { return LossParts{}; }},
  };
}

std::string need_text(Requirement requirement) {
  switch (requirement) {
    case Requirement::kIgnored:
      return "not used";
    case Requirement::kOptional:
      return "optional";
    case Requirement::kRequired:
      return "required";
  }
  return "";
}

std::string target_text(const LossRow& row) {
  return need_text(row.target) + (row.unit_target ? ", in [0, 1]" : "");
}

}  // namespace

const std::vector<LossRow>& loss_table() {
  static const std::vector<LossRow> table = make_table();
  return table;
}

const LossRow& find_loss(const std::string& name) {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) {
    if (name == row.name) return row;
    names.push_back(row.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kRecipe,
              fmt::format("'{}' is no loss{}; choose one of {}", name,
                          nearest.empty() ? "" : ", did you mean '" + nearest + "'?",
                          fmt::join(names, ", ")));
}

std::string losses_to_markdown() {
  std::string overview =
      "# Losses\n\nAll need pairs: a left and a right text. `m` pairs in a batch, `y` target, `t` "
      "threshold, `τ` temperature, `s = 1/τ`.\n\n"
      "| loss | target | negatives | formula |\n| --- | --- | --- | --- |\n";
  std::string sections;
  for (const LossRow& row : loss_table()) {
    overview += fmt::format("| `{}` | {} | {} | {} |\n", row.name, target_text(row),
                            need_text(row.negatives), row.formula);
    LossOptions options;
    options.name = row.name;
    sections += "\n" + options_to_markdown(options, row.name);
    sections += fmt::format("\nFor {}.\n\nPaper: {}.\n", row.advice, row.paper);
  }
  return overview + sections;
}

}  // namespace simile
