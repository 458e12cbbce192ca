// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/derive/mean_model.h"

namespace simile::cli {
namespace {

struct Arguments : MeanOptions {
  void visit(OptionVisitor& v) {
    v.field("models", models,
            OptionInfo{"Model folders of one architecture, two or more, such as runs of one recipe "
                       "with other seeds or settings"}
                .named("models")
                .required());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.named("--output,--out").required());
    v.field("weights", weights, {"What each model counts, in their order; none: all alike"});
  }
};

std::string mean_json(const MeanOptions& options, const std::vector<MeanPart>& parts) {
  nlohmann::ordered_json document = {{"output", options.output},
                                     {"parts", nlohmann::ordered_json::array()}};
  for (const MeanPart& part : parts) {
    document["parts"].push_back(
        {{"model", part.model}, {"share", part.share}, {"fingerprint", part.fingerprint}});
  }
  return document.dump() + "\n";
}

std::string mean_table(const MeanOptions& options, const std::vector<MeanPart>& parts) {
  std::string text;
  for (const MeanPart& part : parts)
    text += fmt::format("share {:<7.4g}  {}\n", part.share, part.model);
  return text + fmt::format("model: {}\n", options.output);
}

void run(const MeanOptions& options, bool json, Terminal& terminal) {
  const std::vector<MeanPart> parts = average_models(options, terminal);
  Output output("-");
  output.write(json ? mean_json(options, parts) : mean_table(options, parts));
  output.finish();
}

}  // namespace

void add_fuse(const Commands& commands) {
  commands.add<Arguments>("fuse", "Average the weights of several runs of one model", run);
}

}  // namespace simile::cli
