// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/error.h"
#include "simile/loss/detail/row_parts.h"

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
  static const std::vector<LossRow> table = [] {
    std::vector<LossRow> all;
    for (const auto rows : {bsc_rows, combined_rows, contrastive_rows, distill_rows, graded_rows,
                            head_loss_rows, mnrl_rows, rcl_rows, triplet_rows}) {
      for (const LossRow& row : rows()) all.push_back(row);
    }
    std::sort(all.begin(), all.end(),
              [](const LossRow& a, const LossRow& b) { return std::string_view(a.name) < b.name; });
    return all;
  }();
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
