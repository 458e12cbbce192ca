// SPDX-License-Identifier: Apache-2.0
#include "simile/train/train_options.h"

#include <algorithm>

#include "simile/kernel/matrix_product.h"
#include "simile/model/encoder_config.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_settings.h"
#include "simile/train/placement.h"

namespace simile {

void ArchitectureOptions::visit(OptionVisitor& v) {
  v.field("family", family,
          choice_info("transformer; or static, a vector for each token whose mean is the text's",
                      {"transformer", "static"}));
  v.field("hidden", hidden, {"size of the hidden states and of the embedding", "", 1, 8192});
  v.only_for("family", {"transformer"}, [this](OptionVisitor& members) {
    members.field("layers", layers, {"transformer layers; 0 when `model` is given", "", 0, 100});
    members.field("heads", heads, {"attention heads; divides hidden", "", 1, 256});
    members.field("intermediate", intermediate, {"size of the feed-forward layer", "", 1, 65536});
    members.field("positions", positions,
                  {"longest sequence the model can hold", "tokens", 2, 8192});
    members.field("pooling", pooling, choice_info("tokens to embedding", pooling_mode_names()));
    members.field("embeddings", embeddings,
                  name_or_path_info("static model of the same tokens with whose vectors (or their "
                                    "first numbers) tokens begin; empty: at random",
                                    model_marks()));
  });
  v.only_for("family", {"static"}, [this](OptionVisitor& members) {
    members.field("punctuation", punctuation,
                  {"tokens without a letter or digit have vectors too; else theirs are zero"});
  });
}

void DevDataOptions::visit(OptionVisitor& v) {
  v.field("path", path, path_info("file read like data.path; empty: the same file"));
  v.field("qrels", qrels, path_info("format ranking: judgements read like data.ranking.qrels"));
  v.field("skip", skip, {"table, classes: examples to skip at the start", "pairs", 0});
  v.field("limit", limit, {"examples to read; 0 reads all", "pairs", 0});
  v.field("part", part,
          {"part of the data's folds to read, such as test; empty: all of another file"});
}

void ObjectiveMiningOptions::visit(OptionVisitor& v) {
  visit_method(v, {"none"});
  v.field(
      "as", as,
      choice_info(
          "use of mined negatives: columns, more negatives of each example; pairs, examples of the "
          "anchor and the negative with target 0; auto: pairs with ranks, columns otherwise",
          {"auto", "columns", "pairs"}));
  visit_selection(v);
  v.field("positive_above", positive_above,
          {"examples with a target above this are positives, whose texts are never mined"});
  v.field("corpus", corpus,
          path_info("texts to choose from, a table with a column text or one text a line; empty: "
                    "the right texts of the data"));
  v.field("every_epochs", every_epochs,
          {"columns: mine again, with the current weights, after this number of epochs; 0: once",
           "epochs", 0});
  v.field("precision", precision,
          choice_info("precision used to embed the texts for mining", precision_names()));
}

void ColumnPromptOptions::visit(OptionVisitor& v) {
  v.field("left", left,
          {"put before left and single texts: the name of one of the model's prompts, or a text"});
  v.field("right", right,
          {"the same before right texts, negatives and texts that they are mined from"});
}

void ObjectiveOptions::visit(OptionVisitor& v) {
  v.group("data", data, "training pairs");
  v.group("dev", dev,
          "data on which the loss is measured at every evaluation: `loss.NAME`, and `loss.all` for "
          "the weighted sum over the objectives");
  v.group("prompts", prompts, "prompts that are put before texts");
  v.group("mine", mine, "negatives mined with the weights that the stage begins with");
  v.group("loss", loss, "loss and its options (see `simile docs losses`)");
  v.group("order", order, "batch order");
  v.field("batch_size", batch_size, {"pairs in a batch", "pairs", 1, 1e6});
  v.field("chunk_tokens", chunk_tokens,
          {"gradient caching, for batches larger than memory: encode this number of tokens at a "
           "time, twice, for the gradient of the whole batch; 0: the batch at once",
           "tokens", 0, 1e9});
  v.field("weight", weight,
          {"factor on the loss, relative to the other objectives of the stage", "", 1e-12, 1e12});
  v.field("share", share,
          {"mixing `shares`: its batches in an epoch, in proportion to other objectives; 0: none",
           "", 0, 1e12});
  v.field("name", name, {"name of the objective in logs; empty: its number, from 0"});
  v.field("head", head, {"head that turns the embeddings into the loss's input; empty: none"});
  v.field("teachers", teachers,
          name_or_path_info("frozen models whose vectors of the texts the loss uses: earlier "
                            "stages, model folders or built-in models",
                            model_marks()));
  v.field("teacher_precision", teacher_precision,
          choice_info("precision used to compute teachers that are models", precision_names()));
  v.field("teacher_storage", teacher_storage,
          choice_info("numbers in which the teachers' vectors are stored", {"fp32", "fp16"}));
  v.field("teacher_vectors", teacher_vectors,
          path_info("folder in which runs share the teachers' vectors, so that a teacher encodes "
                    "no text twice; empty: teachers/ of the run"));
  v.field("teacher_dimensions", teacher_dimensions,
          {"reduce the teachers' concatenated vectors to this number of principal components "
           "(about zero), such as the student's size; 0: do not reduce",
           "", 0, 65536});
  v.field("teacher_tokens", teacher_tokens,
          {"factor on one more loss, the mean over tokens of 1 - the cosine of the encoder's last "
           "state and the first teacher's, which reads every batch with the encoder's tokens; 0: "
           "none",
           "", 0, 1e6});
  v.field(
      "max_length", max_length,
      {"longest text of this objective, special tokens included; 0: the run's", "tokens", 0, 8192});
}

PairDataOptions ObjectiveOptions::dev_data() const {
  PairDataOptions options = data;
  const bool is_other_file = !dev.path.empty() || !dev.qrels.empty();
  if (!dev.path.empty()) {
    options.path = dev.path;
    options.paths.clear();
  }
  if (!dev.qrels.empty()) options.ranking.qrels = dev.qrels;
  options.skip = dev.skip;
  options.limit = dev.limit;
  options.per_class = 0;
  options.draw_seed = PairDataOptions().draw_seed;
  for (FoldOptions* folds : {&options.folds, &options.ranking.folds}) {
    if (!dev.part.empty() && folds->is_set()) folds->part = dev.part;
    if (dev.part.empty() && is_other_file) *folds = FoldOptions();
  }
  return options;
}

void SelectionOptions::visit(OptionVisitor& v) {
  v.field("metric", metric,
          {"evaluation and metric that choose the best weights, such as dev.spearman; for a list "
           "their mean; empty keeps the last"});
  v.field("every_steps", every_steps,
          {"evaluate after this many steps; 0: see every_epochs", "steps", 0});
  v.field("every_epochs", every_epochs, {"evaluate after this part of an epoch", "epochs", 1e-4});
  v.field("keep", keep,
          choice_info("weights at the end of the stage: those with the best metric, which may be "
                      "those at its start, unless a head of the stage began at random; the best of "
                      "those after a step; or the last",
                      {"best", "best_trained", "last"}));
  v.field("precision", precision,
          choice_info("precision of the evaluations while the stage runs, int8 only on the CPU; "
                      "the start and the kept weights are reported in fp32",
                      precision_names()));
  v.group("early_stop", early_stop, "when to stop before the last step");
}

void StageOptions::visit(OptionVisitor& v) {
  v.field("name", name, {"name of the stage in logs"});
  v.field("from", from,
          {"weights that the stage starts with: those kept by the previous stage (previous), the "
           "run's start (start), or those kept by the earlier stage of this name"});
  v.field("frozen", frozen,
          {"train only the heads; the encoder does not change and has no dropout"});
  v.list("objectives", objectives, "data and loss to train on; several take turns");
  mixing.visit(v);
  v.field("epochs", epochs, {"passes over the data", "epochs", 0, 1e6});
  v.field("steps", steps, {"steps instead of epochs; 0: use epochs", "steps", 0});
  v.field("minutes", minutes,
          {"time to train and evaluate for, instead of epochs or steps: after every step the speed "
           "so far decides how many are left, so that the learning rate ends its schedule in time. "
           "A resumed run continues the time. The result then depends on the machine's speed and "
           "cannot be repeated bit for bit; 0: use epochs or steps",
           "minutes", 0, 1e6});
  v.field("accumulation", accumulation,
          {"batches whose gradients make one step; each is a batch of its own to losses that take "
           "other texts of the batch as negatives (see chunk_tokens)",
           "batches", 1, 1e6});
  v.field("learning_rate", learning_rate,
          {"peak learning rate; 0: by the kind of model, which the run prints and keeps: 2e-5 for "
           "a pretrained transformer, 5e-5 with at most 512 hidden units, 1e-4 if it has at most 4 "
           "layers too, 2e-4 with at most 256, 1e-3 from random weights, 5e-3 for a static table; "
           "sgd has none",
           "", 0, 10});
  v.field("head_learning_rate", head_learning_rate,
          {"peak rate of the heads; 0: learning_rate, or 1e-3 if that is 0", "", 0, 10});
  v.group("optimizer", optimizer, "update rule of the weights");
  v.group("schedule", schedule, "learning rate over the steps");
  v.group("siar", siar, "smoothness-inducing adversarial regularisation");
  v.group("selection", selection, "when to evaluate and which weights to keep");
}

void StartOptions::visit_start(OptionVisitor& v) {
  v.field("name", name, {"name of the run and of the model"});
  v.field("seed", seed,
          {"seed of every random stream; further runs have seed + 1, ...", "", 0, 9e18});
  v.field("model", model,
          name_or_path_info("model folder or built-in model to start from; empty: random weights",
                            model_marks()));
  v.group("architecture", architecture, "encoder that starts from random weights");
  v.field("tokenizer", tokenizer,
          name_or_path_info(
              "folder, tokenizer.json or vocab.txt, or a built-in model's name; empty: the model's",
              {"tokenizer.json", "vocab.txt", "config.json", "modules.json"}));
  v.field("pooling", pooling,
          {"tokens to embedding, in place of the pooling of `model`, such as cls for a plain BERT "
           "folder, which is pooled by mean otherwise; empty: the model's"});
  v.field("engine", engine,
          choice_info(
              "engine that computes the encoder and its gradients: fused, the CPU's own kernels; "
              "torch, calls of libtorch on any device; auto: fused on the CPU, else torch",
              engine_names()));
  v.field("device", device,
          {"device of the encoder, the losses and the optimiser, and of evaluation, neighbours and "
           "mining: cpu, cuda, or cuda:1 for the second GPU"});
  v.field("compute", compute,
          choice_info(
              "what large matrix products round their numbers to, with sums, weights and all else "
              "in fp32: bf16 makes steps more than twice as fast, on GPUs and processors that have "
              "it (AMX, AVX-512-BF16), in a transformer's matrices and their gradients; on the CPU "
              "also in the scores of a batch's pairs (losses bsc, mnrl, simcse, combo) where it "
              "has no equal texts or treats them as negatives; evaluation is in fp32. tf32: GPUs "
              "round the numbers of fp32 products to 11 bits, in evaluation too",
              compute_names()));
}

void EarlyStopOptions::visit(OptionVisitor& v) {
  v.field("patience", patience,
          {"stop after this many evaluations in a row without improvement; 0 never stops",
           "evaluations", 0.0});
  v.field("minimum_improvement", minimum_improvement,
          {"an evaluation must be better by more than this to restart the patience", "", 0.0});
  v.field("direction", direction,
          choice_info("whether a higher (max) or a lower (min) value is better; auto: by the "
                      "metric, lower for losses and most of task geometry",
                      {"auto", "max", "min"}));
}

void SaveOptions::visit(OptionVisitor& v) {
  v.field("save_every_minutes", save_every_minutes,
          {"also save the state between evaluations; 0: only with them", "minutes", 0});
  v.field("keep_states", keep_states,
          {"saved states to keep; if the newest is damaged, --resume uses the one before", "states",
           1});
  v.field("save_evaluations", save_evaluations,
          {"save the state after every evaluation; false: between them, for short runs"});
}

void TrainOptions::visit(OptionVisitor& v) {
  visit_start(v);
  v.field("max_length", max_length,
          {"longest text, special tokens included; 0: the model's own, or 90 (static: none)",
           "tokens", 0, 1e9});
  v.field("normalize", normalize,
          choice_info(
              "the model divides its vectors by their L2 norm; auto: as the model says, else true",
              {"auto", "true", "false"}));
  v.field("hidden_dropout", hidden_dropout,
          {"dropout of hidden states, of a static encoder's vectors; negative: the model's own", "",
           -1, 0.9});
  v.field("attention_dropout", attention_dropout,
          {"dropout of attention weights; negative: the model's own", "", -1, 0.9});
  v.field("drop_head", drop_head,
          {"share of attention heads that are left out of a layer for a whole sequence (DropHead)",
           "", 0, 0.9});
  v.list("heads", heads, "task heads on the embeddings, saved with the model");
  v.list("stages", stages,
         "training stages in order; each starts from the weights that the one before kept");
  v.list("evaluations", evaluations,
         "evaluations during training; one of them chooses the best weights");
  v.list("tests", tests, "evaluations once, at the end");
  v.field("baselines", baselines,
          choice_info("evaluated beside the model; untrained: the weights the run starts from, "
                      "reported as zero-shot when they come from `model`; hybrid: the model "
                      "together with BM25; hybrid:untrained: those weights together with BM25",
                      {"bm25", "tfidf", "untrained", "hybrid", "hybrid:untrained"}));
  hybrid.visit(v);
  v.field("data_checks", data_checks,
          choice_info("mistakes found in the data before the first step (a test in the training "
                      "data, sides that are exchanged or hold no texts, data from which the loss "
                      "cannot learn): stop the run, give warnings, or are not checked",
                      {"stop", "warn", "off"}));
  v.field(
      "precision", precision,
      choice_info("number type of the saved model; the final evaluations use the weights as saved",
                  {"fp32", "fp16"}));
  save.visit(v);
  v.field("runs", runs,
          {"number of trainings, with the seeds seed, seed + 1, ...: reports each run, mean and "
           "standard deviation, and the best on selection.metric, whose model is kept",
           "runs", 1, 1000});
  v.field("folds", folds,
          {"number of folds, each of which is the test part of one training: data, evaluations and "
           "tests with a `part` are cut into them. Reports each fold, mean and standard deviation, "
           "and all folds' examples together; 0: no folds",
           "folds", 0, 1000});
}

bool chooses_hybrid_weight(const TrainOptions& options) {
  const auto& tests = options.tests;
  return std::any_of(options.evaluations.begin(), options.evaluations.end(),
                     [](const auto& each) { return each.task == "ranking"; }) ||
         std::any_of(tests.begin(), tests.end(),
                     [](const auto& each) { return each.task == "ranking" && !each.dev.empty(); });
}

bool depends_on_seed(const std::string& baseline, const TrainOptions& recipe) {
  const bool is_start = baseline.find("untrained") != std::string::npos ||
                        baseline.find("zero-shot") != std::string::npos;
  return is_start && (recipe.model.empty() || !recipe.heads.empty());
}

bool StageOptions::has_head() const {
  return std::any_of(objectives.begin(), objectives.end(),
                     [](const ObjectiveOptions& objective) { return !objective.head.empty(); });
}

std::string StageOptions::objective_name(size_t objective) const {
  const std::string& name = objectives[objective].name;
  return name.empty() ? std::to_string(objective) : name;
}

int64_t find_stage(const TrainOptions& options, const std::string& name, size_t before) {
  for (size_t i = 0; i < before; ++i) {
    if (options.stages[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace simile
