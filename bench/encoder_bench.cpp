// SPDX-License-Identifier: Apache-2.0
// Speed of Simile's encoder through the public API: one JSON object on stdout. `model` writes a
// model folder with random weights instead. The workload folder holds len_*.txt and ids_*.bin (see
// README.md). Answers are checked; a wrong one ends with exit code 1.
#include <oneapi/dnnl/dnnl.h>
#include <torch/version.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/bench_model.h"
#include "bench/benchmarks.h"
#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/matrix_product.h"
#include "simile/kernel/vector_kernels.h"

namespace {

using nlohmann::json;
using simile::ErrorKind;
using simile::bench::BenchOptions;

constexpr const char* kUsage =
    "usage: simile_bench model FOLDER mini|minilm|bert TOKENIZER_FOLDER [POSITIONS]\n"
    "       simile_bench infer MODEL_FOLDER WORKLOAD_FOLDER short|mixed|even [BATCHES] [ROUNDS] "
    "[THREADS] [fp32|bf16|int8]\n"
    "       simile_bench train MODEL_FOLDER WORKLOAD_FOLDER short|mixed|even [BATCHES] [ROUNDS] "
    "[THREADS] [DROPOUT] [fp32|bf16]\n"
    "       simile_bench memory MODEL_FOLDER WORKLOAD_FOLDER short|mixed|even [STEPS] [PAIRS] "
    "[THREADS] [fp32|bf16]\n"
    "       simile_bench latency MODEL_FOLDER WORKLOAD_FOLDER short|mixed|even [CALLS] [THREADS] "
    "[fp32|bf16|int8]\n"
    "       simile_bench texts MODEL_FOLDER TEXT_FILE [THREADS] [fp32|bf16|int8]\n"
    "       simile_bench long MODEL_FOLDER infer|train TOKENS [THREADS] [fp32|bf16|int8]";

// The arguments after the mode, read from left to right.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}

  std::string text() {
    SIMILE_CHECK(at_ < words_.size(), ErrorKind::kUsage, kUsage);
    return words_[at_++];
  }

  int64_t count(int64_t otherwise) {
    if (at_ == words_.size()) return otherwise;
    const std::string word = text();
    const int64_t count = std::atoll(word.c_str());
    SIMILE_CHECK(count >= 1, ErrorKind::kUsage,
                 "'" + word + "' should be a whole number above 0\n" + kUsage);
    return count;
  }

  double number(double otherwise) {
    return at_ == words_.size() ? otherwise : std::atof(text().c_str());
  }

  void threads() {
    threads_ = static_cast<int>(count(simile::thread_count()));
    simile::set_thread_count(threads_);
  }

  void check_threads() const {
    SIMILE_CHECK(simile::thread_count() == threads_, ErrorKind::kFailed,
                 "the work began with " + std::to_string(threads_) + " threads and ended with " +
                     std::to_string(simile::thread_count()) +
                     "; something (ATen's own default?) changed the number meanwhile");
  }

  simile::ProductType products() {
    return at_ == words_.size() ? simile::ProductType::kFloat : simile::choose_precision(text());
  }

  void end() const { SIMILE_CHECK(at_ == words_.size(), ErrorKind::kUsage, kUsage); }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
  int threads_ = 0;
};

void read_workload_options(Arguments& arguments, BenchOptions& options) {
  options.workload_folder = arguments.text();
  options.distribution = arguments.text();
}

void read_products(Arguments& arguments, bool trains, BenchOptions& options) {
  options.products = arguments.products();
  arguments.end();
  SIMILE_CHECK(!trains || options.products != simile::ProductType::kByte, ErrorKind::kUsage,
               kUsage);
}

json measure_infer_or_train(bool trains, Arguments& arguments, BenchOptions& options) {
  read_workload_options(arguments, options);
  options.batches = arguments.count(options.batches);
  options.rounds = arguments.count(options.rounds);
  arguments.threads();
  if (trains) options.dropout = arguments.number(options.dropout);
  read_products(arguments, trains, options);
  return trains ? measure_training(options) : measure_inference(options);
}

json measure_memory(Arguments& arguments, BenchOptions& options) {
  read_workload_options(arguments, options);
  options.batches = arguments.count(1);
  options.pairs = arguments.count(options.pairs);
  arguments.threads();
  read_products(arguments, true, options);
  return measure_training_memory(options);
}

json measure_calls(Arguments& arguments, BenchOptions& options) {
  read_workload_options(arguments, options);
  const int64_t calls = arguments.count(500);
  arguments.threads();
  read_products(arguments, false, options);
  return measure_latency(options, calls);
}

json measure_text_file(Arguments& arguments, BenchOptions& options) {
  const std::string text_file = arguments.text();
  arguments.threads();
  read_products(arguments, false, options);
  return measure_texts(options, text_file);
}

json measure_long_text(Arguments& arguments, BenchOptions& options) {
  const std::string work = arguments.text();
  SIMILE_CHECK(work == "infer" || work == "train", ErrorKind::kUsage, kUsage);
  const int64_t tokens = arguments.count(512);
  arguments.threads();
  read_products(arguments, work == "train", options);
  json result = work == "train" ? measure_long_training(options, tokens)
                                : measure_long_inference(options, tokens);
  result["work"] = work;
  return result;
}

json measure(const std::string& mode, Arguments& arguments) {
  BenchOptions options;
  options.model_folder = arguments.text();
  json result;
  if (mode == "infer" || mode == "train") {
    result = measure_infer_or_train(mode == "train", arguments, options);
  } else if (mode == "memory") {
    result = measure_memory(arguments, options);
  } else if (mode == "latency") {
    result = measure_calls(arguments, options);
  } else if (mode == "texts") {
    result = measure_text_file(arguments, options);
  } else {
    SIMILE_CHECK(mode == "long", ErrorKind::kUsage, kUsage);
    result = measure_long_text(arguments, options);
  }
  arguments.check_threads();
  const dnnl_version_t* dnnl = dnnl_version();
  result["mode"] = mode;
  result["precision"] = simile::precision_names()[static_cast<size_t>(options.products)];
  if (!options.distribution.empty()) result["distribution"] = options.distribution;
  result["threads"] = simile::thread_count();
  result["instructions"] = simile::vector_kernels().name;
  result["torch"] = TORCH_VERSION;
  result["onednn"] = std::to_string(dnnl->major) + "." + std::to_string(dnnl->minor) + "." +
                     std::to_string(dnnl->patch);
  return result;
}

void write_model(Arguments& arguments) {
  const std::string folder = arguments.text(), shape = arguments.text(),
                    tokenizer = arguments.text();
  const int64_t positions = arguments.count(512);
  arguments.end();
  simile::bench::write_random_model(folder, shape, tokenizer, positions);
}

void run(const std::vector<std::string>& words) {
  SIMILE_CHECK(!words.empty(), ErrorKind::kUsage, kUsage);
  Arguments arguments({words.begin() + 1, words.end()});
  if (words[0] == "model") {
    write_model(arguments);
  } else {
    std::printf("%s\n", measure(words[0], arguments).dump().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "simile_bench: %s\n", error.what());
    return simile::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_bench: %s\n", error.what());
    return 1;
  }
}
