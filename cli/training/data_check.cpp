// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/train/data_review.h"

namespace simile::cli {
namespace {

const char* kind_of(const DataFinding& finding) {
  return finding.is_mistake ? "mistake" : "warning";
}

std::string to_json(const RunReview& review) {
  nlohmann::ordered_json document = {{"report", review.report},
                                     {"findings", nlohmann::ordered_json::array()}};
  for (const DataFinding& finding : review.findings) {
    document["findings"].push_back({{"kind", kind_of(finding)}, {"message", finding.message}});
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const RunReview& review) {
  std::string text = fmt::format("{}\n", fmt::join(review.report, "\n"));
  for (const DataFinding& finding : review.findings) {
    text += fmt::format("\n{}: {}\n", kind_of(finding), finding.message);
  }
  return text;
}

void run(const RecipeArguments& arguments, bool json, Terminal& terminal) {
  const ConfigNode recipe = load_recipe(arguments.recipe, arguments.overrides);
  const RunReview review = review_recipe(recipe, terminal);
  Output output("-");
  output.write(json ? to_json(review) : to_text(review));
  output.finish();
  const auto mistakes = std::count_if(review.findings.begin(), review.findings.end(),
                                      [](const auto& finding) { return finding.is_mistake; });
  SIMILE_CHECK(
      mistakes == 0, ErrorKind::kRecipe,
      fmt::format("{} found in the data of '{}'",
                  mistakes == 1 ? "1 mistake was" : fmt::format("{} mistakes were", mistakes),
                  arguments.recipe));
}

}  // namespace

void add_data_check(const Commands& commands) {
  commands.add_training<RecipeArguments>("check", run);
}

}  // namespace simile::cli
