// SPDX-License-Identifier: Apache-2.0
// data get: public data sets; get: models of the hub; overlap: texts of test files that training
// files have too.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/data/catalogue.h"
#include "simile/data/overlap.h"
#include "simile/model/hub.h"

namespace simile::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GetArguments {
  std::string name, folder, catalogue;
  std::vector<std::string> accepted;
  bool list = false;

  void visit(OptionVisitor& v) {
    v.field("name", name, OptionInfo{"Name of the set, see --list"}.named("name"));
    v.field("output", folder, {"Folder for the files; data/NAME by default"});
    v.field("list", list, {"List the sets, their licences and contents"});
    v.field("catalogue", catalogue,
            {"File with other sets, instead of the built-in ones (YAML or JSON)"});
    v.field("accept_checksum", accepted,
            OptionInfo{"Accept a file with this checksum if another or none is known"}.words());
  }
};

void list(const std::vector<CatalogueSet>& catalogue, bool json) {
  Json document = Json::array();
  std::string text;
  for (const CatalogueSet& set : catalogue) {
    document.push_back({{"name", set.name},
                        {"description", set.description},
                        {"licence", set.licence},
                        {"advice", set.advice}});
    bool is_known = true;
    for (const CatalogueFile& file : set.files) {
      document.back()["files"].push_back(
          {{"url", file.url}, {"name", file.file_name()}, {"checksum", file.checksum}});
      is_known = is_known && !file.checksum.empty();
    }
    text += fmt::format("{:10} {}\n{:10} licence: {}\n{:10} files: {}{}; {}\n", set.name,
                        set.description, "", set.licence, "", set.files.size(),
                        is_known ? "" : ", checksum not known", set.advice);
  }
  print_result(json, document, text);
}

void get(const GetArguments& arguments, bool json, Terminal& terminal) {
  const std::vector<CatalogueSet> catalogue =
      arguments.catalogue.empty() ? builtin_catalogue() : read_catalogue(arguments.catalogue);
  if (arguments.list) return list(catalogue, json);
  SIMILE_CHECK(!arguments.name.empty(), ErrorKind::kUsage,
               "give the name of a data set, or --list to see which there are");
  const CatalogueSet& set = find_set(catalogue, arguments.name);
  const std::string folder =
      arguments.folder.empty() ? join_path("data", set.name) : arguments.folder;
  Json document = {{"name", set.name}, {"licence", set.licence}};
  std::string text;
  for (const FetchedFile& file :
       fetch_set(set, folder, arguments.accepted, DownloadOptions(), terminal)) {
    document["files"].push_back({{"path", file.path}, {"checksum", file.checksum}});
    text += fmt::format("{}  {}\n", file.path, file.checksum);
  }
  print_result(json, document,
               text + fmt::format("licence: {}\nnext: {}\n", set.licence, set.advice));
}

struct ModelArguments {
  std::vector<std::string> names;

  void visit(OptionVisitor& v) {
    v.field("name", names,
            OptionInfo{"Model on the Hugging Face hub: ORG/NAME or ORG/NAME@REVISION"}
                .required()
                .one_or_more()
                .named("name"));
  }
};

struct FetchedModel {
  std::string name, folder;
  void visit(OptionVisitor& v) {
    v.required("name", name);
    v.required("folder", folder);
  }
};

void get_models(const ModelArguments& arguments, bool json, Terminal& terminal) {
  std::vector<HubName> names;
  for (const std::string& text : arguments.names) {
    const std::optional<HubName> name = parse_hub_name(text);
    SIMILE_CHECK(name, ErrorKind::kUsage,
                 "'{}' is no name of a model on the hub; expected ORG/NAME, such as "
                 "sentence-transformers/all-MiniLM-L6-v2",
                 text);
    names.push_back(*name);
  }
  const HubSettings settings = hub_settings();
  std::vector<FetchedModel> fetched;
  for (const HubName& name : names) {
    fetched.push_back({name.text(), fetch_hub_model(name, settings, DownloadOptions(), terminal)});
  }
  std::string text;
  for (const FetchedModel& model : fetched) text += model.folder + "\n";
  write_result(json ? options_to_json(fetched, -1) + "\n" : text);
}

struct OverlapArguments {
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
            OptionInfo{"Test files of the same kinds, or folders of ranking sets. In tables of "
                       "pairs and ranking sets, pairs, left texts and right texts of four or more "
                       "words are also counted separately"}
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

std::string to_table(const OverlapReport& report, bool near, bool list) {
  TableRows rows = {{"test file", "   texts", "distinct", "   found", "     %"}};
  if (near) rows[0].emplace_back("    near");
  for (const OverlapCount& count : report.counts) {
    rows.push_back({count.file, std::to_string(count.texts), std::to_string(count.distinct),
                    std::to_string(count.found), show_figure(found_fraction(count), true)});
    if (near) rows.back().push_back(std::to_string(count.near));
  }
  std::string text = text_table(rows, {0, "lr"});
  // Pairs, left and right texts apart, of the test files that have such.
  rows = {{"pairs    ", "   pairs", "   found", "    left", "   found", "   right", "   found"}};
  for (const OverlapCount& count : report.counts) {
    if (!count.pairs) continue;
    rows.push_back({count.file});
    for (const int64_t number :
         {count.pairs->examples, count.pairs->found, count.pairs->queries,
          count.pairs->queries_found, count.pairs->documents, count.pairs->documents_found}) {
      rows.back().push_back(std::to_string(number));
    }
  }
  if (rows.size() > 1) text += "\n" + text_table(rows, {0, "lr"});
  if (!list) return text;
  text += fmt::format("\ntest file\tfound at\t{}text\n", near ? "share\t" : "");
  for (const OverlapText& found : report.found) {
    const std::string share = near ? fmt::format("{:.2f}\t", found.share) : "";
    text += fmt::format("{}\t{}\t{}{}\n", found.test_file, found.found_at, share, found.text);
  }
  return text;
}

std::string to_json(const OverlapReport& report, bool near, bool list) {
  Json document = {{"training_texts", report.training_texts}, {"files", Json::array()}};
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
    document["found"] = Json::array();
    for (const OverlapText& found : report.found) {
      document["found"].push_back(
          {{"file", found.test_file}, {"found_at", found.found_at}, {"text", found.text}});
      if (near) document["found"].back()["share"] = found.share;
    }
  }
  return json_line(document);
}

void overlap(const OverlapArguments& arguments, bool json, Terminal& terminal) {
  SIMILE_CHECK(arguments.options.near > 0 || arguments.options.shingle == OverlapOptions().shingle,
               ErrorKind::kUsage, "--shingle is of --near, which is not given");
  const OverlapReport report =
      find_overlap(arguments.training, arguments.test, arguments.options, terminal);
  const bool near = arguments.options.near > 0;
  write_result(json ? to_json(report, near, arguments.list)
                    : to_table(report, near, arguments.list));
}

}  // namespace

Commands add_data(const Commands& commands) {
  const Commands inner = commands.add_parent("data", "Fetch data sets, check those of a recipe");
  inner.add<GetArguments>("get", "Download a public data set as its publisher serves it", get);
  return inner;
}

void add_get(const Commands& commands) {
  commands.add<ModelArguments>("get", "Fetch a model from the Hugging Face hub into its cache",
                               get_models);
}

void add_overlap(const Commands& commands) {
  commands.add<OverlapArguments>(
      "overlap", "Count the texts of test files that also occur in training files", overlap);
}

}  // namespace simile::cli
