// SPDX-License-Identifier: Apache-2.0
#include "simile/data/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

struct CatalogueOptions {
  std::vector<CatalogueSet> sets;
  void visit(OptionVisitor& v) { v.list("sets", sets, "data sets, in the order to list"); }
};

}  // namespace

std::string CatalogueFile::file_name() const {
  if (!name.empty()) return name;
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

void CatalogueFile::visit(OptionVisitor& v) {
  v.field("url", url, {"where it is: http:// or https://"});
  v.field("name", name, {"name to store it under; empty: the last part of the URL"});
  v.field("checksum", checksum, {"sha256:HEX or md5:HEX; empty: not known"});
  v.field("bytes", bytes, {"its size; 0: not known", "bytes", 0});
}

void CatalogueSet::visit(OptionVisitor& v) {
  v.field("name", name, {"name of the set"});
  v.field("description", description, {"what it is"});
  v.field("licence", licence, {"under which terms it may be used"});
  v.field("advice", advice, {"what to do with the files"});
  v.list("files", files, "files of the set");
}

std::vector<CatalogueSet> read_catalogue(const std::string& path) {
  CatalogueOptions catalogue;
  read_options(load_config(path), catalogue);
  std::set<std::string> names;
  for (const CatalogueSet& set : catalogue.sets) {
    SIMILE_CHECK(!set.name.empty() && names.insert(set.name).second, ErrorKind::kRecipe,
                 fmt::format("{}: expected sets of different names, found '{}'{}", path, set.name,
                             set.name.empty() ? "" : " twice"));
    SIMILE_CHECK(!set.files.empty(), ErrorKind::kRecipe,
                 fmt::format("{}: the set '{}' lists no `files`", path, set.name));
    std::set<std::string> files;
    for (const CatalogueFile& file : set.files) {
      const std::string name = file.file_name();
      SIMILE_CHECK(
          !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
          ErrorKind::kRecipe,
          fmt::format("{}: '{}' of the set '{}' cannot be a file's name; give `name`", path, name,
                      set.name));
      SIMILE_CHECK(files.insert(name).second, ErrorKind::kRecipe,
                   fmt::format("{}: two files of the set '{}' would be stored as '{}'; give one "
                               "another `name`",
                               path, set.name, name));
    }
  }
  return catalogue.sets;
}

const CatalogueSet& find_set(const std::vector<CatalogueSet>& catalogue, const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogueSet& set : catalogue) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kUsage,
              fmt::format("no data set is called '{}'{}; known are {}", name,
                          nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest),
                          fmt::join(names, ", ")));
}

std::vector<FetchedFile> fetch_set(const CatalogueSet& set, const std::string& folder,
                                   const std::vector<std::string>& accepted,
                                   const DownloadOptions& options, EventSink& events) {
  std::vector<FetchedFile> fetched;
  std::optional<Error> first;
  std::string messages;
  for (const CatalogueFile& file : set.files) {
    const std::string path = join_path(folder, file.file_name());
    try {
      fetched.push_back(
          {path, download({file.url, path, file.checksum, accepted}, options, events)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kFailed) throw;
      if (!first) first = error;
      messages += (messages.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (first) throw Error(first->kind(), messages);
  return fetched;
}

}  // namespace simile
