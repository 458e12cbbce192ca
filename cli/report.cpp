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

  void visit(OptionVisitor& v) {
    v.field(
        "runs", runs,
        OptionInfo{"Run folders, also of runs that are not finished, and folders that hold some "
                   "at any depth; one of several seeds counts as one"}
            .named("runs")
            .required());
    v.field("output", output, OptionInfo{"The page to write (- for stdout)"}.required());
    options.visit(v);
  }
};

void run(const Arguments& arguments, Terminal& terminal) {
  Output output(arguments.output);
  output.write(html_report(arguments.runs, arguments.options));
  output.finish();
  if (arguments.output != "-") terminal.info("wrote " + arguments.output);
}

}  // namespace

void add_report(const Commands& commands) {
  commands.add<Arguments>(
      "report", "Show runs side by side as one HTML page: results, curves, worst errors", run);
}

}  // namespace simile::cli
