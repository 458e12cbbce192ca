// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/encode/shard.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> shards;
  std::string output;

  void visit(OptionVisitor& v) {
    v.field(
        "shards", shards,
        OptionInfo{"The .npy files of all shards, in any order, each with its .rows.json beside "
                   "it"}
            .named("shards")
            .required());
    v.field("output", output, OptionInfo{"File to write, ending in .npy"}.required());
  }
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const MergedShards merged = merge_shards(arguments.shards, arguments.output, terminal);
  Output output("-");
  if (json) {
    const nlohmann::ordered_json document = {{"output", arguments.output},
                                             {"shards", merged.shards},
                                             {"rows", merged.rows},
                                             {"columns", merged.columns}};
    output.write(document.dump() + "\n");
  } else {
    output.write(fmt::format("{} vectors of {} numbers from {} shards in {}\n", merged.rows,
                             merged.columns, merged.shards, arguments.output));
  }
  output.finish();
}

}  // namespace

void add_merge(const Commands& commands) {
  commands.add<Arguments>(
      "merge", "Put the vectors of `encode --shard` together in the order of their texts", run);
}

}  // namespace simile::cli
