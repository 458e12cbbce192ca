// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/option_flags.h"
#include "simile/report/html_report.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> runs;
  std::string output;
  HtmlReportOptions options;
};

void run(const Arguments& arguments, Terminal& terminal) {
  Output output(arguments.output);
  output.write(html_report(arguments.runs, arguments.options));
  output.finish();
  if (arguments.output != "-") terminal.info("wrote " + arguments.output);
}

}  // namespace

void add_report(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = commands.add_without_json(
      "report", "Show runs side by side as one HTML page: results, curves, worst errors",
      [arguments](Terminal& terminal) { run(*arguments, terminal); });
  command
      ->add_option(
          "runs", arguments->runs,
          "Run folders, also of runs that are not finished; one of several seeds counts as "
          "one")
      ->required();
  command->add_option("--output", arguments->output, "The page to write (- for stdout)")
      ->required();
  OptionFlags flags(*command);
  arguments->options.visit(flags);
}

}  // namespace simile::cli
