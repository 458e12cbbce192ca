// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_trainer.h"
#include "bench/benchmarks.h"
#include "bench/memory.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/core/check.h"

namespace simile::bench {
namespace {

constexpr int64_t kPairs = 32;
constexpr double kLearningRate = 2e-5;

struct Checks {
  double gradient_difference, first_loss, last_loss;
};

// The gradient is the oracle's, and steps on one batch lower the loss.
Checks check_training(Trainer& trainer, const Workload& all) {
  constexpr double kCheckRate = 1e-4;
  constexpr int kSteps = 4;
  Checks checks{trainer.check_gradient(take_batch(all, 0, 8)), 0, 0};
  const Workload batch = take_batch(all, 0, 2 * kPairs);
  Phases ignored;
  trainer.start_again(0.0);
  for (int i = 0; i < kSteps; ++i) {
    checks.last_loss = trainer.step(batch, kCheckRate, ignored);
    if (i == 0) checks.first_loss = checks.last_loss;
  }
  SIMILE_CHECK(checks.last_loss < checks.first_loss, ErrorKind::kFailed,
               "the loss went from {} to {} in {} steps; expected a fall", checks.first_loss,
               checks.last_loss, kSteps);
  return checks;
}

// The batch with the most tokens among the first `count`.
Workload largest_batch(const Workload& all, int64_t count) {
  Workload largest;
  int64_t most = -1;
  for (int64_t i = 0; i < count; ++i) {
    Workload batch = take_batch(all, i, 2 * kPairs);
    int64_t tokens = 0;
    for (const std::vector<int32_t>& ids : batch) tokens += static_cast<int64_t>(ids.size());
    if (tokens <= most) continue;
    most = tokens;
    largest = std::move(batch);
  }
  return largest;
}

nlohmann::json phases_per_step(const Phases& phases, double steps) {
  return {{"prepare", phases.prepare / steps},
          {"encoder_forward", phases.forward / steps},
          {"loss_forward", phases.loss / steps},
          {"loss_backward", phases.loss_backward / steps},
          {"encoder_backward", phases.backward / steps},
          {"optimizer", phases.optimizer / steps},
          {"total", phases.total() / steps}};
}

}  // namespace

nlohmann::json measure_training(const BenchOptions& options) {
  const Workload all = read_workload(options.workload_folder, options.distribution);
  Trainer trainer(options.model_folder, options.dropout, options.products);
  const Checks checks = check_training(trainer, all);
  trainer.start_again(options.dropout);

  MachinePeak peak(options.products);
  peak.measure();
  Phases ignored, phases;
  double operations = 0;
  for (int64_t i = 0; i < 2; ++i) {  // the peer's own warm-up
    trainer.step(take_batch(all, options.batches + i, 2 * kPairs), kLearningRate, ignored);
  }
  // Memory is kept from step to step: none grows while time is taken.
  trainer.step(largest_batch(all, options.batches), kLearningRate, ignored);
  std::vector<double> seconds;
  for (int64_t round = 0; round < options.rounds; ++round) {
    const double start = now_seconds();
    for (int64_t i = 0; i < options.batches; ++i) {
      trainer.step(take_batch(all, i, 2 * kPairs), kLearningRate, phases);
    }
    seconds.push_back(now_seconds() - start);
    peak.measure();
  }
  for (int64_t i = 0; i < options.batches; ++i) {
    operations += 3 * forward_operations(trainer.shape(), take_batch(all, i, 2 * kPairs));
  }
  const double time = median(seconds);
  const auto steps = static_cast<double>(options.batches * options.rounds);
  nlohmann::json result = {
      {"pairs_per_second", static_cast<double>(kPairs * options.batches) / time},
      {"pairs", kPairs * options.batches},
      {"seconds", seconds},
      {"dropout", options.dropout},
      {"milliseconds_per_step", phases_per_step(phases, steps)},
      {"gradient_difference_from_oracle", checks.gradient_difference},
      {"loss_first", checks.first_loss},
      {"loss_after_4_steps_on_one_batch", checks.last_loss}};
  peak.report(operations / time, result);
  return result;
}

nlohmann::json measure_training_memory(const BenchOptions& options) {
  const Workload all = read_workload(options.workload_folder, options.distribution);
  Trainer trainer(options.model_folder, options.dropout, options.products);
  Phases ignored;
  double loss = 0;
  for (const int64_t i : {options.batches, options.batches + 1}) {  // the peer's own warm-up
    trainer.step(take_batch(all, i, 2 * options.pairs), kLearningRate, ignored);
  }
  const double start = now_seconds();
  for (int64_t i = 0; i < options.batches; ++i) {
    loss = trainer.step(take_batch(all, i, 2 * options.pairs), kLearningRate, ignored);
  }
  return {{"pairs", options.pairs},
          {"steps", options.batches},
          {"seconds", now_seconds() - start},
          {"loss", loss},
          {"peak_bytes", peak_memory()}};
}

}  // namespace simile::bench
