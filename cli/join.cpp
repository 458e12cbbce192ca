// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/join.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/core/error.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> models;
  std::vector<double> weights;
  std::string output;

  void visit(OptionVisitor& v) {
    v.field("model", models,
            OptionInfo{"Model folder, or the name of a built-in model (simile-mini-2), once for "
                       "each part; static models become the first parts"}
                .words()
                .required());
    v.field("weight", weights,
            OptionInfo{"Factor on the unit vector of each --model, in their order; none: all 1. A "
                       "part counts in cosines by the square of its weight"}
                .words());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.required());
  }
};

std::vector<ModelToJoin> pair_up(const Arguments& arguments) {
  SIMILE_CHECK(
      arguments.weights.empty() || arguments.weights.size() == arguments.models.size(),
      ErrorKind::kUsage,
      fmt::format(
          "{} --model and {} --weight; give each model a weight, in the same order, or none "
          "for equal ones",
          arguments.models.size(), arguments.weights.size()));
  std::vector<ModelToJoin> models;
  for (size_t i = 0; i < arguments.models.size(); ++i) {
    models.push_back({arguments.models[i], arguments.weights.empty() ? 1.0 : arguments.weights[i]});
  }
  return models;
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const JoinReport report = join_models(pair_up(arguments), arguments.output, terminal);
  Output output("-");
  if (json) {
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const JoinedPartReport& part : report.parts) {
      parts.push_back({{"path", part.folder},
                       {"model", part.model},
                       {"weight", part.weight},
                       {"dimension", part.dimensions},
                       {"weights", tensor_type_name(part.type)}});
    }
    const nlohmann::ordered_json document = {{"output", arguments.output},
                                             {"dimension", report.dimensions},
                                             {"parts", std::move(parts)}};
    output.write(document.dump() + "\n");
  } else {
    for (const JoinedPartReport& part : report.parts) {
      output.write(fmt::format("{}  weight {:<6g} {:5} dimensions  {:4}  {}\n", part.folder,
                               part.weight, part.dimensions, tensor_type_name(part.type),
                               part.model));
    }
    output.write(fmt::format("{}: {} dimensions\n", arguments.output, report.dimensions));
  }
  output.finish();
}

}  // namespace

void add_join(const Commands& commands) {
  commands.add<Arguments>(
      "join", "Make one model of several that have the same tokenizer, their vectors side by side",
      run);
}

}  // namespace simile::cli
