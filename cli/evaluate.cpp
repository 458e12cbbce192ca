// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/option_flags.h"
#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/task.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> models;
  std::string task;
  EvaluationOptions options;
  std::string output, predictions;
  EncodeOptions model_options;
};

// A task file: a list of evaluations under `tasks`.
struct TaskFile {
  std::vector<EvaluationOptions> tasks;
  void visit(OptionVisitor& v) { v.list("tasks", tasks, "evaluations, in the order to report"); }
};

std::vector<EvaluationOptions> chosen_tasks(Arguments& arguments) {
  if (file_exists(arguments.task)) {
    TaskFile file;
    read_options(load_config(arguments.task), file);
    SIMILE_CHECK(!file.tasks.empty(), ErrorKind::kRecipe,
                 fmt::format("'{}' lists no `tasks`", arguments.task));
    return file.tasks;
  }
  // Read through the option reader, so that a wrong name is told as in a recipe.
  ConfigNode node = parse_config("{}", "command line");
  apply_override(node, "task=" + arguments.task);
  read_options(node, arguments.options);
  return {arguments.options};
}

std::string reports_to_json(const std::vector<Report>& reports) {
  if (reports.size() == 1) return reports[0].to_json() + "\n";
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Report& report : reports) all.push_back(nlohmann::ordered_json::parse(report.to_json()));
  return all.dump() + "\n";
}

void run(Arguments& arguments, bool json, Terminal& terminal) {
  std::vector<std::unique_ptr<Task>> tasks;
  for (const EvaluationOptions& options : chosen_tasks(arguments)) {
    tasks.push_back(load_task(options));
    for (const std::string& warning : tasks.back()->warnings()) terminal.warning(warning);
  }
  SIMILE_CHECK(arguments.predictions.empty() || (tasks.size() == 1 && arguments.models.size() == 1),
               ErrorKind::kUsage, "--predictions needs one model and one task");
  std::vector<std::vector<Report>> by_task(tasks.size());
  for (const std::string& model : arguments.models) {
    const std::unique_ptr<Scorer> scorer = make_scorer(model, arguments.model_options, terminal);
    for (size_t i = 0; i < tasks.size(); ++i) {
      by_task[i].push_back(tasks[i]->evaluate(*scorer, arguments.predictions));
    }
  }
  std::vector<Report> reports;
  for (const auto& of_task : by_task) reports.insert(reports.end(), of_task.begin(), of_task.end());
  Output output("-");
  output.write(json ? reports_to_json(reports) : to_table(reports));
  output.finish();
  if (!arguments.output.empty()) {
    Output file(arguments.output);
    file.write(reports_to_json(reports));
    file.finish();
  }
}

}  // namespace

void add_evaluate(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command =
      commands.add("evaluate", "Score a model on a task", [arguments, &common](Terminal& terminal) {
        run(*arguments, common.json, terminal);
      });
  command
      ->add_option("--model", arguments->models,
                   "Model folder, or the baselines bm25 and tfidf; several stand side by side")
      ->required();
  command->add_option("--task", arguments->task, "sts, pairs, ranking, or a task file (YAML)")
      ->required();
  OptionFlags flags(*command, {"task"});
  arguments->options.visit(flags);
  command->add_option("--output", arguments->output, "Also write the report as JSON to this file");
  command->add_option("--predictions", arguments->predictions,
                      "Write what the model gave each example: .tsv, or a TREC run for rankings");
  add_model_options(*command, arguments->model_options);
}

}  // namespace simile::cli
