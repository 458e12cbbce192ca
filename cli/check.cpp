// SPDX-License-Identifier: Apache-2.0
#include "simile/core/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/index/index_folder.h"
#include "simile/model/embedding_store.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/report/run_folder.h"

namespace simile::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string model, index, vectors, run;
  bool write_checksums = false;

  void visit(OptionVisitor& v) {
    v.field("model", model, {kModelHelp});
    v.field("index", index, {"Index folder: vectors and all documents"});
    v.field("vectors", vectors, {"Stored vectors (.npy), such as a teacher's"});
    v.field("run", run,
            {"Run folder: states, stages, teachers, mined negatives, model, and with results.json "
             "metrics and predictions"});
    v.field("write_checksums", write_checksums,
            {"Write the model's checksums.json first, after an intended change"});
  }
};

Json check_model(const std::string& model, Terminal& terminal) {
  const SentenceEncoder encoder = load_encoder(model, terminal);
  const ModelSettings& settings = encoder.settings();
  const ModelFolder folder = open_model_folder(model, silent_events());
  const int64_t verified = verify_all_checksums(folder.path);
  const std::optional<double> difference = check_self_test(folder.path, encoder);
  const std::string fingerprint = model_fingerprint(folder);
  Json modules = Json::array();
  for (const ModuleSettings& module : settings.modules) {
    modules.push_back(module_kind_name(module.kind));
  }
  Json document = {{"model", model},
                   {"family", settings.encoder.model_type},
                   {"layers", settings.encoder.layers},
                   {"hidden", settings.encoder.hidden},
                   {"vocabulary", settings.encoder.vocabulary},
                   {"parameters", encoder_parameter_count(settings.encoder.shape())},
                   {"pooling", pooling_name(settings.pooling)},
                   {"modules", std::move(modules)},
                   {"normalize", settings.normalize},
                   {"max_length", settings.max_length},
                   {"dimension", encoder.dimension()},
                   {"fingerprint", fingerprint},
                   {"files_verified", verified}};
  document["self_test_difference"] = difference ? Json(*difference) : nullptr;
  return document;
}

Json check_index_folder(const std::string& path, Terminal& terminal) {
  const IndexCheck found = check_index(path);
  if (!found.unused_files.empty()) {
    terminal.warning(
        fmt::format("{}: {} of its files belong to no part of it (the first: {}); "
                    "`simile index merge` removes what a killed process left",
                    path, found.unused_files.size(), found.unused_files.front()));
  }
  const IndexInfo& info = found.info;
  return {{"index", path},
          {"documents", info.count},
          {"dimension", info.model.dimension},
          {"segments", info.segments},
          {"removed", info.removed},
          {"fingerprint", info.model.fingerprint},
          {"verified", true}};
}

Json check(const Arguments& arguments, Terminal& terminal) {
  const std::string* const given[] = {&arguments.model, &arguments.index, &arguments.vectors,
                                      &arguments.run};
  const auto count = std::count_if(std::begin(given), std::end(given),
                                   [](const std::string* path) { return !path->empty(); });
  SIMILE_CHECK(count == 1, ErrorKind::kUsage, "give one of --model, --index, --vectors and --run");
  SIMILE_CHECK(!arguments.write_checksums || !arguments.model.empty(), ErrorKind::kUsage,
               "--write-checksums requires --model");
  if (!arguments.index.empty()) return check_index_folder(arguments.index, terminal);
  if (!arguments.vectors.empty()) {
    const EmbeddingStore store(arguments.vectors);
    return {{"vectors", arguments.vectors},
            {"rows", store.rows()},
            {"dimension", store.dimension()},
            {"verified", store.is_verified()}};
  }
  if (!arguments.run.empty()) {
    const RunCheck found = check_run(arguments.run);
    return {{"run", arguments.run},       {"states", found.states}, {"stages", found.stages},
            {"teachers", found.teachers}, {"mined", found.mined},   {"results", found.results},
            {"model_files", found.model}, {"verified", true}};
  }
  if (arguments.write_checksums) {  // of the folder, and of those in it that have them already
    const std::string folder = resolve_model(arguments.model);
    SIMILE_CHECK(folder_exists(folder), ErrorKind::kInput,
                 "cannot write checksums: '{}' is not a folder; give a model folder", folder);
    for (const std::string& nested : folders_with_checksums(folder)) write_checksums(nested);
    write_checksums(folder);
  }
  return check_model(arguments.model, terminal);
}

std::string show(const std::string& name, const Json& value) {
  if (name == "self_test_difference") {
    return value.is_null() ? "self test    none: the folder has no self_test.json\n"
                           : fmt::format("self test    passed, largest difference {:.1e}\n",
                                         value.get<double>());
  }
  if (name == "files_verified") {
    return value == 0 ? std::string("checksums    none: the folder has no checksums.json\n")
                      : fmt::format("checksums    right, of {} files\n", value.get<int64_t>());
  }
  if (name == "verified") {
    return value == true ? "checksums    right\n"
                         : "checksums    none: it has no .json of `simile` beside it\n";
  }
  return fmt::format("{:12} {}\n", name,
                     value.is_string() ? value.get<std::string>() : value.dump());
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const Json document = check(arguments, terminal);
  std::string text;
  for (const auto& [name, value] : document.items()) text += show(name, value);
  print_result(json, document, text);
}

}  // namespace

void add_check(const Commands& commands) {
  commands.add<Arguments>(
      "check", "Verify the checksums of what Simile wrote, and a model's self test", run);
}

}  // namespace simile::cli
