// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/catalogue.h"

namespace simile::cli {
namespace {

using Json = nlohmann::ordered_json;

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

void run(const Arguments& arguments, bool json, Terminal& terminal) {
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

}  // namespace

Commands add_data(const Commands& commands) {
  const Commands inner = commands.add_parent("data", "Fetch data sets, check those of a recipe");
  inner.add<Arguments>("get", "Download a public data set as its publisher serves it", run);
  return inner;
}

}  // namespace simile::cli
