// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_card.h"

#include <fmt/format.h>

#include <filesystem>

#include "simile/model/model_card.h"

namespace simile {

std::string make_run_card(const StartOptions& start, const RunCard& run,
                          const ModelSettings& settings, TensorType type) {
  ModelCard card;
  card.title = start.name;
  card.base_model = std::filesystem::path(start.model).filename().string();
  card.introduction = run.introduction;
  card.body = "## Training data\n\n";
  for (const std::string& line : run.data) card.body += fmt::format("- {}\n", line);
  card.body += "\n## Results\n\n| set | metric | value |\n| --- | --- | --- |\n";
  for (const Report& report : run.reports) {
    for (const auto& [name, value] : report.metrics) {
      card.body += fmt::format("| {} | {} | {:.4f} |\n", report.name, name, value);
    }
  }
  card.body += fmt::format("\n## Recipe\n\n```json\n{}\n```\n", run.recipe);
  return make_model_card(card, settings, type);
}

}  // namespace simile
