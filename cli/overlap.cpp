// SPDX-License-Identifier: Apache-2.0
#include "simile/data/overlap.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/core/text_table.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> training, test;
  bool list = false;
  OverlapOptions options;

  void visit(OptionVisitor& v) {
    v.field("training", training,
            OptionInfo{"Training files: .tsv, .csv, .jsonl or one text a line, also with .gz or "
                       ".zst"}
                .named("training")
                .required());
    v.field("with", test,
            OptionInfo{"Test files, of the same kinds, or folders of ranking sets; of tables of "
                       "pairs and of these, pairs, left and right texts of four words and more are "
                       "counted apart too"}
                .words()
                .required());
    v.field("list", list, {"List the texts found and where they are"});
    options.visit(v);
  }
};

double found_fraction(const OverlapCount& count) {
  if (count.distinct == 0) return 0;
  return static_cast<double>(count.found) / static_cast<double>(count.distinct);
}

std::string list_texts(const OverlapReport& report, bool near) {
  std::string list = fmt::format("\ntest file\tfound at\t{}text\n", near ? "share\t" : "");
  for (const OverlapText& found : report.found) {
    const std::string share = near ? fmt::format("{:.2f}\t", found.share) : "";
    list += fmt::format("{}\t{}\t{}{}\n", found.test_file, found.found_at, share, found.text);
  }
  return list;
}

// Pairs, left and right texts apart, of the test files that have such.
std::string pairs_to_table(const OverlapReport& report) {
  TableRows rows = {
      {"pairs    ", "   pairs", "   found", "    left", "   found", "   right", "   found"}};
  for (const OverlapCount& count : report.counts) {
    if (!count.pairs) continue;
    rows.push_back({count.file});
    for (const int64_t number :
         {count.pairs->examples, count.pairs->found, count.pairs->queries,
          count.pairs->queries_found, count.pairs->documents, count.pairs->documents_found}) {
      rows.back().push_back(std::to_string(number));
    }
  }
  return rows.size() == 1 ? "" : "\n" + text_table(rows, {0, "lr"});
}

std::string to_table(const OverlapReport& report, bool near, bool list) {
  TableRows rows = {{"test file", "   texts", "distinct", "   found", "     %"}};
  if (near) rows[0].emplace_back("    near");
  for (const OverlapCount& count : report.counts) {
    rows.push_back({count.file, std::to_string(count.texts), std::to_string(count.distinct),
                    std::to_string(count.found), show_figure(found_fraction(count), true)});
    if (near) rows.back().push_back(std::to_string(count.near));
  }
  const std::string table = text_table(rows, {0, "lr"}) + pairs_to_table(report);
  return list ? table + list_texts(report, near) : table;
}

std::string to_json(const OverlapReport& report, bool near, bool list) {
  nlohmann::ordered_json document = {{"training_texts", report.training_texts},
                                     {"files", nlohmann::ordered_json::array()}};
  for (const OverlapCount& count : report.counts) {
    document["files"].push_back({{"file", count.file},
                                 {"texts", count.texts},
                                 {"distinct", count.distinct},
                                 {"found", count.found},
                                 {"fraction", found_fraction(count)}});
    if (near) document["files"].back()["near"] = count.near;
    if (!count.pairs) continue;
    const Leak& pairs = *count.pairs;
    document["files"].back()["pairs"] = {{"pairs", pairs.examples},
                                         {"found", pairs.found},
                                         {"left", pairs.queries},
                                         {"left_found", pairs.queries_found},
                                         {"right", pairs.documents},
                                         {"right_found", pairs.documents_found},
                                         {"pairs_with_right_found", pairs.examples_of_seen}};
  }
  if (list) {
    document["found"] = nlohmann::ordered_json::array();
    for (const OverlapText& found : report.found) {
      document["found"].push_back(
          {{"file", found.test_file}, {"found_at", found.found_at}, {"text", found.text}});
      if (near) document["found"].back()["share"] = found.share;
    }
  }
  return json_line(document);
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  SIMILE_CHECK(arguments.options.near > 0 || arguments.options.shingle == OverlapOptions().shingle,
               ErrorKind::kUsage, "--shingle is of --near, which is not given");
  const OverlapReport report =
      find_overlap(arguments.training, arguments.test, arguments.options, terminal);
  const bool near = arguments.options.near > 0;
  write_result(json ? to_json(report, near, arguments.list)
                    : to_table(report, near, arguments.list));
}

}  // namespace

void add_overlap(const Commands& commands) {
  commands.add<Arguments>("overlap",
                          "Count the texts of test files that also occur in training files", run);
}

}  // namespace simile::cli
