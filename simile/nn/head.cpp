// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/head.h"

#include <fmt/ranges.h>
#include <torch/autograd.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/nn/row_products.h"
#include "simile/nn/torch_layers.h"

namespace simile {
namespace {

using torch::Tensor;

// sum_t w_t h_t / divisor: the weights are the places 1, 2, ... for kWeightedMean, else 1.
Tensor pool_sum(const Tensor& hidden, const std::vector<int32_t>& offsets, PoolingMode mode) {
  const int64_t size = static_cast<int64_t>(offsets.size()) - 1;
  const bool is_weighted = mode == PoolingMode::kWeightedMean;
  std::vector<int64_t> sequence_of_token;
  std::vector<float> weights, divisors;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    sequence_of_token.insert(sequence_of_token.end(), static_cast<size_t>(length), i);
    for (int64_t t = 1; t <= length; ++t) weights.push_back(static_cast<float>(t));
    const auto count = static_cast<float>(is_weighted ? length * (length + 1) / 2 : length);
    divisors.push_back(
        std::max(mode == PoolingMode::kMeanSqrtLength ? std::sqrt(count) : count, 1.0f));
  }
  const auto column = [&](const std::vector<float>& values) {
    return torch::tensor(values).to(hidden.options()).unsqueeze(1);
  };
  const Tensor index = torch::tensor(sequence_of_token, torch::kInt64).to(hidden.device());
  const Tensor sums = torch::zeros({size, hidden.size(1)}, hidden.options())
                          .index_add(0, index, is_weighted ? hidden * column(weights) : hidden);
  return sums / column(divisors);
}

// The rows that `reduce` makes of each sequence's tokens [L, H].
template <typename Reduce>
Tensor pool_each(const Tensor& hidden, const std::vector<int32_t>& offsets, Reduce reduce) {
  std::vector<Tensor> rows;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    rows.push_back(length == 0 ? torch::zeros({hidden.size(1)}, hidden.options())
                               : reduce(hidden.narrow(0, offsets[i], length)));
  }
  return rows.empty() ? torch::zeros({0, hidden.size(1)}, hidden.options()) : torch::stack(rows);
}

Tensor pool_mode(const Tensor& hidden, const std::vector<int32_t>& offsets, PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kMean:
    case PoolingMode::kMeanSqrtLength:
    case PoolingMode::kWeightedMean:
      return pool_sum(hidden, offsets, mode);
    case PoolingMode::kCls:
      return pool_each(hidden, offsets, [](const Tensor& x) { return x[0]; });
    case PoolingMode::kLastToken:
      return pool_each(hidden, offsets, [](const Tensor& x) { return x[-1]; });
    case PoolingMode::kMax:
      return pool_each(hidden, offsets, [](const Tensor& x) { return x.amax(0); });
  }
  return {};
}

constexpr int64_t kPairsPerBlock = 1024;
constexpr double kSmallestSquare = 1e-24;  // of a norm, below which a row counts as zero

Tensor row_sums(const Tensor& x) {  // [m, n] -> [m, 1]
  return inner_products(x, torch::ones({1, x.size(1)}, x.options()));
}

// Norms [m, 1], with 1 instead of those too small to divide by.
std::pair<Tensor, Tensor> guarded_norms(const Tensor& x) {
  const Tensor squares = row_sums(x * x);
  const Tensor usable = squares > kSmallestSquare;
  return {torch::where(usable, squares, torch::ones_like(squares)).sqrt(), usable};
}

Tensor cosines(const Tensor& u, const Tensor& v) {
  const auto [u_norms, u_usable] = guarded_norms(u);
  const auto [v_norms, v_usable] = guarded_norms(v);
  const Tensor cosine = row_sums(u * v) / (u_norms * v_norms);
  return torch::where(u_usable.logical_and(v_usable), cosine, torch::zeros_like(cosine));
}

Tensor features(const HeadSettings& settings, const Tensor& u, const Tensor& v) {
  if (settings.input != "pair") return u;
  if (settings.kind == "cosine") return cosines(u, v);
  const Tensor distances = (u - v).abs();
  if (settings.kind == "l1") return row_sums(distances) * (-1.0 / static_cast<double>(u.size(1)));
  return torch::cat(
      settings.difference ? std::vector<Tensor>{u, v, distances} : std::vector<Tensor>{u, v}, 1);
}

// x with the mask of `layer`, of which x is rows first_row ...
Tensor drop(const Tensor& x, const HeadDropout& dropout, int64_t layer, int64_t first_row) {
  EncoderDropout options;
  options.hidden = static_cast<float>(dropout.probability);
  options.key = dropout.key;
  options.step = dropout.step;
  const DropoutMask mask(options, DropoutPlace::kOutput, layer);
  if (!mask.active()) return x;
  const int64_t rows = x.size(0), width = x.size(1), row_bytes = mask_bytes(width);
  if (!x.is_cpu()) return x * dropout_rows({mask}, first_row, rows, width, x)[0];
  std::vector<uint8_t> keep(static_cast<size_t>(rows * row_bytes));
  mask.fill(first_row * row_bytes, rows * row_bytes, keep.data());
  const Tensor factors = torch::ones({rows, width});
  float* const numbers = factors.data_ptr<float>();
  vector_kernels().apply_mask(rows, width, numbers, keep.data(), mask.scale(), numbers);
  return x * factors.to(x.options());
}

// Logits of rows first_row ... of a batch.
Tensor compute_logits(const HeadSettings& settings, const Tensor& parameters, const Tensor& u,
                      const Tensor& v, const HeadDropout& dropout, int64_t first_row) {
  const std::vector<ParameterSlot> slots = head_layout(settings, u.size(1));
  std::vector<int64_t> sizes;
  for (const ParameterSlot& slot : slots) sizes.push_back(slot.size);
  const std::vector<Tensor> tensors = parameters.split_with_sizes(sizes);
  Tensor x = features(settings, u, v);
  const Tensor ones = torch::ones({u.size(0), 1}, u.options());
  for (size_t i = 0; i + 1 < slots.size(); i += 2) {
    const bool affine = !slots[i].decays;  // of l1 and cosine
    if (!affine) {
      // The first layer's input may have dropout on u alone, the first columns.
      const bool one_side = i == 0 && settings.dropout_side == "first";
      const int64_t width = one_side ? u.size(1) : x.size(1);
      const Tensor dropped =
          drop(x.narrow(1, 0, width), dropout, static_cast<int64_t>(i / 2), first_row);
      x = one_side ? torch::cat({dropped, x.narrow(1, width, x.size(1) - width)}, 1) : dropped;
    }
    // The bias as a product, so that its gradient, too, is a sum of one order.
    x = inner_products(x, tensors[i].view(slots[i].shape)) +
        inner_products(ones, tensors[i + 1].view({-1, 1}));
    if (i + 2 < slots.size()) x = x.relu();
  }
  return x;
}

// The state shared by the blocks of cross_logits().
struct CrossCall : torch::CustomClassHolder {
  CrossCall(const HeadSettings& s, const HeadDropout& d) : settings(s), dropout(d) {}
  HeadSettings settings;
  HeadDropout dropout;
};

// Rows [begin, end) of u [m, H] with every v [n, H]: both as [(end - begin) n, H].
std::pair<Tensor, Tensor> make_pairs(const Tensor& u, const Tensor& v, int64_t begin, int64_t end) {
  const int64_t rows = end - begin, n = v.size(0), H = v.size(1);
  const auto flat = [&](const Tensor& x) {
    return x.expand({rows, n, H}).reshape({rows * n, H}).detach();
  };
  return {flat(u.narrow(0, begin, rows).unsqueeze(1)), flat(v.unsqueeze(0))};
}

class CrossLogits : public torch::autograd::Function<CrossLogits> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& u, const Tensor& v,
                        const Tensor& parameters, const c10::intrusive_ptr<CrossCall>& call) {
    context->save_for_backward({u, v, parameters});
    context->saved_data["call"] =
        torch::IValue::make_capsule(c10::intrusive_ptr<torch::CustomClassHolder>(call));
    const Tensor logits = torch::empty({u.size(0), v.size(0)}, u.options());
    for_each_block(u, v, [&](int64_t begin, int64_t end) {
      const auto [left, right] = make_pairs(u, v, begin, end);
      logits.narrow(0, begin, end - begin)
          .copy_(compute_logits(call->settings, parameters, left, right, call->dropout,
                                begin * v.size(0))
                     .view({end - begin, v.size(0)}));
    });
    return logits;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto saved = context->get_saved_variables();
    const auto holder = context->saved_data["call"].toCapsule();
    const CrossCall& call = *static_cast<CrossCall*>(holder.get());
    const Tensor u = saved[0], v = saved[1];
    const Tensor u_sum = torch::zeros_like(u), v_sum = torch::zeros_like(v);
    const Tensor parameter_sum = torch::zeros_like(saved[2]);
    for_each_block(u, v, [&](int64_t begin, int64_t end) {
      const auto [left, right] = make_pairs(u, v, begin, end);
      const auto gradients = block_gradients(call, saved[2], left, right, begin * v.size(0),
                                             outputs[0].narrow(0, begin, end - begin));
      add_to_sides(gradients[0], gradients[1], u_sum.narrow(0, begin, end - begin), v_sum);
      parameter_sum.add_(gradients[2]);
    });
    return {u_sum, v_sum, parameter_sum, Tensor()};
  }

 private:
  template <typename Work>
  static void for_each_block(const Tensor& u, const Tensor& v, const Work& work) {
    const int64_t m = u.size(0), step = std::max<int64_t>(1, kPairsPerBlock / v.size(0));
    for (int64_t begin = 0; begin < m; begin += step) work(begin, std::min(begin + step, m));
  }

  // Gradients for a block's left and right rows, one of each per pair, and for the parameters.
  static torch::autograd::variable_list block_gradients(const CrossCall& call,
                                                        const Tensor& parameters,
                                                        const Tensor& left, const Tensor& right,
                                                        int64_t first_row, const Tensor& gradient) {
    torch::AutoGradMode guard(true);
    const std::vector<Tensor> leaves = {left.requires_grad_(true), right.requires_grad_(true),
                                        parameters.detach().requires_grad_(true)};
    const Tensor logits =
        compute_logits(call.settings, leaves[2], leaves[0], leaves[1], call.dropout, first_row);
    return torch::autograd::grad({logits}, leaves, {gradient.reshape({-1, 1})});
  }

  // Gradients of the pairs [rows n, H] added to those of u [rows, H] and v [n, H], one after the
  // other: a sum over a dimension would be cut by the number of threads.
  static void add_to_sides(const Tensor& left, const Tensor& right, const Tensor& u_sum,
                           const Tensor& v_sum) {
    const int64_t rows = u_sum.size(0), n = v_sum.size(0), H = v_sum.size(1);
    const Tensor of_left = left.view({rows, n, H}), of_right = right.view({rows, n, H});
    for (int64_t j = 0; j < n; ++j) u_sum.add_(of_left.select(1, j));
    for (int64_t i = 0; i < rows; ++i) v_sum.add_(of_right[i]);
  }
};

std::string describe(const Tensor& tensor) {
  return tensor.defined() ? fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")) : "nothing";
}

void check_embeddings(const HeadSettings& settings, int64_t H, const Tensor& x, const char* side) {
  SIMILE_CHECK(x.defined() && x.dim() == 2 && x.size(1) == H, ErrorKind::kInput,
               "head '{}': the {} should be embeddings [m, {}], found {}", settings.name, side, H,
               describe(x));
}

}  // namespace

Tensor pool_tokens(const Tensor& hidden, const std::vector<int32_t>& offsets,
                   const Pooling& pooling) {
  if (pooling.modes.empty()) return hidden;
  std::vector<Tensor> parts;
  for (const PoolingMode mode : pooling.modes) parts.push_back(pool_mode(hidden, offsets, mode));
  return parts.size() == 1 ? parts[0] : torch::cat(parts, 1);
}

HeadModule::HeadModule(const HeadSettings& settings, int64_t H, const torch::TensorOptions& options)
    : settings_(settings), H_(H) {
  check_head(settings);
  parameters_ = torch::zeros({head_parameter_count(settings, H)}, options);
  parameters_.mutable_grad() = torch::zeros_like(parameters_);
  parameters_.requires_grad_(true);
}

void HeadModule::share_layers(const HeadModule& owner) { inner_ = owner.parameters_; }

torch::Tensor HeadModule::weights() const {
  if (!inner_.defined()) return parameters_;
  const int64_t inner = inner_parameter_count(settings_, H_);
  return torch::cat(
      {inner_.narrow(0, 0, inner), parameters_.narrow(0, inner, parameter_count() - inner)});
}

torch::Tensor HeadModule::logits(const Tensor& u, const Tensor& v,
                                 const HeadDropout& dropout) const {
  check_embeddings(settings_, H_, u, "first side");
  if (settings_.input == "pair") check_embeddings(settings_, H_, v, "second side");
  SIMILE_CHECK(settings_.input == "pair" ? u.size(0) == v.size(0) : !v.defined(), ErrorKind::kInput,
               "head '{}' of input {}: found sides {} and {}", settings_.name, settings_.input,
               describe(u), describe(v));
  return compute_logits(settings_, weights(), u, v, dropout, 0);
}

torch::Tensor HeadModule::cross_logits(const Tensor& u, const Tensor& v,
                                       const HeadDropout& dropout) const {
  SIMILE_CHECK(settings_.input == "pair" && settings_.output != "classes", ErrorKind::kRecipe,
               "head '{}' cannot score every pair of a batch: that takes input pair "
               "and one logit, it has input {} and output {}",
               settings_.name, settings_.input, settings_.output);
  check_embeddings(settings_, H_, u, "left side");
  check_embeddings(settings_, H_, v, "right side");
  if (u.size(0) == 0 || v.size(0) == 0) return torch::zeros({u.size(0), v.size(0)}, u.options());
  return CrossLogits::apply(u, v, weights(), c10::make_intrusive<CrossCall>(settings_, dropout));
}

void share_layers(std::vector<HeadModule>& heads) {
  std::vector<HeadSettings> settings;
  for (const HeadModule& head : heads) settings.push_back(head.settings());
  check_heads(settings);
  for (HeadModule& head : heads) {
    const std::string& owner = head.settings().shares;
    if (!owner.empty()) head.share_layers(heads[find_head(settings, owner)]);
  }
}

}  // namespace simile
