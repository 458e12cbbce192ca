// SPDX-License-Identifier: Apache-2.0
// Speed of the encoder: inference and a training step (forward and backward, no optimiser) on
// random weights and lengths drawn like STSb's (`short`) or long paragraphs' (`long`).
//
// usage: simile_encoder_bench [mini|minilm|bert] [threads] [batch] [rounds] [short|long]
//     [fp32|bf16|int8|all] [inference|training]
//
// A round runs eight batches. One JSON object per line: sentences or pairs per second, GFLOP/s of
// useful work, and their share of what oneDNN's sgemm reaches in the same round. "seconds" are of
// the wall; with SIMILE_BENCH_CPU=1 they are the process's processor time, which load from others
// disturbs less (use it with one thread). Both are measured with products of floats and, where the
// processor has them, of bfloat16, inference with those of bytes too.
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/encoder_training.h"
#include "simile/kernel/vector_kernels.h"

namespace {

using namespace simile;

double seconds() {
  timespec t;
  clock_gettime(std::getenv("SIMILE_BENCH_CPU") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

EncoderShape model_shape(const std::string& model) {
  EncoderShape shape = model == "bert"   ? small_shape(12, 768, 12, 3072)
                       : model == "mini" ? small_shape(4, 256, 4, 1024)
                                         : small_shape(6, 384, 12, 1536);
  shape.vocabulary = 30522;
  shape.positions = 512;
  return shape;
}

std::vector<int32_t> draw_lengths(const std::string& workload, int64_t count) {
  const bool is_short = workload == "short";
  const double mean = is_short ? 14 : 60, deviation = is_short ? 7 : 50, most = is_short ? 90 : 256;
  std::gamma_distribution<double> draw(mean * mean / deviation / deviation,
                                       deviation * deviation / mean);
  std::mt19937 generator(3);
  std::vector<int32_t> lengths(static_cast<size_t>(count));
  for (int32_t& length : lengths) {
    length = static_cast<int32_t>(std::clamp(std::round(draw(generator)), 3.0, most));
  }
  return lengths;
}

// Floating-point operations of a forward pass.
double work(const EncoderShape& s, const std::vector<int32_t>& lengths) {
  double sum = 0;
  for (const double l : lengths) {
    sum += 2 * l * (4.0 * s.hidden * s.hidden + 2.0 * s.hidden * s.intermediate) +
           4 * l * l * s.hidden;
  }
  return sum * static_cast<double>(s.layers);
}

// GFLOP/s of oneDNN's sgemm, each thread on its own matrices.
double sgemm_speed(int threads) {
  constexpr int64_t kM = 256, kN = 384, kRepeats = 20;
  std::vector<std::vector<float>> matrices(3 * threads, std::vector<float>(kN * kN, 0.5f));
  const double start = seconds();
#pragma omp parallel num_threads(threads)
  {
    std::vector<float>* mine = &matrices[3 * omp_get_thread_num()];
    for (int64_t i = 0; i < kRepeats; ++i) {
      dnnl_sgemm('N', 'T', kM, kN, kN, 1, mine[0].data(), kN, mine[1].data(), kN, 0, mine[2].data(),
                 kN);
    }
  }
  return 2e-9 * kM * kN * kN * kRepeats * threads / (seconds() - start);
}

// Best of `rounds`, with the best sgemm of the same rounds.
struct Measured {
  double seconds = 1e30, sgemm = 0;
};
Measured measure(int64_t rounds, int threads, const std::function<void()>& run) {
  run();
  Measured best;
  for (int64_t i = 0; i < rounds; ++i) {
    const double start = seconds();
    run();
    best.seconds = std::min(best.seconds, seconds() - start);
    best.sgemm = std::max(best.sgemm, sgemm_speed(threads));
  }
  return best;
}

void report(const std::string& what, const std::string& workload, const char* unit, double items,
            double operations, const Measured& best) {
  const double speed = 1e-9 * operations / best.seconds;
  const nlohmann::json line = {
      {"benchmark", what},          {"workload", workload},
      {"threads", thread_count()},  {"isa", vector_kernels().name},
      {unit, items / best.seconds}, {"gflops", speed},
      {"sgemm_gflops", best.sgemm}, {"share_of_sgemm", speed / best.sgemm}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

// A text alone must have the bits it has in the batch, or the numbers mean nothing.
bool first_text_agrees(const EncoderForward& encoder, const PackedBatch& batch,
                       const std::vector<float>& hidden) {
  PackedBatch one;
  one.offsets = {0, batch.offsets[1]};
  one.ids.assign(batch.ids.begin(), batch.ids.begin() + one.offsets[1]);
  one.type_ids.assign(batch.type_ids.begin(), batch.type_ids.begin() + one.offsets[1]);
  std::vector<float> alone(static_cast<size_t>(one.tokens() * encoder.shape().hidden));
  encoder(one, alone.data());
  return std::equal(alone.begin(), alone.end(), hidden.begin());
}

constexpr int64_t kBatches = 8;

// Batches of consecutive texts.
std::vector<PackedBatch> cut(const EncoderShape& shape, const std::vector<int32_t>& lengths) {
  const size_t size = lengths.size() / kBatches;
  std::vector<PackedBatch> batches;
  for (int64_t i = 0; i < kBatches; ++i) {
    const auto first = lengths.begin() + i * static_cast<int64_t>(size);
    batches.push_back(
        random_batch(shape, {first, first + static_cast<int64_t>(size)}, static_cast<uint64_t>(i)));
  }
  return batches;
}

struct Precision {
  ProductType products;
  const char *name, *ending;
};
const Precision kPrecisions[] = {{ProductType::kFloat, "fp32", ""},
                                 {ProductType::kBfloat, "bf16", " in bf16"},
                                 {ProductType::kByte, "int8", " in int8"}};

bool run_inference(const EncoderShape& shape, const std::vector<float>& flat,
                   const std::string& name, int64_t batch_size, int64_t rounds,
                   const Precision& precision) {
  const std::vector<int32_t> lengths = draw_lengths(name, kBatches * batch_size);
  const std::vector<PackedBatch> batches = cut(shape, lengths);
  const EncoderForward encoder(shape, encoder_weights(shape, flat.data()), precision.products);
  std::vector<float> hidden(static_cast<size_t>(batch_size * 256 * shape.hidden));
  report(std::string("inference") + precision.ending, name, "sentences_per_second",
         static_cast<double>(lengths.size()), work(shape, lengths),
         measure(rounds, thread_count(), [&] {
           for (const PackedBatch& batch : batches) encoder(batch, hidden.data());
         }));
  return first_text_agrees(encoder, batches.back(), hidden);
}

void run_training(const EncoderShape& shape, const std::vector<float>& flat,
                  const std::string& name, int64_t batch_size, int64_t rounds,
                  const Precision& precision) {
  const std::vector<int32_t> lengths = draw_lengths(name, kBatches * 2 * batch_size);
  const std::vector<PackedBatch> batches = cut(shape, lengths);
  const EncoderWeights weights = encoder_weights(shape, flat.data());
  std::vector<float> gradients(flat.size());
  const EncoderGradients pointers = encoder_gradients(shape, gradients.data());
  std::vector<float> hidden(static_cast<size_t>(2 * batch_size * 256 * shape.hidden));
  const std::vector<float> grad_hidden(hidden.size(), 0.01f);
  EncoderTape tape(precision.products);
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.1f;
  report(std::string("training") + precision.ending, name, "pairs_per_second",
         static_cast<double>(lengths.size()) / 2, 3 * work(shape, lengths),
         measure(rounds, thread_count(), [&] {
           for (const PackedBatch& batch : batches) {
             encoder_forward_training(shape, weights, batch, dropout, nullptr, tape, hidden.data());
             encoder_backward(shape, weights, batch, dropout, tape, grad_hidden.data(), &pointers,
                              nullptr);
             ++dropout.step;
           }
         }));
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  const std::string model = argc > 1 ? argv[1] : "minilm", only = argc > 5 ? argv[5] : "";
  const std::string compute = argc > 6 ? argv[6] : "all", task = argc > 7 ? argv[7] : "";
  simile::set_thread_count(static_cast<int>(number(2, 2)));
  const EncoderShape shape = model_shape(model);
  const std::vector<float> flat = random_parameters(shape, 0.02);
  for (const std::string workload : {"short", "long"}) {
    if (!only.empty() && only != workload) continue;
    for (const Precision& precision : kPrecisions) {
      if (precision.products == ProductType::kBfloat && bfloat_kernels() == nullptr) continue;
      if (compute != "all" && compute != precision.name) continue;
      if (task != "training" &&
          !run_inference(shape, flat, workload, number(3, 32), number(4, 5), precision)) {
        std::fprintf(stderr, "a text's hidden states differ between batches\n");
        return 1;
      }
      if (task == "inference" || precision.products == ProductType::kByte) continue;
      run_training(shape, flat, workload, number(3, 32), number(4, 5), precision);
    }
  }
  return 0;
}
