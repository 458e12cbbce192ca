// SPDX-License-Identifier: Apache-2.0
// Smoothness-inducing adversarial regularisation ("That was smooth", section 3.4, eq. 5-7; Jiang et
// al., "SMART", 2020, algorithm 1): the output should hardly change when token embeddings do.
//
// f(x) is the output for a batch, x [T, H] the sum of word, position and type embeddings of its T
// tokens after LayerNorm, l smoothness_distance(), sg a constant copy.
//
//   δ ~ N(0, σ²)                               noise
//   K times:  g = ∇_δ l(f(x + δ), sg f(x))     steps
//             δ ← Π(δ + η g / ‖g‖_p)           step_size, norm, radius
//   penalty = λ · l(f(x + δ), f(x))            weight
//
// δ is a constant in the penalty, whose gradient flows through f(x + δ) and f(x) alike. Π and ‖g‖
// act on each row of δ, the vector of one token: Π is the nearest point of the ball ‖δ_t‖_p <= ε,
// and g is divided by its own length at that token, so that a step is η long for tokens of steep
// and of flat texts alike. For p = inf the balls of the tokens together are the ball of the text in
// eq. 6; for 2 and 1 a text of T tokens may move √T and T times as far. A token whose gradient is
// zero takes no step, it is projected only.
//
// `mode: peer` does the same as the public codes smart-pytorch and mt-dnn, which rescale where the
// papers project, so that a token moves by about 1 whatever σ and η are, if far above 1e-6:
//
//   logits  g = ∇_δ (1/m) Σ_i KL(sg p_i ‖ q_i),      p of f(x), q of f(x + δ)
//           penalty = λ Σ_i KL(sg p_i ‖ q_i) + KL(sg q_i ‖ p_i)
//   scores  g = ∇_δ Σ_i (f(x + δ)_i - sg f(x)_i)²,   penalty as above (mt-dnn)
//   both    δ ← d / (‖d‖_p + 1e-6),  d = δ + η g;  ε is not used
//
// Its penalty of logits is a sum over the m rows, and each divergence has its gradient through its
// second argument alone. Logits [m, 1] mean a Bernoulli distribution here too.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/loss/loss_options.h"

namespace simile {

// A model's output for a batch: logits of classes or of the rows of an in-batch softmax, or one
// score for each text or pair. Float or double, on any device.
struct SmoothOutput {
  torch::Tensor values;
  bool is_logits = true;
};

// How far apart two outputs of a model for the same texts are ("That was smooth", eq. 6 and 7;
// Jiang et al., SMART, 2020): one number, not negative and zero for equal outputs.
//
//   logits [m, k]   (1/m) Σ_i Σ_j (p_ij - q_ij) (log p_ij - log q_ij),  p, q the row softmaxes of a
//                   and b: the symmetrised Kullback-Leibler divergence KL(p‖q) + KL(q‖p)
//   logits [m, 1]   the same of the Bernoulli distributions sigmoid(a_i), sigmoid(b_i)
//   scores [m]      (1/m) Σ_i (a_i - b_i)², or the mean over [m, k]
//
// Logits of -inf on both sides are columns left out, without gradient; on one side only they make
// the divergence infinite. Divergences are computed in double precision and returned in the type of
// the first argument: near outputs differ by less than a float's rounding of p log p. Gradients
// flow to both. Errors (kInput): sides of different kinds or shapes, no rows, logits not [m, k].
torch::Tensor smoothness_distance(const SmoothOutput& a, const SmoothOutput& b);

// KL(p‖q) of each row, [m], for logits only; gradients flow to both sides. Errors: as above.
torch::Tensor row_divergences(const SmoothOutput& a, const SmoothOutput& b);

// The same numbers as a constant.
SmoothOutput detached(const SmoothOutput& output);

// f(x + δ) for the current batch. It must repeat the clean pass in all else, dropout masks
// included, or the penalty measures that too. `for_perturbation`: only the gradient of δ is needed;
// gradients that would be added to weights as a side effect must be left out.
using PerturbedOutput =
    std::function<SmoothOutput(const torch::Tensor& delta, bool for_perturbation)>;

struct SiarResult {
  torch::Tensor penalty;       // one number; not defined when skipped
  bool skipped = false;        // a gradient of δ or the penalty was not finite
  torch::Tensor perturbation;  // the last finite δ, a constant
};

// The nearest point to each row of `delta` [..., H] in the ball of `radius` >= 0 under `norm`: inf
// clamps, 2 shortens, 1 moves all towards zero by one threshold, found by sorting (Duchi et al.,
// "Efficient Projections onto the l1-Ball", 2008, figure 1). Errors (kRecipe): another norm.
torch::Tensor project_to_ball(const torch::Tensor& delta, double radius, const std::string& norm);

// Normal numbers of standard deviation `deviation`, doubles on the CPU: number i is the i-th of
// RandomStream(seed, "siar", step) from `first` on, for any number of threads.
torch::Tensor siar_noise(const std::vector<int64_t>& shape, double deviation, uint64_t seed,
                         uint64_t step, int64_t first = 0);

// Whether a condition on this process's tokens holds for those of all processes that share a batch,
// each with the rows of δ of its own tokens. Asked once a step, whether the gradient is finite; the
// penalty is the same in all of them. Empty: one process has all tokens.
using Everywhere = std::function<bool(bool here)>;

// The penalty from δ = `start`, which gets the type and device of `clean`. `clean` is f(x), part of
// the graph that will be differentiated; `f` is called steps + 1 times, and the graphs of the first
// ones are freed before it returns. Gradients of parameters are not touched. Errors: those of `f`;
// kInput as smoothness_distance(); kRecipe for an unknown norm or mode.
SiarResult siar_penalty(const SiarOptions& options, const SmoothOutput& clean,
                        const PerturbedOutput& f, const torch::Tensor& start,
                        const Everywhere& everywhere = {});

// Bregman proximal term (SMART, section 3.2, with momentum): μ · l(now, sg average),
// μ `bregman`; `average` is the output for the same batch of the model whose weights are the moving
// average θ̃. One number. Errors: as smoothness_distance().
torch::Tensor bregman_penalty(const SiarOptions& options, const SmoothOutput& now,
                              const SmoothOutput& average);

// θ̃ ← β θ̃ + (1 - β) θ in place, β `decay`; floats [count] on one device, computed in double
// precision; on the CPU the same bits for any number of threads.
void update_average(const torch::Tensor& average, const torch::Tensor& weights, double decay);

}  // namespace simile
