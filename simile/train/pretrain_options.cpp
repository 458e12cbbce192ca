// SPDX-License-Identifier: Apache-2.0
#include "simile/train/pretrain_options.h"

namespace simile {

void HeldOutOptions::visit(OptionVisitor& v) {
  v.field("path", path, path_info("texts that are not trained on, one a line; empty: none"));
  v.field("limit", limit, {"texts of it to use; 0: all", "texts", 0});
  v.field("every_steps", every_steps, {"steps between two looks at it", "steps", 1});
}

PretrainOptions::PretrainOptions() {
  name = "pretrain";
  optimizer.beta2 = 0.98;
  schedule.warmup_fraction = 0.05;
}

void PretrainOptions::visit(OptionVisitor& v) {
  visit_start(v);
  v.field("corpus", corpus,
          path_info("text files, plain, .gz or .zst, one text a line; read side by side; a * in a "
                    "name stands for several files"));
  v.field("shuffle_buffer", shuffle_buffer,
          {"texts held in memory to draw from, of any length; 1 keeps the files' order", "texts", 1,
           1e8});
  v.field("max_length", max_length,
          {"longest sequence, special tokens included; longer texts are cut into several", "tokens",
           3, 8192});
  v.field("batch_tokens", batch_tokens,
          {"a batch is full when it holds this many tokens", "tokens", 1, 1e7});
  v.field("accumulation", accumulation, {"batches whose gradients make one step", "batches", 1});
  v.field("steps", steps, {"steps in all; 0: epochs count", "steps", 0});
  v.field("epochs", epochs,
          {"passes over the corpus, which is tokenised once beforehand to count the steps",
           "epochs", 1e-6, 1e6});
  v.group("mask", mask, "words to predict");
  v.field("hidden_dropout", hidden_dropout,
          {"dropout of hidden states in this training", "", 0, 0.9});
  v.field("attention_dropout", attention_dropout,
          {"dropout of attention weights in this training", "", 0, 0.9});
  v.field("learning_rate", learning_rate, {"peak learning rate", "", 1e-12, 10});
  v.group("optimizer", optimizer, "optimiser");
  v.group("schedule", schedule, "learning rate over the steps");
  v.group("held_out", held_out, "masked accuracy and perplexity on other texts");
  save.visit(v);
}

}  // namespace simile
