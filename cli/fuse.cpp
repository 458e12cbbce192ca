// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/task_file.h"
#include "simile/core/error.h"
#include "simile/eval/soup.h"

namespace simile::cli {
namespace {

struct Arguments {
  SoupOptions soup;
  std::string task, test;
};

std::vector<EvaluationOptions> read_tasks(const char* flag, const std::string& path) {
  if (path.empty()) return {};
  SIMILE_CHECK(is_task_file(path), ErrorKind::kUsage,
               fmt::format("{} '{}' is not a task file; give a .yaml or .json that lists `tasks`, "
                           "as for simile evaluate",
                           flag, path));
  return read_task_file(path);
}

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string soup_json(const Arguments& arguments, const SoupReport& report) {
  nlohmann::ordered_json document = {{"output", arguments.soup.output},
                                     {"parts", nlohmann::ordered_json::array()}};
  for (const SoupPart& part : report.parts) {
    nlohmann::ordered_json one = {
        {"model", part.model}, {"share", part.share}, {"fingerprint", part.fingerprint}};
    if (report.value) one["value"] = number(part.value);
    if (report.value) one["value_of_mean_with_it"] = number(part.joined);
    document["parts"].push_back(std::move(one));
  }
  if (report.value) document["metric"] = arguments.soup.metric;
  if (report.value) document["value"] = *report.value;
  document["reports"] = nlohmann::ordered_json::array();
  for (const Report& each : report.reports) {
    document["reports"].push_back(nlohmann::ordered_json::parse(each.to_json()));
  }
  return document.dump() + "\n";
}

std::string soup_table(const Arguments& arguments, const SoupReport& report) {
  std::string text = report.reports.empty() ? "" : to_table(report.reports) + "\n";
  for (const SoupPart& part : report.parts) {
    text += part.share > 0 ? fmt::format("share {:<7.4g}", part.share) : "left out     ";
    if (part.value) text += fmt::format("  {} {:.2f}", arguments.soup.metric, 100 * *part.value);
    text += "  " + part.model + "\n";
  }
  return text + fmt::format("model: {}\n", arguments.soup.output);
}

void run(Arguments& arguments, bool json, Terminal& terminal) {
  arguments.soup.tasks = read_tasks("--task", arguments.task);
  arguments.soup.tests = read_tasks("--test", arguments.test);
  const SoupReport report = make_soup(arguments.soup, terminal);
  Output output("-");
  output.write(json ? soup_json(arguments, report) : soup_table(arguments, report));
  output.finish();
}

}  // namespace

void add_fuse(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command = commands.add(
      "fuse", "Average the weights of several runs of one model, and measure the mean beside them",
      [arguments, &common](Terminal& terminal) { run(*arguments, common.json, terminal); });
  command
      ->add_option("models", arguments->soup.models,
                   "Model folders of one architecture, two or more, such as runs of one recipe "
                   "with other seeds or settings")
      ->required();
  command
      ->add_option("--output,--out", arguments->soup.output,
                   "Folder to write, or a model folder to replace")
      ->required();
  command
      ->add_option("--weights", arguments->soup.weights,
                   "What each model counts, in their order; none: all alike")
      ->delimiter(',');
  command->add_option("--task", arguments->task,
                      "Task file (.yaml or .json, as of simile evaluate) to measure the mean and "
                      "its parts on");
  command->add_option("--metric", arguments->soup.metric,
                      "Take only models that do not lower this metric of --task, best first: "
                      "METRIC, or NAME.METRIC of one of several tasks");
  command->add_option("--test", arguments->test, "Task file that is measured and not chosen by");
}

}  // namespace simile::cli
