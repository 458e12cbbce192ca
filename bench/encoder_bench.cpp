// SPDX-License-Identifier: Apache-2.0
// Speed of Simile's encoder through the public API: one JSON object on stdout.
//
//   simile_bench model FOLDER mini|minilm|bert TOKENIZER_FOLDER
//   simile_bench infer MODEL_FOLDER WORKLOAD_FOLDER short|long [BATCHES] [ROUNDS] [THREADS]
//   [fp32|bf16|int8]
//   simile_bench train MODEL_FOLDER WORKLOAD_FOLDER short|long [BATCHES] [ROUNDS] [THREADS]
//   [DROPOUT] [fp32|bf16]
//
// `model` writes a model folder with random weights. The workload folder holds len_*.txt and
// ids_*.bin (see README.md). Answers are checked before they are timed; a wrong one ends with exit
// code 1.
#include <oneapi/dnnl/dnnl.h>
#include <torch/version.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/bench_model.h"
#include "bench/benchmarks.h"
#include "simile/core/error.h"
#include "simile/core/threads.h"
#include "simile/encode/precision.h"
#include "simile/kernel/vector_kernels.h"

namespace {

using simile::ErrorKind;
using simile::bench::BenchOptions;

constexpr const char* kUsage =
    "usage: simile_bench model FOLDER mini|minilm|bert TOKENIZER_FOLDER\n"
    "       simile_bench infer MODEL_FOLDER WORKLOAD_FOLDER short|long [BATCHES] [ROUNDS] "
    "[THREADS] "
    "[fp32|bf16|int8]\n"
    "       simile_bench train MODEL_FOLDER WORKLOAD_FOLDER short|long [BATCHES] [ROUNDS] "
    "[THREADS] "
    "[DROPOUT] [fp32|bf16]";

int64_t count_at(const std::vector<std::string>& arguments, size_t i, int64_t otherwise) {
  if (i >= arguments.size()) return otherwise;
  const int64_t count = std::atoll(arguments[i].c_str());
  SIMILE_CHECK(count >= 1, ErrorKind::kUsage,
               "'" + arguments[i] + "' should be a whole number above 0\n" + kUsage);
  return count;
}

nlohmann::json measure(const std::vector<std::string>& arguments) {
  BenchOptions options;
  options.model_folder = arguments[1];
  options.workload_folder = arguments[2];
  options.distribution = arguments[3];
  options.batches = count_at(arguments, 4, options.batches);
  options.rounds = count_at(arguments, 5, options.rounds);
  const auto threads = static_cast<int>(count_at(arguments, 6, simile::thread_count()));
  simile::set_thread_count(threads);
  const bool infers = arguments[0] == "infer";
  if (!infers && arguments.size() > 7) options.dropout = std::atof(arguments[7].c_str());
  const size_t precision = infers ? 7 : 8;
  if (arguments.size() > precision) {
    options.products = simile::choose_precision(arguments[precision]);
    SIMILE_CHECK(infers || options.products != simile::ProductType::kByte, ErrorKind::kUsage,
                 kUsage);
  }
  nlohmann::json result =
      infers ? simile::bench::measure_inference(options) : simile::bench::measure_training(options);
  SIMILE_CHECK(simile::thread_count() == threads, ErrorKind::kFailed,
               "the work began with " + std::to_string(threads) + " threads and ended with " +
                   std::to_string(simile::thread_count()) +
                   "; something (ATen's own default?) changed the number meanwhile");
  const dnnl_version_t* dnnl = dnnl_version();
  result["distribution"] = options.distribution;
  result["threads"] = simile::thread_count();
  result["instructions"] = simile::vector_kernels().name;
  result["torch"] = TORCH_VERSION;
  result["onednn"] = std::to_string(dnnl->major) + "." + std::to_string(dnnl->minor) + "." +
                     std::to_string(dnnl->patch);
  return result;
}

void run(const std::vector<std::string>& arguments) {
  const std::string mode = arguments.empty() ? "" : arguments[0];
  if (mode == "model" && arguments.size() == 4) {
    simile::bench::write_random_model(arguments[1], arguments[2], arguments[3]);
    return;
  }
  SIMILE_CHECK((mode == "infer" || mode == "train") && arguments.size() >= 4, ErrorKind::kUsage,
               kUsage);
  std::printf("%s\n", measure(arguments).dump().c_str());
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
