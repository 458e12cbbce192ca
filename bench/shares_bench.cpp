// SPDX-License-Identifier: Apache-2.0
// The work of each of many ranks besides encoding, without a model: real plans of made-up texts,
// the shares of every batch, the loss over the whole batch. One JSON object on stdout. One process
// does the work of all ranks one after the other, and plans once, as each of them would.
//
//   simile_shares_bench [PAIRS] [RANKS] [BATCH] [ORDER] [D]
//
// Texts have 4 to 63 tokens. `set_mb` is what the texts of a training set take, in each process;
// `peak_mb` the largest resident size of this one. `plan_seconds` is the order of an epoch,
// `share_seconds` for each step the cutting, packing and noting of ids of a rank's share,
// `loss_seconds` the loss `mnrl` of a batch and its gradient, `most_tokens` the largest share of a
// batch over the mean. Three figures have the least, mean and most of all ranks: `rank_tokens`,
// tokens of a rank's shares of a step; `rank_seconds`, like share_seconds; `rank_mb`, the numbers
// and masks of a packed share and the vectors, gradients and sums that a step holds besides the
// set. `gather_mb` and, by D and 6 layers, `sum_mb` are what a rank receives and adds up in a step,
// without the rows of the word embedding; `sum_seconds` is that of two ranks on this machine.
#include <sys/resource.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/loss/loss.h"
#include "simile/train/gradient_cache.h"
#include "simile/train/objective.h"
#include "simile/train/process_group.h"

namespace {

using namespace simile;
using Clock = std::chrono::steady_clock;

constexpr int32_t kVocabulary = 30522;
constexpr int64_t kSteps = 20;     // that are walked through
constexpr int64_t kRankSteps = 5;  // by every rank

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
}

std::shared_ptr<const TrainingSet> make_set(int64_t pairs) {
  auto set = std::make_shared<TrainingSet>();
  RandomStream random(1, "texts");
  for (int32_t i = 0; i < 2 * pairs; ++i) {
    std::vector<int32_t> ids(4 + random.below(60));
    for (int32_t& id : ids) id = static_cast<int32_t>(random.below(kVocabulary));
    set->texts.push_back(std::move(ids));
    (i % 2 == 0 ? set->left : set->right).push_back(i);
  }
  set->target.assign(static_cast<size_t>(pairs), 1.0f);
  return set;
}

// Takes the share of one rank of a batch; returns its tokens.
int64_t take_share(const TrainingSet& set, const std::vector<int32_t>& examples, int64_t ranks,
                   int64_t rank, std::vector<char>& is_noted) {
  const std::vector<int32_t> texts = set.texts_of(examples);
  const std::vector<int64_t> bounds = cut_shares(set.texts, texts, ranks);
  EncoderShape shape;
  shape.layers = 6;
  shape.heads = 12;
  const auto chunks = cut_share(set.texts, set.second, texts, bounds[static_cast<size_t>(rank)],
                                bounds[static_cast<size_t>(rank) + 1], 0, shape, {});
  for (const int32_t text : texts) {
    for (const int32_t id : set.texts[static_cast<size_t>(text)]) {
      is_noted[static_cast<size_t>(id)] = 1;
    }
  }
  return chunks.empty() ? 0 : chunks.front().packed.tokens();
}

// Tokens of the largest share of a batch over those of the mean one.
double largest_share(const TrainingSet& set, const std::vector<int32_t>& examples, int64_t ranks) {
  const std::vector<int32_t> texts = set.texts_of(examples);
  const std::vector<int64_t> bounds = cut_shares(set.texts, texts, ranks);
  int64_t largest = 0, all = 0;
  for (size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    int64_t tokens = 0;
    for (int64_t i = bounds[rank]; i < bounds[rank + 1]; ++i) {
      const auto text = static_cast<size_t>(texts[static_cast<size_t>(i)]);
      tokens += static_cast<int64_t>(set.texts[text].size());
    }
    largest = std::max(largest, tokens);
    all += tokens;
  }
  return static_cast<double>(largest * ranks) / static_cast<double>(all);
}

std::vector<double> least_mean_most(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return {*std::min_element(values.begin(), values.end()), sum / static_cast<double>(values.size()),
          *std::max_element(values.begin(), values.end())};
}

// Every rank through the same steps.
void walk_ranks(const TrainingSet& set, const Batches& batches, int64_t ranks, int64_t step_bytes,
                nlohmann::json& result) {
  const auto steps = std::min(kRankSteps, static_cast<int64_t>(batches.size()));
  std::vector<char> is_noted(kVocabulary);
  std::vector<double> tokens, seconds, megabytes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto begin = Clock::now();
    int64_t sum = 0, most = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t share =
          take_share(set, batches[static_cast<size_t>(step)], ranks, rank, is_noted);
      sum += share;
      most = std::max(most, share);
    }
    seconds.push_back(seconds_since(begin) / static_cast<double>(steps));
    tokens.push_back(static_cast<double>(sum) / static_cast<double>(steps));
    // Each token has an id, a type and a position.
    megabytes.push_back(static_cast<double>(step_bytes + most * 12) * 1e-6);
  }
  result["rank_tokens"] = least_mean_most(tokens);
  result["rank_seconds"] = least_mean_most(seconds);
  result["rank_mb"] = least_mean_most(megabytes);
}

double measure_loss(int64_t batch, int64_t D) {
  LossOptions options;
  options.name = "mnrl";
  const Loss loss(options, {D});
  LossInput input;
  input.left = torch::randn({batch, D}).requires_grad_(true);
  input.right = torch::randn({batch, D}).requires_grad_(true);
  input.target = torch::ones({batch});
  if (loss.needs_groups()) {
    input.left_group = torch::arange(batch, torch::kInt64);
    input.right_group = input.left_group + batch;
  }
  const auto begin = Clock::now();
  loss(input).backward();
  return seconds_since(begin);
}

// Median time of a sum of `size` floats by two ranks on this machine.
double measure_sum(int64_t size) {
  const std::string file = "/tmp/simile_shares_bench_" + std::to_string(getpid());
  std::vector<double> seconds;
  const auto join = [&](int64_t rank) {
    const auto group = ProcessGroup::meet(file, rank, 2, 60);
    const torch::Tensor values = torch::ones({size});
    for (int time = 0; time < 11; ++time) {
      group->gather("begin");
      const auto begin = Clock::now();
      group->sum(values);
      if (rank == 0) seconds.push_back(seconds_since(begin));
    }
    group->leave();
  };
  std::thread other([&] { join(1); });
  join(0);
  other.join();
  std::remove(file.c_str());
  std::nth_element(seconds.begin(), seconds.begin() + 5, seconds.end());
  return seconds[5];
}

void run(int64_t pairs, int64_t ranks, int64_t batch, const std::string& order, int64_t D) {
  const double before = peak_mb();
  ExampleSet set;
  set.examples = make_set(pairs);
  nlohmann::json result = {{"pairs", pairs},
                           {"ranks", ranks},
                           {"batch", batch},
                           {"order", order},
                           {"threads", thread_count()}};
  result["set_mb"] = peak_mb() - before;
  ObjectiveOptions options;
  options.batch_size = batch;
  options.order.name = order;
  const EpochPlanner planner(options, set, 1);
  auto begin = Clock::now();
  const Batches batches = planner.plan(0, nullptr, silent_events());
  result["plan_seconds"] = seconds_since(begin);
  result["peak_mb"] = peak_mb();
  const auto steps = std::min(kSteps, static_cast<int64_t>(batches.size()));
  std::vector<char> is_noted(kVocabulary);
  begin = Clock::now();
  for (int64_t step = 0; step < steps; ++step) {
    take_share(*set.examples, batches[static_cast<size_t>(step)], ranks, step % ranks, is_noted);
  }
  result["share_seconds"] = seconds_since(begin) / static_cast<double>(steps);
  double most = 0;
  for (int64_t step = 0; step < steps; ++step) {
    most = std::max(most, largest_share(*set.examples, batches[static_cast<size_t>(step)], ranks));
  }
  result["most_tokens"] = most;
  result["gather_mb"] = static_cast<double>(2 * batch * D) * 4e-6;
  result["sum_mb"] = static_cast<double>(6 * 12 * D * D) * 4e-6;
  // Gathered vectors and their gradient, the weights' gradient and its buffer.
  walk_ranks(*set.examples, batches, ranks, 4 * (2 * 2 * batch * D + 2 * 6 * 12 * D * D), result);
  if (ProcessGroup::is_available()) result["sum_seconds"] = measure_sum(6 * 12 * D * D);
  result["loss_seconds"] = measure_loss(batch, D);
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, int64_t otherwise) {
    return argc > at ? std::atoll(argv[at]) : otherwise;
  };
  try {
    run(number(1, 1000000), number(2, 64), number(3, 4096), argc > 4 ? argv[4] : "random",
        number(5, 384));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_shares_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
