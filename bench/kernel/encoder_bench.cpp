// SPDX-License-Identifier: Apache-2.0
// Speed of the encoder: inference and a training step (forward and backward, no optimiser) on
// random weights and lengths drawn like STSb's (`short`) or long paragraphs' (`long`).
//
// usage: simile_encoder_bench [minilm|bert] [threads] [batch] [rounds] [short|long]
//
// One JSON object per line: sentences or pairs per second, GFLOP/s of useful work, and their share
// of what oneDNN's sgemm reaches in the same round. "seconds" are of the wall; with
// SIMILE_BENCH_CPU=1 they are the process's processor time, which load from others disturbs less
// (use it with one thread).
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

#include "simile/core/threads.h"
#include "simile/kernel/detail/encoder_fixture.h"
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
  EncoderShape shape =
      model == "bert" ? small_shape(12, 768, 12, 3072) : small_shape(6, 384, 12, 1536);
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

struct Workload {
  EncoderShape shape;
  std::vector<float> flat;
  PackedBatch batch;
  std::vector<float> hidden;
};

// A row of the batch alone must have the bits it has in the batch, or the numbers mean nothing.
bool first_text_agrees(const Workload& w, const EncoderForward& encoder) {
  PackedBatch one;
  one.offsets = {0, w.batch.offsets[1]};
  one.ids.assign(w.batch.ids.begin(), w.batch.ids.begin() + one.offsets[1]);
  one.type_ids.assign(w.batch.type_ids.begin(), w.batch.type_ids.begin() + one.offsets[1]);
  std::vector<float> hidden(static_cast<size_t>(one.tokens() * w.shape.hidden));
  encoder(one, hidden.data());
  return std::equal(hidden.begin(), hidden.end(), w.hidden.begin());
}

bool run_workload(const EncoderShape& shape, const std::string& name, int64_t batch_size,
                  int64_t rounds) {
  // Inference runs on `batch_size` texts, training on as many pairs.
  std::vector<int32_t> lengths = draw_lengths(name, 2 * batch_size);
  Workload w{shape, random_parameters(shape, 0.02), random_batch(shape, lengths), {}};
  w.hidden.resize(static_cast<size_t>(w.batch.tokens() * shape.hidden));
  const EncoderWeights weights = encoder_weights(shape, w.flat.data());
  const EncoderForward encoder(shape, weights);
  const int threads = thread_count();
  const PackedBatch pairs = w.batch;
  const double pairs_work = work(shape, lengths);
  lengths.resize(static_cast<size_t>(batch_size));
  w.batch = random_batch(shape, lengths);
  report("inference", name, "sentences_per_second", static_cast<double>(batch_size),
         work(shape, lengths),
         measure(rounds, threads, [&] { encoder(w.batch, w.hidden.data()); }));
  if (!first_text_agrees(w, encoder)) return false;

  EncoderTape tape;
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = 0.1f;
  std::vector<float> gradients(w.flat.size()), grad_hidden(w.hidden.size(), 0.01f);
  report("training", name, "pairs_per_second", static_cast<double>(batch_size), 3 * pairs_work,
         measure(rounds, threads, [&] {
           encoder_forward_training(shape, weights, pairs, dropout, nullptr, tape, w.hidden.data());
           encoder_backward(shape, weights, pairs, dropout, tape, grad_hidden.data(),
                            encoder_gradients(shape, gradients.data()), nullptr);
         }));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  const std::string model = argc > 1 ? argv[1] : "minilm", only = argc > 5 ? argv[5] : "";
  simile::set_thread_count(static_cast<int>(number(2, 2)));
  for (const std::string workload : {"short", "long"}) {
    if (!only.empty() && only != workload) continue;
    if (!run_workload(model_shape(model), workload, number(3, 32), number(4, 10))) {
      std::fprintf(stderr, "a text's hidden states differ between batches\n");
      return 1;
    }
  }
  return 0;
}
