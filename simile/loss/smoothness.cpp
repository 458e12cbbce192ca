// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/smoothness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"

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
               fmt::format("smoothness: expected two outputs of one shape with at least one row, "
                           "found [{}] and [{}]",
                           fmt::join(a.values.sizes(), ", "), fmt::join(b.values.sizes(), ", ")));
  SIMILE_CHECK(!a.is_logits || a.values.dim() == 2, ErrorKind::kInput,
               fmt::format("smoothness: expected logits [m, k], found [{}]",
                           fmt::join(a.values.sizes(), ", ")));
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

}  // namespace simile
