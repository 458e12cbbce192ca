// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/convert.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"

namespace simile::cli {
namespace {

const std::map<std::string, TensorType>& precisions() {
  static const std::map<std::string, TensorType> types = {{"fp32", TensorType::kF32},
                                                          {"fp16", TensorType::kF16},
                                                          {"bf16", TensorType::kBf16},
                                                          {"int8", TensorType::kI8}};
  return types;
}

struct Arguments {
  std::string model, output, precision = "fp16";

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("output", output, OptionInfo{kOutputFolderHelp}.required());
    v.field("precision", precision,
            choice_info("How weights are stored; int8 is read by Simile alone",
                        {"fp32", "fp16", "bf16", "int8"}));
  }
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const ConversionReport report = convert_model(arguments.model, arguments.output,
                                                precisions().at(arguments.precision), terminal);
  Output output("-");
  if (json) {
    const nlohmann::ordered_json document = {
        {"model", arguments.model},          {"output", arguments.output},
        {"precision", arguments.precision},  {"bytes_before", report.bytes_before},
        {"bytes_after", report.bytes_after}, {"largest_difference", report.largest_difference},
        {"mean_cosine", report.mean_cosine}, {"least_cosine", report.least_cosine}};
    output.write(document.dump() + "\n");
  } else {
    constexpr double kMegabyte = 1e6;
    output.write(
        fmt::format("weights            {:.1f} MB, now {:.1f} MB\nlargest difference {:.1e}\nmean "
                    "cosine        "
                    "{:.6f}\nleast cosine       {:.6f}\n",
                    static_cast<double>(report.bytes_before) / kMegabyte,
                    static_cast<double>(report.bytes_after) / kMegabyte, report.largest_difference,
                    report.mean_cosine, report.least_cosine));
  }
  output.finish();
}

}  // namespace

void add_convert(const Commands& commands) {
  commands.add<Arguments>(
      "convert", "Write a model folder anew, its weights in one file and another precision", run);
}

}  // namespace simile::cli
