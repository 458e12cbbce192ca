// SPDX-License-Identifier: Apache-2.0
// The commands that look at runs: compare and report.
#include "cli/command.h"
#include "cli/input.h"
#include "simile/report/comparison.h"
#include "simile/report/html_report.h"

namespace simile::cli {
namespace {

struct CompareArguments {
  std::string a, b;
  ComparisonOptions options;

  void visit(OptionVisitor& v) {
    v.field("a", a,
            OptionInfo{"Run folder (of one or several seeds), hybrid:FOLDER for its model together "
                       "with BM25, or predictions file"}
                .named("a")
                .required());
    v.field("b", b,
            OptionInfo{"The same for the other side: differences are B - A"}.named("b").required());
    options.visit(v);
  }
};

void compare(const CompareArguments& arguments, bool json, Terminal& terminal) {
  const Comparison comparison = compare_runs(arguments.a, arguments.b, arguments.options, terminal);
  write_result(json ? comparison.to_json() + "\n" : comparison.to_table());
}

struct ReportArguments {
  std::vector<std::string> runs;
  std::string output;
  HtmlReportOptions options;

  void visit(OptionVisitor& v) {
    v.field("runs", runs,
            OptionInfo{"Run folders, also of runs that are not finished, and folders that hold "
                       "some at any depth; one of several seeds counts as one"}
                .named("runs")
                .required());
    v.field("output", output, OptionInfo{"The page to write (- for stdout)"}.required());
    options.visit(v);
  }
};

void report(const ReportArguments& arguments, Terminal& terminal) {
  check_outputs({arguments.output}, {});
  write_result(html_report(arguments.runs, arguments.options), arguments.output);
  if (arguments.output != "-") terminal.info("wrote " + arguments.output);
}

}  // namespace

void add_report(const Commands& commands) {
  commands.add<CompareArguments>(
      "compare", "Test whether two runs, or two files of predictions, differ by more than chance",
      compare);
  commands.add<ReportArguments>(
      "report", "Show runs side by side as one HTML page: results, curves, worst errors", report);
}

}  // namespace simile::cli
