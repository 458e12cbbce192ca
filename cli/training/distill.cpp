// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/parallel.h"
#include "simile/experiment/repeated_training.h"
#include "simile/kernel/matrix_product.h"
#include "simile/train/distillation.h"

namespace simile::cli {
namespace {

struct Arguments {
  DistillationOptions distillation;
  std::string test;
  bool resume = false, overwrite = false;

  void visit(OptionVisitor& v) {
    DistillationOptions& options = distillation;
    v.field("teacher", options.teacher, OptionInfo{kModelHelp}.required());
    v.field("student", options.student,
            {"static, a table of word pieces; or a number of the teacher's layers to keep; or a "
             "model folder to start from"});
    v.field("data", options.data,
            OptionInfo{"Texts to learn from, one a line, or .jsonl with `text`; or a table, with "
                       "--columns"}
                .required());
    v.field("columns", options.columns, {"The one or two columns of a table with its texts"});
    v.all_but({"on_error"}, [&](OptionVisitor& of) { options.table.visit(of); });
    v.field("output", options.output,
            OptionInfo{"Folder of the run: recipe.yaml, which can be changed and trained again, "
                       "model/"}
                .named("--output,--out")
                .required());
    v.field("precision", options.precision,
            choice_info("Numbers that the teacher's matrix products round to; bf16 and int8 are "
                        "faster",
                        precision_names()));
    v.field("epochs", options.epochs, {"Passes over the texts"});
    v.field("learning_rate", options.learning_rate,
            {"Peak learning rate; by default 2e-3 for a static student, 2e-4 for others"});
    v.field("dims", options.dimensions,
            {"Dimensions of a static student, made fewer after training (reduced/); by default the "
             "teacher's"});
    v.field("test", test,
            {"Task file (.yaml or .json, as of simile evaluate) to measure student and teacher "
             "on"});
    v.field("resume", resume, {"Go on with the run in the folder, by the same options"});
    v.field("overwrite", overwrite, {"Replace the run in the folder"});
  }
};

// Each test's reports, with those of `others` behind them.
std::vector<Report> with_others(const DistillationOptions& options,
                                const std::vector<Report>& reports,
                                const std::vector<std::string>& others, Terminal& terminal) {
  if (options.tests.empty()) return reports;
  std::vector<std::unique_ptr<Scorer>> scorers;
  for (const std::string& model : others) scorers.push_back(make_scorer(model, {}, terminal));
  std::vector<Report> all;
  const size_t models = reports.size() / options.tests.size();
  for (size_t i = 0; i < options.tests.size(); ++i) {
    const auto first = reports.begin() + static_cast<std::ptrdiff_t>(i * models);
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(models));
    for (const auto& scorer : scorers) all.push_back(evaluate(options.tests[i], *scorer));
  }
  return all;
}

void run(Arguments& arguments, bool json, Terminal& terminal) {
  DistillationOptions& options = arguments.distillation;
  if (!arguments.test.empty()) {
    SIMILE_CHECK(is_task_file(arguments.test), ErrorKind::kUsage,
                 "--test '{}' is not a task file; give a .yaml or .json that lists "
                 "`tasks`, as for simile evaluate",
                 arguments.test);
    options.tests = read_task_file(arguments.test);
  }
  SIMILE_CHECK(!arguments.resume || !arguments.overwrite, ErrorKind::kUsage, kResumeOrOverwrite);
  const std::string recipe =
      prepare_distillation(options, arguments.resume, arguments.overwrite, terminal);
  const TrainResult result = train_recipe(load_recipe(recipe, {}), options.output, arguments.resume,
                                          arguments.overwrite, terminal);
  const std::optional<std::string> reduced = reduce_student(options, result.model_path, terminal);
  std::vector<std::string> others;
  if (reduced) others.push_back(*reduced);
  others.push_back(options.teacher);
  const std::vector<Report> reports = with_others(options, result.reports, others, terminal);
  const std::string& model = reduced ? *reduced : result.model_path;
  const nlohmann::ordered_json document = {
      {"model", model},
      {"recipe", recipe},
      {"reports", nlohmann::ordered_json::parse(reports_to_json(reports))}};
  print_result(json, document,
               to_table(reports) + fmt::format("{}model: {}\nrecipe: {}\n",
                                               reports.empty() ? "" : "\n", model, recipe));
}

}  // namespace

void add_distill(const Commands& commands) { commands.add_training<Arguments>("distill", run); }

}  // namespace simile::cli
