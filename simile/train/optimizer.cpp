// SPDX-License-Identifier: Apache-2.0
#include "simile/train/optimizer.h"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"

namespace simile {
namespace {

using torch::Tensor;

void append(const Tensor& tensor, std::vector<float>& numbers) {
  const Tensor host = tensor.cpu();
  numbers.insert(numbers.end(), host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
}

}  // namespace

TensorOptimizer::TensorOptimizer(const OptimizerOptions& options,
                                 const std::vector<ParameterSlot>& slots, const Tensor& parameters,
                                 const Tensor& gradients, const std::vector<TrainedTensor>& extras,
                                 int64_t rows)
    : options_(options), rule_(options), rows_(rows) {
  // All slots are one part; the table is another where some of its rows are updated.
  const bool splits = options.used_rows() && rows > 0;
  if (splits) used_.assign(static_cast<size_t>(rows), 0);
  for (size_t begin = 0; begin < slots.size();) {
    const size_t end = splits && begin == 0 ? 1 : slots.size();
    const int64_t first = slots[begin].offset;
    const int64_t size = slots[end - 1].offset + slots[end - 1].size - first;
    add_part(parameters.narrow(0, first, size), gradients.narrow(0, first, size), 1.0);
    auto& decaying = parts_.back().decaying;
    for (; begin < end; ++begin) {
      const int64_t offset = slots[begin].offset - first;
      if (!slots[begin].decays) continue;
      if (!decaying.empty() && decaying.back().first + decaying.back().second == offset) {
        decaying.back().second += slots[begin].size;
      } else {
        decaying.emplace_back(offset, slots[begin].size);
      }
    }
  }
  for (const TrainedTensor& extra : extras) {
    add_part(extra.values.view({-1}), extra.gradient.view({-1}), extra.learning_rate_factor);
    if (extra.decays) parts_.back().decaying.emplace_back(0, extra.values.numel());
  }
}

void TensorOptimizer::prepare_rows(const std::vector<int32_t>& ids) {
  if (used_.empty()) return;
  for (const int32_t id : ids) {
    SIMILE_CHECK(id >= 0 && id < rows_, ErrorKind::kInput,
                 "optimiser: row {} of a table of {} rows", id, rows_);
    used_[static_cast<size_t>(id)] = 1;
  }
}

void TensorOptimizer::add_part(const Tensor& values, const Tensor& gradient, double factor) {
  const Tensor constant = values.detach();
  parts_.push_back({constant,
                    gradient,
                    torch::zeros_like(constant),
                    rule_.has_second_moment() ? torch::zeros_like(constant) : Tensor(),
                    factor,
                    {}});
}

double TensorOptimizer::gradient_norm() const {
  std::vector<Tensor> norms;
  for (const Part& part : parts_) {
    norms.push_back(
        torch::linalg_vector_norm(part.gradient, 2, c10::nullopt, false, torch::kDouble));
  }
  return norms.empty() ? 0.0 : torch::linalg_vector_norm(torch::stack(norms)).item<double>();
}

double TensorOptimizer::step(double learning_rate) {
  torch::NoGradGuard guard;
  constexpr double kClipEpsilon = 1e-6;  // as torch's clip_grad_norm_
  const double norm = gradient_norm();
  if (std::isfinite(norm)) {
    ++step_;
    const double limit = options_.clip_norm;
    const double clip = limit > 0.0 ? std::min(1.0, limit / (norm + kClipEpsilon)) : 1.0;
    for (const Part& part : parts_) {
      StepConstants c = rule_.constants(step_, learning_rate * part.learning_rate_factor, true);
      c.gradient_scale = static_cast<float>(clip);
      const bool by_rows = !used_.empty() && &part == parts_.data();
      by_rows ? update_used_rows(part, c) : update(part, c);
    }
  }
  clear_gradients();
  std::fill(used_.begin(), used_.end(), 0);
  return norm;
}

void TensorOptimizer::clear_gradients() {
  for (const Part& part : parts_) part.gradient.zero_();
}

void TensorOptimizer::update_used_rows(const Part& table, const StepConstants& constants) const {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] != 0) rows.push_back(static_cast<int64_t>(i));
  }
  const Tensor which = torch::tensor(rows, torch::kInt64).to(table.values.device());
  const auto take = [&](const Tensor& all) {
    return all.defined() ? all.view({rows_, -1}).index_select(0, which) : all;
  };
  Part used{take(table.values), take(table.gradient),       take(table.first),
            take(table.second), table.learning_rate_factor, {}};
  const std::vector<int64_t> shape = used.values.sizes().vec();
  for (Tensor* tensor : {&used.values, &used.gradient, &used.first, &used.second}) {
    if (tensor->defined()) *tensor = tensor->view({-1});
  }
  if (!table.decaying.empty()) used.decaying.emplace_back(0, used.values.numel());
  update(used, constants);
  const auto put_back = [&](const Tensor& all, const Tensor& part) {
    if (all.defined()) all.view({rows_, -1}).index_copy_(0, which, part.view(shape));
  };
  put_back(table.values, used.values);
  put_back(table.first, used.first);
  put_back(table.second, used.second);
}

// The formulas of optimizer_rule.h.
void TensorOptimizer::update(const Part& part, const StepConstants& c) const {
  const Tensor &w = part.values, &g = part.gradient, &m = part.first, &v = part.second;
  if (c.gradient_scale != 1.0f) g.mul_(c.gradient_scale);
  for (const auto& [first, count] : part.decaying) {
    if (c.l2 != 0.0f) g.narrow(0, first, count).add_(w.narrow(0, first, count), c.l2);
    if (c.decay != 0.0f) w.narrow(0, first, count).mul_(c.shrink);
  }
  if (options_.name == "sgd") {
    m.mul_(options_.momentum).add_(g);
    w.add_(m, -c.learning_rate);
    return;
  }
  const float beta1 = static_cast<float>(options_.beta1);
  const float beta2 = static_cast<float>(options_.beta2);
  m.mul_(beta1).add_(g, 1.0f - beta1);
  const double rate = -static_cast<double>(c.learning_rate) / c.first_correction;
  if (options_.name == "adamax") {
    v.copy_(torch::maximum(v.mul(beta2), g.abs().add_(options_.epsilon)));
    w.addcdiv_(m, v, rate);
    return;
  }
  v.mul_(beta2).addcmul_(g, g, 1.0f - beta2);
  const double root = std::sqrt(static_cast<double>(c.second_correction));
  w.addcdiv_(m, v.sqrt().div_(root).add_(options_.epsilon), rate);
}

OptimizerState TensorOptimizer::state() const {
  OptimizerState state;
  state.step = step_;
  for (const Part& part : parts_) {
    append(part.first, state.first_moment);
    if (part.second.defined()) append(part.second, state.second_moment);
  }
  if (used_.empty()) state.row_steps.assign(static_cast<size_t>(rows_), step_);
  return state;
}

void TensorOptimizer::load_state(OptimizerState state) {
  state.check_sizes(this->state());
  SIMILE_CHECK(state.step >= 0 && std::all_of(state.row_steps.begin(), state.row_steps.end(),
                                              [&](int64_t at) { return at == state.step; }),
               ErrorKind::kInput,
               "checkpoint: every embedding row should stand at step {}; it was written "
               "by the fused engine between two evaluations",
               state.step);
  step_ = state.step;
  std::fill(used_.begin(), used_.end(), 0);
  int64_t first = 0;
  for (Part& part : parts_) {
    const auto read = [&](std::vector<float>& numbers, const Tensor& moment) {
      moment.copy_(torch::from_blob(numbers.data() + first, moment.sizes()));
    };
    read(state.first_moment, part.first);
    if (part.second.defined()) read(state.second_moment, part.second);
    first += part.values.numel();
  }
}

}  // namespace simile
