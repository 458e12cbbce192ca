// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "simile/core/options.h"
#include "simile/core/text_table.h"
#include "simile/loss/loss.h"
#include "simile/model/head_settings.h"
#include "simile/train/pretrainer.h"
#include "simile/train/read_recipe.h"
#include "simile/train/train_options.h"

namespace simile {
namespace {

const TableRows kNormalizations = {
    {"none", "normalize: none", "x", "BSC"},
    {"l2", "normalize: l2", "each row divided by its L2 norm", "BSC"},
    {"coordinate_l2", "normalize: coordinate_l2",
     "each column divided by its L2 norm over the batch", "BSC, section 3.5"},
    {"coordinate_range", "normalize: coordinate_range",
     "each column divided by its maximum less its minimum over the batch", "code of BSC"},
    {"coordinate_minmax", "normalize: coordinate_minmax",
     "each column less its minimum, divided by the range", "BSC, section 3.5"},
};

const TableRows kHeads = {
    {"l1", "{kind: l1, input: pair}", "a · (-‖u - v‖₁ / H) + b", "That was smooth, 2023"},
    {"cosine", "{kind: cosine, input: pair}", "a · cos(u, v) + b", "That was smooth, 2023"},
    {"concat", "{kind: concat, input: pair}", "a linear layer on [u; v; abs(u - v)]",
     "Sentence-BERT, 2019; That was smooth, 2023"},
    {"mlp", "{kind: mlp, input: pair, layers: 3}",
     "linear layers with ReLU and dropout between, on [u; v; abs(u - v)], or on u of single texts",
     "PolarBERT, 2023"},
    {"linear", "{kind: linear, input: single}", "a linear layer on u", "PolarBERT, 2023"},
    {"joint", "{kind: mlp, input: joint}",
     "both texts encoded as one sequence, [CLS] a [SEP] b [SEP]", "PolarBERT, 2023"},
    {"frozen", "frozen: true (of the stage)",
     "heads alone are trained, on vectors that are computed once", "PolarBERT, 2023"},
};

const TableRows kRegularizers = {
    {"dropout", "hidden_dropout, attention_dropout",
     "hidden states and attention weights are zeroed at random, the rest scaled up",
     "Devlin et al., 2019"},
    {"drop_head", "drop_head", "attention heads of a layer are zeroed for a whole sequence",
     "Zhou et al., Scheduled DropHead, 2020"},
    {"siar", "siar: {weight: 3} (of the stage)",
     "λ · ℓ(f(x + δ), f(x)), δ the worst perturbation of the token embeddings within a ball",
     "That was smooth, 2023, eq. 5-7; Jiang et al., SMART, 2020"},
    {"bregman", "siar: {bregman: 1} (of the stage)",
     "μ · ℓ(f(x; θ), f(x; θ̃)), θ̃ the moving average of the weights", "Jiang et al., SMART, 2020"},
    {"global_orthogonal", "loss: {name: sum, of: [..., global_orthogonal]}",
     "texts that do not belong together are kept near orthogonal", "Zhang et al., 2017"},
    {"weight decay", "optimizer: {weight_decay: 0.01}", "of all weights but biases and LayerNorm",
     "Loshchilov and Hutter, 2019"},
    {"clipping", "optimizer: {clip_norm: 1}", "the gradient of all weights is at most this long",
     "Pascanu et al., 2013"},
};

std::string to_table(const char* title, const TableRows& methods) {
  TableRows rows = {{"name", "in a recipe", "meaning", "source"}};
  for (const auto& method : methods) {
    rows.push_back({"`" + method[0] + "`", "`" + method[1] + "`", method[2], method[3]});
  }
  return fmt::format("\n## {}\n\n{}", title, markdown_table(rows));
}

}  // namespace

std::string method_reference() {
  HeadSettings head;
  SiarOptions siar;
  return losses_to_markdown() + to_table("Normalisations", kNormalizations) +
         to_table("Heads", kHeads) + "\n#" + options_to_markdown(head, "A head's options") +
         to_table("Regularisers", kRegularizers) + "\n#" +
         options_to_markdown(siar, "The options of siar");
}

std::string pretrain_reference() {
  PretrainOptions recipe;
  return options_to_markdown(recipe, "Recipe of `simile pretrain`");
}

std::string recipe_reference() {
  TrainOptions recipe;
  return options_to_markdown(recipe, "Recipe of `simile train`");
}

}  // namespace simile
