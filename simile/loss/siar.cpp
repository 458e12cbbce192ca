// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/siar.h"

#include <fmt/ranges.h>
#include <torch/autograd.h>

#include <algorithm>
#include <limits>

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using torch::Tensor;

// In place of -inf: its probability is exactly 0, and differences of its logarithms stay numbers.
constexpr double kLeftOut = -1e300;

struct LogProbabilities {
  Tensor p, q;  // [m, k], of doubles
};

void check_outputs(const SmoothOutput& a, const SmoothOutput& b) {
  SIMILE_CHECK(a.is_logits == b.is_logits, ErrorKind::kInput,
               "smoothness: expected two outputs of one kind, found logits and scores");
  SIMILE_CHECK(a.values.sizes() == b.values.sizes() && a.values.numel() > 0, ErrorKind::kInput,
               "smoothness: expected two outputs of one shape with rows, found [{}] and [{}]",
               fmt::join(a.values.sizes(), ", "), fmt::join(b.values.sizes(), ", "));
  SIMILE_CHECK(!a.is_logits || a.values.dim() == 2, ErrorKind::kInput,
               "smoothness: expected logits [m, k], found [{}]", fmt::join(a.values.sizes(), ", "));
}

// The logits of a Bernoulli distribution are (0, z).
Tensor as_classes(const Tensor& logits) {
  const Tensor z = logits.to(torch::kFloat64);
  return z.size(1) == 1 ? torch::cat({torch::zeros_like(z), z}, 1) : z;
}

LogProbabilities log_probabilities(const SmoothOutput& a, const SmoothOutput& b) {
  const Tensor x = as_classes(a.values), y = as_classes(b.values);
  const Tensor left_out = x.isneginf() & y.isneginf();
  return {x.masked_fill(left_out, kLeftOut).log_softmax(1),
          y.masked_fill(left_out, kLeftOut).log_softmax(1)};
}

constexpr double kPeerGuard = 1e-6;
constexpr int64_t kNoiseBlock = 4096;
constexpr uint64_t kDrawsPerNormal = 4;  // of a RandomStream
constexpr int64_t kWorthThreads = 1 << 15;

const std::vector<std::string> kNorms = {"inf", "2", "1"};
const std::vector<std::string> kModes = {"ball", "peer"};

void check_name(const char* option, const std::string& name,
                const std::vector<std::string>& names) {
  SIMILE_CHECK(std::find(names.begin(), names.end(), name) != names.end(), ErrorKind::kRecipe,
               "siar: {}: expected one of {}, found '{}'", option, fmt::join(names, ", "), name);
}

Tensor row_norms(const Tensor& rows, const std::string& norm) {
  check_name("norm", norm, kNorms);
  const double order = norm == "inf" ? std::numeric_limits<double>::infinity()
                       : norm == "2" ? 2.0
                                     : 1.0;
  return rows.norm(order, {-1}, true);
}

Tensor project_to_l1_ball(const Tensor& rows, double radius) {
  const Tensor sizes = rows.abs();
  const Tensor sorted = std::get<0>(sizes.sort(-1, /*descending=*/true));
  const Tensor excess = sorted.cumsum(-1) - radius;
  const Tensor counts = torch::arange(1, rows.size(-1) + 1, rows.options());
  const Tensor kept = (sorted * counts > excess).sum(-1, true).clamp_min(1);
  const Tensor threshold = excess.gather(-1, kept - 1) / kept;
  return rows.sign() * (sizes - threshold.clamp_min(0)).clamp_min(0);
}

// Rows over their norms, zero rows unchanged. The largest number of a row is made 1 first: squares
// of small gradients would vanish, and every norm is at least 1 then.
Tensor unit_rows(const Tensor& rows, const std::string& norm) {
  const Tensor largest = rows.abs().amax({-1}, true);
  const Tensor scaled = rows / torch::where(largest > 0, largest, torch::ones_like(largest));
  return scaled / row_norms(scaled, norm).clamp_min(1);
}

bool is_peer(const SiarOptions& options) { return options.mode == "peer"; }

// The distance that δ increases; `target` is a constant.
Tensor search_distance(const SiarOptions& options, const SmoothOutput& perturbed,
                       const SmoothOutput& target) {
  if (!is_peer(options)) return smoothness_distance(perturbed, target);
  if (target.is_logits) return row_divergences(target, perturbed).mean();
  return smoothness_distance(perturbed, target) * target.values.numel();
}

Tensor final_distance(const SiarOptions& options, const SmoothOutput& perturbed,
                      const SmoothOutput& clean) {
  if (!is_peer(options) || !clean.is_logits) return smoothness_distance(perturbed, clean);
  return (row_divergences(detached(clean), perturbed) + row_divergences(detached(perturbed), clean))
      .sum();
}

Tensor move(const SiarOptions& options, const Tensor& delta, const Tensor& gradient) {
  if (is_peer(options)) {
    const Tensor moved = delta + options.step_size * gradient;
    return moved / (row_norms(moved, options.norm) + kPeerGuard);
  }
  return project_to_ball(delta + options.step_size * unit_rows(gradient, options.norm),
                         options.radius, options.norm);
}

bool is_finite(const Tensor& x) { return x.isfinite().all().item<bool>(); }

}  // namespace

torch::Tensor smoothness_distance(const SmoothOutput& a, const SmoothOutput& b) {
  check_outputs(a, b);
  if (!a.is_logits) {
    const Tensor squares = (a.values - b.values).square();
    // Row by row, an order of sums that does not depend on the number of threads.
    return (squares.dim() == 2 ? squares.mean(1) : squares).mean();
  }
  const LogProbabilities log = log_probabilities(a, b);
  const Tensor rows = ((log.p.exp() - log.q.exp()) * (log.p - log.q)).sum(1);
  return rows.mean().to(a.values.scalar_type());
}

torch::Tensor row_divergences(const SmoothOutput& a, const SmoothOutput& b) {
  check_outputs(a, b);
  SIMILE_CHECK(a.is_logits, ErrorKind::kInput,
               "smoothness: divergences are of logits, found scores");
  const LogProbabilities log = log_probabilities(a, b);
  return (log.p.exp() * (log.p - log.q)).sum(1).to(a.values.scalar_type());
}

SmoothOutput detached(const SmoothOutput& output) {
  return {output.values.detach(), output.is_logits};
}

void SiarOptions::visit(OptionVisitor& v) {
  v.field("weight", weight,
          {"factor on the penalty; 0: none; 3 in \"That was smooth\", 0.02 in the example of "
           "smart-pytorch (mode: peer)",
           "", 0.0});
  v.field("steps", steps,
          {"steps that look for the worst perturbation; each costs a forward and a backward pass",
           "steps", 1});
  v.field("noise", noise, {"standard deviation of the first perturbation", "", 0.0});
  v.field("step_size", step_size, {"length of a gradient step", "", 0.0});
  v.field("radius", radius, {"largest perturbation of a token's embedding (mode: ball)", "", 0.0});
  v.field("norm", norm, choice_info("norm of a token's perturbation", kNorms));
  v.field("mode", mode,
          choice_info("perturbations are projected onto the ball of the radius (ball), or rescaled "
                      "to length 1 as public implementations do (peer)",
                      kModes));
  v.field("bregman", bregman,
          {"factor on the distance to the output of the averaged weights; 0: none", "", 0.0});
  v.field("bregman_decay", bregman_decay,
          {"share of the averaged weights that a step keeps", "", 0.0, 1.0});
}

torch::Tensor project_to_ball(const torch::Tensor& delta, double radius, const std::string& norm) {
  check_name("norm", norm, kNorms);
  if (norm == "inf") return delta.clamp(-radius, radius);
  if (norm == "1") return project_to_l1_ball(delta, radius);
  const double smallest = std::numeric_limits<float>::min();
  return delta * (radius / row_norms(delta, norm).clamp_min(smallest)).clamp_max(1);
}

torch::Tensor siar_noise(const std::vector<int64_t>& shape, double deviation, uint64_t seed,
                         uint64_t step, int64_t first_number) {
  const Tensor noise = torch::empty(shape, torch::kFloat64);
  double* const values = noise.data_ptr<double>();
  const int64_t count = noise.numel(), blocks = (count + kNoiseBlock - 1) / kNoiseBlock;
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kNoiseBlock;
    RandomStream stream(seed, "siar", step);
    stream.seek(kDrawsPerNormal * static_cast<uint64_t>(first_number + first));
    for (int64_t i = first; i < std::min(count, first + kNoiseBlock); ++i) {
      values[i] = deviation * stream.normal();
    }
  }
  return noise;
}

SiarResult siar_penalty(const SiarOptions& options, const SmoothOutput& clean,
                        const PerturbedOutput& f, const torch::Tensor& start,
                        const Everywhere& everywhere) {
  check_name("mode", options.mode, kModes);
  const SmoothOutput target = detached(clean);
  Tensor delta = start.detach().to(target.values.options());
  for (int64_t step = 0; step < options.steps; ++step) {
    Tensor gradient;
    {
      const Tensor leaf = delta.detach().requires_grad_(true);
      const Tensor distance = search_distance(options, f(leaf, true), target);
      gradient = torch::autograd::grad({distance}, {leaf})[0];
    }  // frees the graph of f(x + δ)
    const bool finite = is_finite(gradient);
    if (!(everywhere ? everywhere(finite) : finite)) return {{}, true, delta};
    delta = move(options, delta, gradient);
  }
  const Tensor penalty = options.weight * final_distance(options, f(delta, false), clean);
  if (!is_finite(penalty)) return {{}, true, delta};
  return {penalty, false, delta};
}

torch::Tensor bregman_penalty(const SiarOptions& options, const SmoothOutput& now,
                              const SmoothOutput& average) {
  return options.bregman * smoothness_distance(now, detached(average));
}

void update_average(const Tensor& average, const Tensor& weights, double decay) {
  torch::NoGradGuard guard;
  if (!average.is_cpu()) {
    const Tensor kept = average.to(torch::kDouble).mul_(decay);
    average.copy_(kept.add_(weights.to(torch::kDouble), 1.0 - decay));
    return;
  }
  float* const kept = average.data_ptr<float>();
  const float* const now = weights.data_ptr<float>();
  const int64_t count = average.numel();
#pragma omp parallel for simd schedule(static) if (count > kWorthThreads)
  for (int64_t i = 0; i < count; ++i) {
    kept[i] = static_cast<float>(decay * kept[i] + (1.0 - decay) * now[i]);
  }
}

}  // namespace simile
