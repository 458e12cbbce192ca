// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/angle.h"
#include "simile/loss/bce.h"
#include "simile/loss/bsc.h"
#include "simile/loss/combo.h"
#include "simile/loss/contrastive.h"
#include "simile/loss/cosent.h"
#include "simile/loss/detail/foreign_names.h"
#include "simile/loss/distill.h"
#include "simile/loss/global_orthogonal.h"
#include "simile/loss/matryoshka.h"
#include "simile/loss/mnrl.h"
#include "simile/loss/mse.h"
#include "simile/loss/online_contrastive.h"
#include "simile/loss/pearson.h"
#include "simile/loss/rcl.h"
#include "simile/loss/rcl_entropy.h"
#include "simile/loss/simcse.h"
#include "simile/loss/softmax_classification.h"
#include "simile/loss/sum.h"
#include "simile/loss/triplet.h"

namespace simile {
namespace {

// A bar would end a cell of a Markdown table.
std::string escape_bars(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

}  // namespace

const std::vector<LossRow>& loss_table() {
  static const std::vector<LossRow> table = {
      angle_row(),
      bce_row(),
      bsc_row(),
      combo_row(),
      contrastive_row(),
      cosent_row(),
      distill_row(),
      global_orthogonal_row(),
      matryoshka_row(),
      mnrl_row(),
      mse_row(),
      online_contrastive_row(),
      pearson_row(),
      rcl_row(),
      rcl_entropy_row(),
      simcse_row(),
      softmax_classification_row(),
      sum_row(),
      triplet_row(),
  };
  return table;
}

const LossRow& find_loss(const std::string& name) {
  std::vector<std::string> names;
  for (const LossRow& row : loss_table()) {
    if (name == row.name) return row;
    names.push_back(row.name);
  }
  const std::string nearest = nearest_name(name, names), hint = hint_of_foreign_loss(name);
  throw Error(ErrorKind::kRecipe,
              fmt::format("'{}' is no loss{}; choose one of {}", name,
                          !hint.empty()     ? hint
                          : nearest.empty() ? ""
                                            : ", did you mean '" + nearest + "'?",
                          fmt::join(names, ", ")));
}

std::string losses_to_markdown() {
  std::string overview =
      "# Losses\n\n`u`, `v` left and right embedding, `m` pairs in a batch, `y` target, `t` "
      "threshold, `τ` temperature, `s = 1/τ`.\n\n"
      "| loss | needs | formula |\n| --- | --- | --- |\n";
  std::string sections;
  for (const LossRow& row : loss_table()) {
    LossOptions example;
    read_options(parse_config(row.example, row.name), example);
    overview += fmt::format("| `{}` | {} | {} |\n", row.name, describe(row.needs(example)),
                            escape_bars(row.formula));
    LossOptions defaults;
    sections += "\n" + option_members_to_markdown([&](OptionVisitor& v) { row.visit(defaults, v); },
                                                  row.name);
    sections += fmt::format("\nFor {}.\n\nPaper: {}.\n\nRecipe: `loss: {}`\n", row.advice,
                            row.paper, row.example);
  }
  return overview + sections;
}

}  // namespace simile
