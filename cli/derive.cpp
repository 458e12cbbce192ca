// SPDX-License-Identifier: Apache-2.0
// The commands that make models from models: convert, whiten and fuse.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/derive/convert.h"
#include "simile/derive/mean_model.h"
#include "simile/derive/whiten.h"

namespace simile::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ConvertArguments {
  std::string model, output, precision = "fp16";

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.required());
    v.field("precision", precision,
            choice_info("Number type of stored weights; only Simile reads int8",
                        {"fp32", "fp16", "bf16", "int8"}));
  }
};

void convert(const ConvertArguments& arguments, bool json, Terminal& terminal) {
  static const std::map<std::string, TensorType> types = {{"fp32", TensorType::kF32},
                                                          {"fp16", TensorType::kF16},
                                                          {"bf16", TensorType::kBf16},
                                                          {"int8", TensorType::kI8}};
  const ConversionReport report =
      convert_model(arguments.model, arguments.output, types.at(arguments.precision), terminal);
  print_result(
      json,
      {{"model", arguments.model},
       {"output", arguments.output},
       {"precision", arguments.precision},
       {"bytes_before", report.bytes_before},
       {"bytes_after", report.bytes_after},
       {"largest_difference", report.largest_difference},
       {"mean_cosine", report.mean_cosine},
       {"least_cosine", report.least_cosine}},
      fmt::format("weights            {:.1f} MB, now {:.1f} MB\nlargest difference {:.1e}\n"
                  "mean cosine        {:.6f}\nleast cosine       {:.6f}\n",
                  static_cast<double>(report.bytes_before) / 1e6,
                  static_cast<double>(report.bytes_after) / 1e6, report.largest_difference,
                  report.mean_cosine, report.least_cosine));
}

struct WhitenArguments {
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
    v.field("limit", limit, {"Texts to use, drawn at random if there are more; 0: all", "", 0});
    v.field("seed", seed, {"Seed of that choice", "", 0});
    encode.visit_texts(v);
  }
};

// Vitter's algorithm R: each text of the input with the same chance.
std::vector<std::string> read_sample(const WhitenArguments& arguments, Terminal& terminal) {
  warn_about_table(arguments.input, terminal);
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

void whiten(const WhitenArguments& arguments, bool json, Terminal& terminal) {
  SIMILE_CHECK(arguments.limit > 0 || arguments.seed == WhitenArguments().seed, ErrorKind::kUsage,
               "--seed chooses the texts of a --limit, and with 0 all are used");
  check_not_read(arguments.output, arguments.input);
  const std::vector<std::string> texts = read_sample(arguments, terminal);
  const WhiteningReport report = whiten_model(arguments.model, texts, arguments.whitening,
                                              arguments.encode, arguments.output, terminal);
  print_result(
      json,
      {{"model", arguments.model},
       {"output", arguments.output},
       {"texts", report.texts},
       {"dimensions_before", report.inputs},
       {"dimensions", report.outputs},
       {"variance_kept", report.kept},
       {"largest_deviation", report.largest_deviation},
       {"smallest_deviation", report.smallest_deviation},
       {"mean_cosine_before", report.cosine_before},
       {"mean_cosine", report.cosine_after}},
      fmt::format(
          "texts         {}\ndimensions    {}, now {}, with {:.1f} % of the variance\ndeviations   "
          " {:.2e} to {:.2e} along the axes\nmean cosine   {:.3f}, now {:.3f}, of two texts\n",
          report.texts, report.inputs, report.outputs, 100 * report.kept, report.smallest_deviation,
          report.largest_deviation, report.cosine_before, report.cosine_after));
}

struct FuseArguments : MeanOptions {
  void visit(OptionVisitor& v) {
    v.field("models", models,
            OptionInfo{"Model folders of one architecture, two or more, such as runs of one recipe "
                       "with other seeds or settings"}
                .named("models")
                .required());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.named("--output,--out").required());
    v.field("weights", weights, {"Weight of each model, in their order; none: all equal"});
  }
};

void fuse(const FuseArguments& arguments, bool json, Terminal& terminal) {
  Json parts = Json::array();
  std::string text;
  for (const MeanPart& part : average_models(arguments, terminal)) {
    parts.push_back(
        {{"model", part.model}, {"share", part.share}, {"fingerprint", part.fingerprint}});
    text += fmt::format("share {:<7.4g}  {}\n", part.share, part.model);
  }
  print_result(json, {{"output", arguments.output}, {"parts", std::move(parts)}},
               text + fmt::format("model: {}\n", arguments.output));
}

}  // namespace

void add_derive(const Commands& commands) {
  commands.add<ConvertArguments>(
      "convert", "Save a model with its weights in one file and another precision", convert);
  commands.add<WhitenArguments>(
      "whiten", "Whiten a model's vectors (PCA) and save it as a new model", whiten);
  commands.add<FuseArguments>("fuse", "Average the weights of several runs of one model", fuse);
}

}  // namespace simile::cli
