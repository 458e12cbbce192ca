// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/recipe.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string output;
  bool resume = false;
  bool overwrite = false;
};

using Training = TrainResult(const ConfigNode& recipe, const std::string& folder, bool resume,
                             bool overwrite, EventSink& events);

// The folder of a run stands for the recipe in it, overrides included.
Arguments find_recipe(Arguments arguments) {
  if (!folder_exists(arguments.recipe)) return arguments;
  const std::string folder = arguments.recipe;
  arguments.recipe = join_path(folder, "run.json");
  SIMILE_CHECK(file_exists(arguments.recipe), ErrorKind::kUsage,
               fmt::format("'{}' is a folder without a run.json, so it holds no run; give a recipe "
                           "(.yaml)",
                           folder));
  SIMILE_CHECK(arguments.resume, ErrorKind::kUsage,
               fmt::format("'{0}' is the folder of a run; add --resume to go on with it, or repeat "
                           "it elsewhere: simile train {0}/run.json --output FOLDER",
                           folder));
  SIMILE_CHECK(arguments.output.empty(), ErrorKind::kUsage,
               fmt::format("the run goes on in its folder '{}'; leave --output out", folder));
  arguments.output = folder;
  return arguments;
}

void run(Training& training, const Arguments& given, bool json, Terminal& terminal) {
  SIMILE_CHECK(!given.resume || !given.overwrite, ErrorKind::kUsage,
               "--resume goes on with the run in the folder and --overwrite replaces it; give one");
  const Arguments arguments = find_recipe(given);
  const ConfigNode recipe = load_recipe(arguments.recipe, arguments.overrides);
  const TrainResult result =
      training(recipe, arguments.output, arguments.resume, arguments.overwrite, terminal);
  Output output("-");
  if (json) {
    nlohmann::ordered_json document = {{"model", result.model_path}};
    if (result.verdict) {
      document["verdict"] = nlohmann::ordered_json::parse(result.verdict->to_json());
    }
    document["reports"] = nlohmann::ordered_json::array();
    for (const Report& report : result.reports) {
      document["reports"].push_back(nlohmann::ordered_json::parse(report.to_json()));
    }
    output.write(document.dump() + "\n");
  } else {
    output.write(to_table(result.reports));
    output.write(fmt::format("\nmodel: {}\n", result.model_path));
    if (result.verdict) output.write(result.verdict->to_line() + "\n");
  }
  output.finish();
}

void add_training(const Commands& commands, const char* name, const char* help,
                  Training& training) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command = commands.add(name, help, [arguments, &common, &training](Terminal& terminal) {
    run(training, *arguments, common.json, terminal);
  });
  add_recipe(*command, arguments->recipe, arguments->overrides);
  command->add_option("--output", arguments->output, "Folder of the run; runs/NAME by default");
  command->add_flag("--resume", arguments->resume,
                    "Go on with the run in the folder; the folder in place of the recipe takes its "
                    "options from the run");
  command->add_flag("--overwrite", arguments->overwrite, "Replace the run in the folder");
}

}  // namespace

void add_train(const Commands& commands) {
  add_training(commands, "train", "Train an encoder by a recipe", train);
  add_training(commands, "pretrain",
               "Pre-train an encoder on plain text as a masked language model", pretrain);
}

}  // namespace simile::cli
