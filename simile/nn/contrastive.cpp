// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/contrastive.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <memory>

#include "simile/kernel/contrastive.h"

namespace simile {
namespace {

using torch::Tensor;

// What forward keeps for backward.
struct ContrastiveCall : torch::CustomClassHolder {
  ContrastiveCall(const Tensor& u, const Tensor& v, float scale, bool rows, bool columns,
                  ProductType products)
      : left(u),
        right(v),
        terms({u.size(0), v.size(0), u.size(1), u.data_ptr<float>(), v.data_ptr<float>(), scale,
               rows, columns, products}) {}

  Tensor left, right;
  ContrastiveTerms terms;
};

class ContrastiveFunction : public torch::autograd::Function<ContrastiveFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const Tensor& left, const Tensor& right,
                                                const Tensor& scale, bool rows, bool columns,
                                                ProductType products) {
    const auto call = c10::make_intrusive<ContrastiveCall>(
        left.contiguous(), right.contiguous(), scale.item<float>(), rows, columns, products);
    const Tensor row_terms = torch::empty({rows ? left.size(0) : 0});
    const Tensor column_terms = torch::empty({columns ? left.size(0) : 0});
    call->terms.terms(row_terms.data_ptr<float>(), column_terms.data_ptr<float>());
    context->saved_data["call"] =
        torch::IValue::make_capsule(c10::intrusive_ptr<torch::CustomClassHolder>(call));
    context->saved_data["scale"] = torch::IntArrayRef(scale.sizes()).vec();
    return {row_terms, column_terms};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto holder = context->saved_data["call"].toCapsule();
    auto& call = *static_cast<ContrastiveCall*>(holder.get());
    const Tensor rows = outputs[0].contiguous(), columns = outputs[1].contiguous();
    const Tensor left = torch::empty_like(call.left), right = torch::empty_like(call.right);
    const double scale = call.terms.gradients({rows.data_ptr<float>(), columns.data_ptr<float>()},
                                              left.data_ptr<float>(), right.data_ptr<float>());
    const Tensor none;
    return {
        left, right, torch::full(context->saved_data["scale"].toIntVector(), scale, left.options()),
        none, none,  none};
  }
};

}  // namespace

bool has_contrastive_terms(const Tensor& left, const Tensor& right, const Tensor& scale) {
  const auto is_plain = [](const Tensor& t) {
    return t.scalar_type() == torch::kFloat && t.device().is_cpu() && t.numel() > 0;
  };
  return is_plain(left) && is_plain(right) && is_plain(scale) && left.dim() == 2 &&
         right.dim() == 2 && left.size(1) == right.size(1) && left.size(0) <= right.size(0) &&
         scale.numel() == 1 && scale.item<float>() != 0.0f;
}

ContrastiveTermTensors contrastive_terms(const Tensor& left, const Tensor& right,
                                         const Tensor& scale, bool rows, bool columns,
                                         ProductType products) {
  const auto terms = ContrastiveFunction::apply(left, right, scale, rows, columns, products);
  return {rows ? terms[0] : Tensor(), columns ? terms[1] : Tensor()};
}

}  // namespace simile
