// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/model/fingerprint.h"

namespace simile::cli {
namespace {

void run(const std::string& model, bool json, Terminal& terminal) {
  const SentenceEncoder encoder = load_encoder(model, terminal);
  const ModelSettings& settings = encoder.settings();
  const ModelFolder folder = open_model_folder(model, silent_events());
  const std::optional<double> difference = check_self_test(folder.path, encoder);
  const std::string fingerprint = model_fingerprint(folder);
  nlohmann::ordered_json modules = nlohmann::ordered_json::array();
  for (const ModuleSettings& module : settings.modules) {
    modules.push_back(module_kind_name(module.kind));
  }
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const PartConfig& part : settings.encoder.parts) {
    parts.push_back({{"family", part.encoder.model_type},
                     {"layers", part.encoder.layers},
                     {"hidden", part.encoder.hidden},
                     {"weight", part.weight}});
  }
  nlohmann::ordered_json document = {
      {"model", model},
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
      {"fingerprint", fingerprint}};
  if (!parts.empty()) document["parts"] = std::move(parts);
  document["self_test_difference"] = difference ? nlohmann::ordered_json(*difference) : nullptr;
  Output output("-");
  if (json) {
    output.write(document.dump() + "\n");
  } else {
    for (const auto& [name, value] : document.items()) {
      if (name == "self_test_difference") continue;
      output.write(fmt::format("{:12} {}\n", name,
                               value.is_string() ? value.get<std::string>() : value.dump()));
    }
    output.write(difference
                     ? fmt::format("self test    passed, largest difference {:.1e}\n", *difference)
                     : "self test    none: the folder has no self_test.json\n");
  }
  output.finish();
}

}  // namespace

void add_check(const Commands& commands) {
  auto model = std::make_shared<std::string>();
  const CommonOptions& common = commands.common;
  CLI::App* command =
      commands.add("check", "Load a model folder and verify its self test",
                   [model, &common](Terminal& terminal) { run(*model, common.json, terminal); });
  command->add_option("--model", *model, kModelHelp)->required();
}

}  // namespace simile::cli
