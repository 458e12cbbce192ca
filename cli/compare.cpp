// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/option_flags.h"
#include "simile/report/comparison.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string a, b;
  ComparisonOptions options;

  void visit(OptionVisitor& v) {
    v.field("a", a,
            OptionInfo{"Run folder (of one or several seeds), hybrid:FOLDER for its model together "
                       "with BM25, or predictions file"}
                .named("a")
                .required());
    v.field("b", b,
            OptionInfo{"The same of the other side: differences are B - A"}.named("b").required());
    options.visit(v);
  }
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const Comparison comparison = compare_runs(arguments.a, arguments.b, arguments.options, terminal);
  Output output("-");
  output.write(json ? comparison.to_json() + "\n" : comparison.to_table());
  output.finish();
}

}  // namespace

void add_compare(const Commands& commands) {
  commands.add<Arguments>(
      "compare", "Test whether two runs, or two files of predictions, differ by more than chance",
      run);
}

}  // namespace simile::cli
