// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/option_flags.h"
#include "simile/report/comparison.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string a, b;
  ComparisonOptions options;
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const Comparison comparison = compare_runs(arguments.a, arguments.b, arguments.options, terminal);
  Output output("-");
  output.write(json ? comparison.to_json() + "\n" : comparison.to_table());
  output.finish();
}

}  // namespace

void add_compare(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command = commands.add(
      "compare", "Test whether two runs, or two files of predictions, differ by more than chance",
      [arguments, &common](Terminal& terminal) { run(*arguments, common.json, terminal); });
  command
      ->add_option(
          "a", arguments->a,
          "Run folder (of one or several seeds), hybrid:FOLDER for its model together with "
          "BM25, or predictions file")
      ->required();
  command->add_option("b", arguments->b, "The same of the other side: differences are B - A")
      ->required();
  OptionFlags flags(*command);
  arguments->options.visit(flags);
}

}  // namespace simile::cli
