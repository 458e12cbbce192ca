// SPDX-License-Identifier: Apache-2.0
#include "simile/train/train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simile/checkpoint/builtin_model.h"
#include "simile/core/error.h"

namespace simile {

void ArchitectureOptions::visit(OptionVisitor& v) {
  v.field("layers", layers, {"transformer layers; 0 when `model` is given", "", 0, 100});
  v.field("hidden", hidden, {"size of the hidden states and of the embedding", "", 1, 8192});
  v.field("heads", heads, {"attention heads; divides hidden", "", 1, 256});
  v.field("intermediate", intermediate, {"size of the feed-forward layer", "", 1, 65536});
  v.field("positions", positions, {"longest sequence the model can hold", "tokens", 2, 8192});
  v.field("pooling", pooling, choice_info("tokens to embedding", {"mean", "cls", "max"}));
}

void ObjectiveOptions::visit(OptionVisitor& v) {
  v.group("data", data, "training pairs");
  v.group("loss", loss, "loss and its options (see `simile docs losses`)");
  v.group("order", order, "batch order");
  v.field("batch_size", batch_size, {"pairs in a batch", "pairs", 1, 1e6});
  v.field("weight", weight,
          {"factor on the loss, beside the other objectives of the stage", "", 1e-12, 1e12});
  v.field("name", name, {"name of the objective in logs; empty: its number, from 0"});
}

void SelectionOptions::visit(OptionVisitor& v) {
  v.field("metric", metric,
          {"evaluation and metric by which the best weights are kept, such as dev.spearman; empty "
           "keeps the last"});
  v.field("every_steps", every_steps,
          {"evaluate after this many steps; 0: see every_epochs", "steps", 0});
  v.field("every_epochs", every_epochs, {"evaluate after this part of an epoch", "epochs", 1e-4});
  v.group("early_stop", early_stop, "when to stop before the last step");
}

void StageOptions::visit(OptionVisitor& v) {
  v.field("name", name, {"name of the stage in logs"});
  v.list("objectives", objectives, "what is trained; several take turns");
  mixing.visit(v);
  v.field("epochs", epochs, {"passes over the data", "epochs", 0, 1e6});
  v.field("steps", steps, {"steps instead of epochs; 0: epochs count", "steps", 0});
  v.field("learning_rate", learning_rate, {"peak learning rate", "", 1e-12, 10});
  v.group("optimizer", optimizer, "AdamW");
  v.group("schedule", schedule, "learning rate over the steps");
  v.group("selection", selection, "when to evaluate and which weights to keep");
}

void StartOptions::visit_start(OptionVisitor& v) {
  v.field("name", name, {"name of the run and of the model"});
  v.field("seed", seed, {"seed of every random stream", "", 0});
  v.field("model", model,
          name_or_path_info("model folder to start from, or a built-in model's name; empty starts "
                            "from random weights",
                            model_marks()));
  v.group("architecture", architecture, "encoder that starts from random weights");
  v.field("tokenizer", tokenizer,
          path_info("folder, tokenizer.json or vocab.txt; empty takes the model's"));
}

void TrainOptions::visit(OptionVisitor& v) {
  visit_start(v);
  v.field("max_length", max_length,
          {"longest text, special tokens included; 0: the model's own, 90 from random weights",
           "tokens", 0, 8192});
  v.field("normalize", normalize,
          choice_info("the model divides its vectors by their L2 norm; auto: as it did, true from "
                      "random weights",
                      {"auto", "true", "false"}));
  v.field("hidden_dropout", hidden_dropout,
          {"dropout of hidden states; negative: the model's own", "", -1, 0.9});
  v.field("attention_dropout", attention_dropout,
          {"dropout of attention weights; negative: the model's own", "", -1, 0.9});
  v.list("stages", stages, "training stages in order, each from the weights the one before kept");
  v.list("evaluations", evaluations,
         "evaluated during training; the best weights are chosen on one");
  v.list("tests", tests, "evaluated once, at the end");
  v.field("baselines", baselines,
          choice_info("evaluated beside the model; untrained: the weights the run starts from, "
                      "reported as zero-shot when they come from `model`",
                      {"bm25", "tfidf", "untrained"}));
  v.field("precision", precision,
          choice_info("numbers in the saved model; the final evaluations are of the weights as "
                      "saved",
                      {"fp32", "fp16"}));
  v.field(
      "save_every_minutes", save_every_minutes,
      {"save the state also between evaluations, to resume from; 0: only with them", "minutes", 0});
}

std::string StageOptions::objective_name(size_t objective) const {
  const std::string& name = objectives[objective].name;
  return name.empty() ? std::to_string(objective) : name;
}

namespace {

void check_objectives(const StageOptions& stage) {
  SIMILE_CHECK(!stage.objectives.empty(), ErrorKind::kRecipe,
               fmt::format("stage '{}' has no `objectives`, expected at least one: "
                           "{{data: ..., loss: ...}}",
                           stage.name));
  std::set<std::string> names;
  for (size_t i = 0; i < stage.objectives.size(); ++i) {
    SIMILE_CHECK(names.insert(stage.objective_name(i)).second, ErrorKind::kRecipe,
                 fmt::format("stage '{}': two objectives are called '{}'; give each its own `name`",
                             stage.name, stage.objective_name(i)));
  }
  SIMILE_CHECK(stage.mixing.mixing == "round_robin" || stage.mixing.mixing_ends == "longest",
               ErrorKind::kRecipe,
               fmt::format("stage '{}': `mixing_ends: {}` belongs to `mixing: round_robin`; with "
                           "`mixing: {}` an epoch has every batch once",
                           stage.name, stage.mixing.mixing_ends, stage.mixing.mixing));
}

}  // namespace

void check_start_options(const StartOptions& options) {
  const auto fail = [](const std::string& message) { throw Error(ErrorKind::kRecipe, message); };
  if (options.model.empty() && options.architecture.layers == 0) {
    fail(
        "the recipe names no starting point: give `model: FOLDER`, or `architecture: {layers: 4}` "
        "and `tokenizer:` to start from random weights");
  }
  if (!options.model.empty() && options.architecture.layers > 0) {
    fail(
        "the recipe gives both `model` and `architecture.layers`; a model brings its own "
        "architecture");
  }
  if (options.model.empty() && options.tokenizer.empty()) {
    fail(
        "`tokenizer` is missing: a model from random weights needs a tokenizer.json or vocab.txt "
        "(`simile train-tokenizer` makes one)");
  }
}

void check_train_options(const TrainOptions& options) {
  const auto fail = [](const std::string& message) { throw Error(ErrorKind::kRecipe, message); };
  check_start_options(options);
  if (options.stages.empty()) fail("the recipe has no `stages`: nothing would be trained");
  std::set<std::string> names;
  for (const auto* list : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& evaluation : *list) {
      if (evaluation.name.empty()) fail("every evaluation needs a `name`, such as dev");
      if (!names.insert(evaluation.name).second) {
        fail(fmt::format("two evaluations are called '{}'; give each its own name",
                         evaluation.name));
      }
    }
  }
  std::set<std::string> stages;
  for (const StageOptions& stage : options.stages) {
    if (!stages.insert(stage.name).second) {
      fail(fmt::format("two stages are called '{}'; give each its own name", stage.name));
    }
  }
  std::vector<std::string> during;
  for (const EvaluationOptions& evaluation : options.evaluations) during.push_back(evaluation.name);
  for (const StageOptions& stage : options.stages) {
    check_objectives(stage);
    const std::string& metric = stage.selection.metric;
    const std::string evaluation = metric.substr(0, metric.find('.'));
    if (metric.empty() || std::find(during.begin(), during.end(), evaluation) != during.end())
      continue;
    fail(
        fmt::format("stage '{}': selection.metric '{}' should be EVALUATION.METRIC with one of the "
                    "evaluations [{}]",
                    stage.name, metric, fmt::join(during, ", ")));
  }
}

}  // namespace simile
