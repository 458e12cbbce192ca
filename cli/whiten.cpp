// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/whiten.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, input, output;
  int64_t limit = 50000, seed = 1;
  WhiteningOptions whitening;
  EncodeOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("input", input,
            OptionInfo{"Texts of the kind that will be compared, one a line, or .jsonl; - is stdin"}
                .required());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.required());
    whitening.visit(v);
    v.field("limit", limit,
            {"Texts to use, drawn at random where there are more; 0 uses all", "", 0});
    v.field("seed", seed, {"Seed of that choice", "", 0});
    encode.visit_texts(v);
  }
};

// Vitter's algorithm R: each text of the input with the same chance.
std::vector<std::string> read_sample(const Arguments& arguments, Terminal& terminal) {
  TextListReader reader = open_texts(arguments.input);
  RandomStream stream(static_cast<uint64_t>(arguments.seed), "whiten");
  const auto limit = static_cast<uint64_t>(arguments.limit);
  std::vector<std::string> texts;
  TextItem item;
  for (uint64_t read = 1; reader.next(item); ++read) {
    check_signal();
    if (limit == 0 || texts.size() < limit) {
      texts.push_back(std::move(item.text));
    } else if (const uint64_t place = stream.below(read); place < limit) {
      texts[place] = std::move(item.text);
    }
  }
  warn_about(reader.report(), terminal);
  return texts;
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  SIMILE_CHECK(arguments.limit > 0 || arguments.seed == Arguments().seed, ErrorKind::kUsage,
               "--seed chooses the texts of a --limit, and with 0 all are used");
  const std::vector<std::string> texts = read_sample(arguments, terminal);
  const WhiteningReport report = whiten_model(arguments.model, texts, arguments.whitening,
                                              arguments.encode, arguments.output, terminal);
  Output output("-");
  if (json) {
    const nlohmann::ordered_json document = {{"model", arguments.model},
                                             {"output", arguments.output},
                                             {"texts", report.texts},
                                             {"dimensions_before", report.inputs},
                                             {"dimensions", report.outputs},
                                             {"variance_kept", report.kept},
                                             {"largest_deviation", report.largest_deviation},
                                             {"smallest_deviation", report.smallest_deviation},
                                             {"mean_cosine_before", report.cosine_before},
                                             {"mean_cosine", report.cosine_after}};
    output.write(document.dump() + "\n");
  } else {
    output.write(fmt::format(
        "texts         {}\ndimensions    {}, now {}, with {:.1f} % of the variance\ndeviations    "
        "{:.2e} to {:.2e} along the axes\nmean cosine   {:.3f}, now {:.3f}, of two texts\n",
        report.texts, report.inputs, report.outputs, 100 * report.kept, report.smallest_deviation,
        report.largest_deviation, report.cosine_before, report.cosine_after));
  }
  output.finish();
}

}  // namespace

void add_whiten(const Commands& commands) {
  commands.add<Arguments>("whiten", "Write a model folder anew, the axes of its vectors evened out",
                          run);
}

}  // namespace simile::cli
