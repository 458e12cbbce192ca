// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/catalogue.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string name, folder, catalogue;
  std::vector<std::string> accepted;
  bool list = false;

  void visit(OptionVisitor& v) {
    v.field("name", name, OptionInfo{"Name of the set, see --list"}.named("name"));
    v.field("output", folder, {"Folder for the files; data/NAME by default"});
    v.field("list", list, {"List the sets, their licences and what they hold"});
    v.field("catalogue", catalogue,
            {"File with other sets, in place of those built in (YAML or JSON)"});
    v.field("accept_checksum", accepted,
            OptionInfo{"Take a file with this checksum where another or none is known"}.words());
  }
};

std::string list_as_table(const std::vector<CatalogueSet>& catalogue) {
  std::string table;
  for (const CatalogueSet& set : catalogue) {
    const bool is_known = std::all_of(set.files.begin(), set.files.end(),
                                      [](const auto& file) { return !file.checksum.empty(); });
    table += fmt::format("{:10} {}\n{:10} licence: {}\n{:10} files: {}{}; {}\n", set.name,
                         set.description, "", set.licence, "", set.files.size(),
                         is_known ? "" : ", checksum not known", set.advice);
  }
  return table;
}

std::string list_as_json(const std::vector<CatalogueSet>& catalogue) {
  auto document = nlohmann::ordered_json::array();
  for (const CatalogueSet& set : catalogue) {
    nlohmann::ordered_json entry = {{"name", set.name},
                                    {"description", set.description},
                                    {"licence", set.licence},
                                    {"advice", set.advice}};
    for (const CatalogueFile& file : set.files) {
      entry["files"].push_back(
          {{"url", file.url}, {"name", file.file_name()}, {"checksum", file.checksum}});
    }
    document.push_back(entry);
  }
  return document.dump() + "\n";
}

std::string get(const Arguments& arguments, const CatalogueSet& set, bool json,
                Terminal& terminal) {
  const std::string folder =
      arguments.folder.empty() ? join_path("data", set.name) : arguments.folder;
  const std::vector<FetchedFile> fetched =
      fetch_set(set, folder, arguments.accepted, DownloadOptions(), terminal);
  if (json) {
    nlohmann::ordered_json document = {{"name", set.name}, {"licence", set.licence}};
    for (const FetchedFile& file : fetched) {
      document["files"].push_back({{"path", file.path}, {"checksum", file.checksum}});
    }
    return document.dump() + "\n";
  }
  std::string text;
  for (const auto& [path, checksum] : fetched) text += fmt::format("{}  {}\n", path, checksum);
  return text + fmt::format("licence: {}\nnext: {}\n", set.licence, set.advice);
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const std::vector<CatalogueSet> catalogue =
      arguments.catalogue.empty() ? builtin_catalogue() : read_catalogue(arguments.catalogue);
  SIMILE_CHECK(arguments.list || !arguments.name.empty(), ErrorKind::kUsage,
               "give the name of a data set, or --list to see which there are");
  Output output("-");
  if (arguments.list) {
    output.write(json ? list_as_json(catalogue) : list_as_table(catalogue));
  } else {
    output.write(get(arguments, find_set(catalogue, arguments.name), json, terminal));
  }
  output.finish();
}

}  // namespace

Commands add_data(const Commands& commands) {
  const Commands inner = commands.add_parent("data", "Fetch data sets, check those of a recipe");
  inner.add<Arguments>("get", "Download a public data set as its publisher serves it", run);
  return inner;
}

}  // namespace simile::cli
