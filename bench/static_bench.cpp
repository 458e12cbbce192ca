// SPDX-License-Identifier: Apache-2.0
// Speed of a static encoder through the public API: one JSON object on stdout.
//
//   simile_static_bench model FOLDER WIDTH TOKENIZER_FOLDER
//   simile_static_bench train RECIPE FOLDER THREADS [key=value ...]
//   simile_static_bench encode MODEL_FOLDER IDS TOKENS THREADS [ROUNDS]
//
// `model` writes a static encoder with random weights. `train` runs a recipe, as `simile train`
// does, into FOLDER, and reports the loss of each step and the time of the steps: medians of wall
// and of processor time, so that the beginning of an epoch and other programs do not count.
// `encode` gives the texts of a file of int32 ids, TOKENS each, to SentenceEncoder::encode_ids; it
// also reports the first numbers of the first vectors. bench/static.sh compares the losses and the
// numbers with those of torch's EmbeddingBag.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/train/read_recipe.h"
#include "simile/train/trainer.h"

namespace simile::bench {
namespace {

constexpr const char* kUsage =
    "usage: simile_static_bench model FOLDER WIDTH TOKENIZER_FOLDER\n"
    "       simile_static_bench train RECIPE FOLDER THREADS [key=value ...]\n"
    "       simile_static_bench encode MODEL_FOLDER IDS TOKENS THREADS [ROUNDS]";
constexpr size_t kWarmUp = 4;  // steps

// Processor time of all threads of this process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t count_of(const std::string& argument) {
  const int64_t count = std::atoll(argument.c_str());
  SIMILE_CHECK(count >= 1, ErrorKind::kUsage, "'{}' should be a whole number above 0\n{}", argument,
               kUsage);
  return count;
}

struct Lap {
  double wall, processor;
};

// The time of each step of a run.
class StepClock final : public EventSink {
 public:
  void progress(const Progress& progress) override {
    if (progress.task != "train") return;
    const Lap now{now_seconds(), processor_seconds()};
    if (!pairs_.empty()) laps_.push_back({now.wall - last_.wall, now.processor - last_.processor});
    last_ = now;
    pairs_.push_back(static_cast<double>(progress.done));
  }

  double pairs_per_step() const { return pairs_[1] - pairs_[0]; }

  nlohmann::json result() const {
    SIMILE_CHECK(laps_.size() > kWarmUp, ErrorKind::kUsage,
                 "the run had {} steps, of which {} are to warm up; give more", laps_.size() + 1,
                 kWarmUp + 1);
    std::vector<double> wall, processor;
    for (size_t i = kWarmUp; i < laps_.size(); ++i) {
      wall.push_back(laps_[i].wall);
      processor.push_back(laps_[i].processor);
    }
    return {{"mode", "train"},
            {"pairs_per_second", pairs_per_step() / median(wall)},
            {"pairs_per_processor_second", pairs_per_step() / median(processor)},
            {"milliseconds_per_step", 1e3 * median(wall)},
            {"processor_milliseconds_per_step", 1e3 * median(processor)},
            {"steps", wall.size()}};
  }

 private:
  std::vector<double> pairs_;
  std::vector<Lap> laps_;
  Lap last_{};
};

// The loss of each step of the run in a folder.
std::vector<double> read_losses(const std::string& folder) {
  std::istringstream lines(read_file(join_path(folder, "metrics.jsonl")));
  std::vector<double> losses;
  for (std::string line; std::getline(lines, line);) {
    const auto step = nlohmann::json::parse(line);
    if (step.contains("loss")) losses.push_back(step["loss"]);
  }
  return losses;
}

nlohmann::json measure_training(const std::vector<std::string>& arguments) {
  set_thread_count(static_cast<int>(count_of(arguments[3])));
  const ConfigNode recipe =
      load_recipe(arguments[1], std::vector<std::string>(arguments.begin() + 4, arguments.end()));
  StepClock clock;
  TrainingMode mode;
  mode.overwrite = true;
  train(read_recipe(recipe, clock), arguments[2], mode, clock);
  nlohmann::json result = clock.result();
  result["losses"] = read_losses(arguments[2]);
  return result;
}

void write_model(const std::vector<std::string>& arguments) {
  ModelToSave model;
  EncoderConfig& config = model.settings.encoder;
  config = static_encoder_config(Tokenizer::load(arguments[3]).vocabulary_size(),
                                 count_of(arguments[2]), "simile_static_bench");
  std::vector<float> weights(static_cast<size_t>(encoder_parameter_count(config.shape())));
  initialise_encoder_weights(config, 1, weights.data());
  model.settings.pooling.modes.clear();
  model.weights = weights.data();
  model.tokenizer = read_tokenizer_files(arguments[3]);
  model.model_card = "Random weights, for measuring speed.\n";
  save_model_folder(arguments[1], model);
}

std::vector<std::vector<int32_t>> read_ids(const std::string& path, size_t tokens) {
  const std::string bytes = read_file(path);
  std::vector<std::vector<int32_t>> sequences(bytes.size() / sizeof(int32_t) / tokens,
                                              std::vector<int32_t>(tokens));
  const char* from = bytes.data();
  for (auto& ids : sequences) {
    std::memcpy(ids.data(), from, tokens * sizeof(int32_t));
    from += tokens * sizeof(int32_t);
  }
  return sequences;
}

nlohmann::json measure_encoding(const std::vector<std::string>& arguments) {
  set_thread_count(static_cast<int>(count_of(arguments[4])));
  const SentenceEncoder encoder = SentenceEncoder::load(arguments[1], silent_events());
  const int64_t tokens = count_of(arguments[3]);
  const int64_t rounds = arguments.size() > 5 ? count_of(arguments[5]) : 7;
  const auto sequences = read_ids(arguments[2], static_cast<size_t>(tokens));
  std::vector<double> wall, processor;
  Matrix<float> vectors;
  for (int64_t i = 0; i < rounds; ++i) {
    const double wall_start = now_seconds(), processor_start = processor_seconds();
    vectors = encoder.encode_ids(sequences, {}, silent_events());
    wall.push_back(now_seconds() - wall_start);
    processor.push_back(processor_seconds() - processor_start);
  }
  constexpr int64_t kTold = 4;  // vectors, and numbers of each
  std::vector<float> first;
  for (int64_t i = 0; i < std::min(kTold, vectors.rows); ++i) {
    first.insert(first.end(), vectors.row(i), vectors.row(i) + std::min(kTold, vectors.cols));
  }
  const auto texts = static_cast<double>(sequences.size());
  return {{"mode", "encode"},
          {"texts_per_second", texts / median(wall)},
          {"texts_per_processor_second", texts / median(processor)},
          {"tokens", tokens},
          {"first_numbers", first}};
}

void run(const std::vector<std::string>& arguments) {
  const std::string mode = arguments.empty() ? "" : arguments[0];
  if (mode == "model" && arguments.size() == 4) return write_model(arguments);
  SIMILE_CHECK(
      (mode == "train" && arguments.size() >= 4) || (mode == "encode" && arguments.size() >= 5),
      ErrorKind::kUsage, kUsage);
  nlohmann::json result =
      mode == "train" ? measure_training(arguments) : measure_encoding(arguments);
  result["threads"] = thread_count();
  result["instructions"] = vector_kernels().name;
  const BfloatKernels* bfloat = bfloat_kernels();
  result["bfloat_instructions"] = bfloat == nullptr ? "none" : bfloat->name;
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace
}  // namespace simile::bench

int main(int argc, char** argv) {
  try {
    simile::bench::run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "simile_static_bench: %s\n", error.what());
    return simile::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_static_bench: %s\n", error.what());
    return 1;
  }
}
