// SPDX-License-Identifier: Apache-2.0
#include "simile/data/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/option_flags.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> training, test;
  bool list = false;
  OverlapOptions options;
};

double found_fraction(const OverlapCount& count) {
  if (count.distinct == 0) return 0;
  return static_cast<double>(count.found) / static_cast<double>(count.distinct);
}

std::string to_table(const OverlapReport& report, bool list) {
  size_t width = 9;
  for (const OverlapCount& count : report.counts) width = std::max(width, count.file.size());
  std::string table = fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>6}\n", "test file", width,
                                  "texts", "distinct", "found", "%");
  for (const OverlapCount& count : report.counts) {
    table += fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>6.2f}\n", count.file, width, count.texts,
                         count.distinct, count.found, 100 * found_fraction(count));
  }
  if (!list) return table;
  table += "\ntest file\tfound at\ttext\n";
  for (const OverlapText& found : report.found) {
    table += fmt::format("{}\t{}\t{}\n", found.test_file, found.found_at, found.text);
  }
  return table;
}

std::string to_json(const OverlapReport& report, bool list) {
  nlohmann::ordered_json document = {{"training_texts", report.training_texts},
                                     {"files", nlohmann::ordered_json::array()}};
  for (const OverlapCount& count : report.counts) {
    document["files"].push_back({{"file", count.file},
                                 {"texts", count.texts},
                                 {"distinct", count.distinct},
                                 {"found", count.found},
                                 {"fraction", found_fraction(count)}});
  }
  if (list) {
    document["found"] = nlohmann::ordered_json::array();
    for (const OverlapText& found : report.found) {
      document["found"].push_back(
          {{"file", found.test_file}, {"found_at", found.found_at}, {"text", found.text}});
    }
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const OverlapReport report =
      find_overlap(arguments.training, arguments.test, arguments.options, terminal);
  Output output("-");
  output.write(json ? to_json(report, arguments.list) : to_table(report, arguments.list));
  output.finish();
}

}  // namespace

void add_overlap(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command = commands.add(
      "overlap", "Count the texts of test files that also occur in training files",
      [arguments, &common](Terminal& terminal) { run(*arguments, common.json, terminal); });
  command
      ->add_option("training", arguments->training,
                   "Training files: .tsv, .csv, .jsonl or one text a line, also with .gz or .zst")
      ->required();
  command->add_option("--with", arguments->test, "Test files, of the same kinds")->required();
  command->add_flag("--list", arguments->list, "List the texts found and where they are");
  OptionFlags flags(*command);
  arguments->options.visit(flags);
}

}  // namespace simile::cli
