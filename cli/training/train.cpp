// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/training/processes.h"
#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/data/recipe_draft.h"
#include "simile/experiment/repeated_training.h"
#include "simile/train/process_group.h"
#include "simile/train/process_place.h"

namespace simile::cli {
namespace {

struct Arguments {
  RecipeArguments recipe;
  std::string output;
  bool resume = false;
  bool overwrite = false;
  std::optional<int> processes;  // none: as the environment says
  double timeout = 600;          // seconds
  std::string data;
  GivenOptions<DraftOptions> draft{GivenOptions<DraftOptions>::Defaults::kShown};  // of --data

  void visit(OptionVisitor& v) {
    recipe.visit(v);
    v.field("output", output, {"Folder of the run; runs/NAME by default"});
    v.field("resume", resume,
            {"Resume the run in the output folder; the run's folder instead of the recipe reuses "
             "its options"});
    v.field("overwrite", overwrite, {"Replace the run in the folder"});
  }
};

struct SharedArguments : Arguments {
  SharedArguments() { recipe.is_required = false; }
  void visit(OptionVisitor& v) {
    Arguments::visit(v);
    v.field("data", data,
            {"Instead of a recipe: a table, trained by the recipe that `simile init` would write "
             "for it"});
    draft.visit(v);
    v.field("processes", processes,
            {"Processes to start on this machine, which train as one; on several machines start "
             "this command with torchrun, mpirun or srun",
             "", 1, 4096});
    v.field(
        "timeout", timeout,
        {"Seconds that a process waits for the others before it names those that hang", "", 1e-3});
  }
};

// `processes` is null for one alone.
using Training = TrainResult (*)(const ConfigNode& recipe, const std::string& folder, bool resume,
                                 bool overwrite, EventSink& events, ProcessGroup* processes);

// Among several processes only rank 0 prints; the others only watch for signals.
class Follower : public EventSink {
 public:
  void progress(const Progress& /*progress*/) override { check_signal(); }
};

// The processes that this one was started to train with; null: none.
std::unique_ptr<ProcessGroup> join_processes(const Arguments& arguments) {
  const std::optional<ProcessPlace> place = find_process_place(environment_variable);
  if (!place) return nullptr;
  SIMILE_CHECK(!arguments.processes || is_started_process(), ErrorKind::kUsage,
               "--processes {} starts processes, and the environment says that this is one of {} "
               "that torchrun, mpirun or srun started; leave --processes out",
               *arguments.processes, place->size);
  return ProcessGroup::connect(*place, arguments.timeout);
}

// A run's folder means the recipe in it, overrides included.
Arguments find_recipe(Arguments arguments) {
  if (!folder_exists(arguments.recipe.recipe)) return arguments;
  const std::string folder = arguments.recipe.recipe;
  arguments.recipe.recipe = join_path(folder, "run.json");
  SIMILE_CHECK(file_exists(arguments.recipe.recipe), ErrorKind::kUsage,
               "'{}' is a folder without a run.json, so it holds no run; give a recipe (.yaml)",
               folder);
  SIMILE_CHECK(arguments.resume, ErrorKind::kUsage,
               "'{0}' is the folder of a run; add --resume to go on with it, or repeat it "
               "elsewhere: simile train {0}/run.json --output FOLDER",
               folder);
  SIMILE_CHECK(arguments.output.empty(), ErrorKind::kUsage,
               "the run goes on in its folder '{}'; leave --output out", folder);
  arguments.output = folder;
  return arguments;
}

ConfigNode read_recipe(const Arguments& arguments, Terminal& terminal) {
  const auto& [file, overrides, required] = arguments.recipe;
  const std::string& data = arguments.data;
  if (data.empty()) {
    SIMILE_CHECK(!file.empty(), ErrorKind::kUsage,
                 "give a recipe (.yaml), or a table to train on: --data FILE --model NAME");
    SIMILE_CHECK(
        !arguments.draft.any(), ErrorKind::kUsage,
        "--{} belongs to --data; a recipe's own value is replaced as KEY=VALUE, such as model=NAME",
        arguments.draft.any() ? arguments.draft.names().front() : "");
    return load_recipe(file, overrides);
  }
  std::vector<std::string> values = overrides;
  if (!file.empty()) values.insert(values.begin(), file);
  DraftOptions options = arguments.draft.values();
  options.data = data;
  const RecipeDraft draft = draft_recipe(options);
  terminal.info(draft.found);
  ConfigNode recipe = parse_config(draft.yaml, "draft");
  for (const std::string& value : values) apply_override(recipe, value);
  return finish_recipe(std::move(recipe), data);
}

template <Training training>
void run(const Arguments& given, const CommonOptions& common, Terminal& terminal) {
  SIMILE_CHECK(!given.resume || !given.overwrite, ErrorKind::kUsage, kResumeOrOverwrite);
  if (given.processes.value_or(0) > 1 && !is_started_process()) {
    SIMILE_CHECK(!find_process_place(environment_variable), ErrorKind::kUsage,
                 "--processes starts processes, and the environment says that torchrun, mpirun or "
                 "srun has started this one among several; leave --processes out");
    throw ExitCode{start_processes(*given.processes, common)};
  }
  const Arguments arguments = find_recipe(given);
  const ConfigNode recipe = read_recipe(arguments, terminal);
  const std::unique_ptr<ProcessGroup> processes = join_processes(arguments);
  const bool follows = processes && processes->rank() > 0;
  Follower follower;
  EventSink& events = follows ? static_cast<EventSink&>(follower) : terminal;
  const TrainResult result = training(recipe, arguments.output, arguments.resume,
                                      arguments.overwrite, events, processes.get());
  if (follows) return;
  nlohmann::ordered_json document;
  std::string text = to_table(result.reports) + "\n";
  if (!result.model_path.empty()) {
    document["model"] = result.model_path;
    text += fmt::format("model: {}\n", result.model_path);
  }
  if (result.verdict) {
    document["verdict"] = nlohmann::ordered_json::parse(result.verdict->to_json());
    text += result.verdict->to_text() + "\n";
  }
  document["reports"] = nlohmann::ordered_json::parse(reports_to_json(result.reports));
  print_result(common.json, document, text);
}

TrainResult pretrain_alone(const ConfigNode& recipe, const std::string& folder, bool resume,
                           bool overwrite, EventSink& events, ProcessGroup* processes) {
  SIMILE_CHECK(processes == nullptr, ErrorKind::kUsage,
               "`simile pretrain` trains in one process; start it without torchrun, mpirun or "
               "srun's several tasks");
  return pretrain(recipe, folder, resume, overwrite, events);
}

}  // namespace

void add_train(const Commands& commands) {
  commands.add_training<SharedArguments>("train", run<train_recipe>);
  commands.add_training<Arguments>("pretrain", run<pretrain_alone>);
}

}  // namespace simile::cli
