// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "simile/encode/model_reference.h"
#include "simile/eval/task.h"
#ifdef SIMILE_WITH_TRAINING
#include "simile/train/method_reference.h"
#include "simile/train/pretrainer.h"
#include "simile/train/trainer.h"
#endif

namespace simile::cli {
namespace {

std::string options_page() {
  std::string page = "# Options\n\nPrinted by `simile docs options`.\n\n";
#ifdef SIMILE_WITH_TRAINING
  page += recipe_reference() + "\n" + pretrain_reference() + "\n";
#endif
  EvaluationOptions evaluation;
  return page +
         options_to_markdown(evaluation, "Evaluation (`simile evaluate`, task files, recipes)");
}

std::string page(const std::string& topic) {
  if (topic == "models") return model_reference();
#ifdef SIMILE_WITH_TRAINING
  if (topic == "losses") return method_reference();
#endif
  return options_page();
}

void run(const std::string& topic) {
  Output output("-");
  output.write(page(topic));
  output.finish();
}

}  // namespace

void add_docs(const Commands& commands) {
  auto topic = std::make_shared<std::string>("options");
  CLI::App* command = commands.add_without_json(
      "docs", "Print the reference of options, losses or models as Markdown",
      [topic](Terminal&) { run(*topic); });
  CLI::Option* option =
      command->add_option("topic", *topic, "options, losses or models")->capture_default_str();
#ifdef SIMILE_WITH_TRAINING
  option->check(CLI::IsMember({"options", "losses", "models"}));
#else
  option->check(CLI::IsMember({"options", "models"}));
#endif
}

}  // namespace simile::cli
