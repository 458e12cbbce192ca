// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "simile/core/detail/check.h"
#include "simile/model/hub.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::vector<std::string> names;

  void visit(OptionVisitor& v) {
    v.field("name", names,
            OptionInfo{"Model on the Hugging Face hub: ORG/NAME or ORG/NAME@REVISION"}
                .one_or_more()
                .named("name"));
  }
};

struct Fetched {
  std::string name, folder;
  void visit(OptionVisitor& v) {
    v.required("name", name);
    v.required("folder", folder);
  }
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
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
  std::vector<Fetched> fetched;
  for (const HubName& name : names) {
    fetched.push_back({name.text(), fetch_hub_model(name, settings, DownloadOptions(), terminal)});
  }
  Output output("-");
  if (json) output.write(options_to_json(fetched, -1) + "\n");
  for (const Fetched& model : fetched) {
    if (!json) output.write(model.folder + "\n");
  }
  output.finish();
}

}  // namespace

void add_get(const Commands& commands) {
  commands.add<Arguments>("get", "Fetch a model from the Hugging Face hub into its cache", run);
}

}  // namespace simile::cli
