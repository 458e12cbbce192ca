// SPDX-License-Identifier: Apache-2.0
#include "simile/core/detail/foreign_keys.h"

namespace simile {
namespace {

struct Row {
  const char* name;
  ForeignKey here;
};

constexpr Row kForeignKeys[] = {
    {"anchor", {"left", ""}},
    {"answer", {"right", ""}},
    {"batch_sampler", {"order", ""}},
    {"bf16", {"compute", " (bf16)"}},
    {"columns", {"left", ", and right for the second text"}},
    {"dataset", {"data", ""}},
    {"eval_dataset", {"evaluations", ""}},
    {"eval_steps", {"selection.every_steps", ""}},
    {"evaluation_steps", {"selection.every_steps", ""}},
    {"evaluator", {"evaluations", ""}},
    {"fp16", {"compute", " (bf16)"}},
    {"gradient_accumulation_steps", {"accumulation", ""}},
    {"load_best_model_at_end", {"selection.metric", ""}},
    {"loss_function", {"loss", ""}},
    {"lr", {"learning_rate", ""}},
    {"lr_scheduler_type", {"schedule.name", ""}},
    {"max_seq_length", {"max_length", ""}},
    {"max_steps", {"steps", ""}},
    {"metric_for_best_model", {"selection.metric", ""}},
    {"mini_batch_size", {"chunk_tokens", ""}},
    {"model_name_or_path", {"model", ""}},
    {"negative", {"negatives", ""}},
    {"num_epochs", {"epochs", ""}},
    {"num_train_epochs", {"epochs", ""}},
    {"per_device_train_batch_size", {"batch_size", ""}},
    {"positive", {"right", ""}},
    {"query", {"left", ""}},
    {"question", {"left", ""}},
    {"scheduler", {"schedule.name", ""}},
    {"sentence1", {"left", ""}},
    {"sentence2", {"right", ""}},
    {"temperature", {"scale", " (1 / temperature)"}},
    {"train_batch_size", {"batch_size", ""}},
    {"train_dataset", {"data", ""}},
    {"train_loss", {"loss", ""}},
    {"use_amp", {"compute", " (bf16)"}},
    {"warmup_ratio", {"schedule.warmup_fraction", ""}},
};

}  // namespace

ForeignKey find_foreign_key(const std::string& name) {
  for (const Row& row : kForeignKeys) {
    if (name == row.name) return row.here;
  }
  return {"", ""};
}

}  // namespace simile
