// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/inner_products.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "simile/kernel/packed_matrix.h"

namespace simile {
namespace {

using torch::Tensor;

// a [m, k] times b: [n, k] transposed, or [k, n].
Tensor multiply(const Tensor& a, const Tensor& b, MatrixLayout layout) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(layout == MatrixLayout::kColumns ? 0 : 1);
  const Tensor product = torch::empty({m, n}, a.options());
  PackedMatrix(b.data_ptr<float>(), n, k, layout)
      .multiply(a.data_ptr<float>(), m, nullptr, product.data_ptr<float>());
  return product;
}

class InnerProducts : public torch::autograd::Function<InnerProducts> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a,
                        const Tensor& b) {
    const Tensor left = a.contiguous(), right = b.contiguous();
    context->save_for_backward({left, right});
    return multiply(left, right, MatrixLayout::kColumns);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto saved = context->get_saved_variables();
    const Tensor g = outputs[0].contiguous();
    Tensor left, right;
    if (context->needs_input_grad(0)) left = multiply(g, saved[1], MatrixLayout::kRows);
    if (context->needs_input_grad(1)) {
      right = multiply(g.t().contiguous(), saved[0], MatrixLayout::kRows);
    }
    return {left, right};
  }
};

}  // namespace

torch::Tensor inner_products(const torch::Tensor& a, const torch::Tensor& b) {
  const auto is_plain = [](const Tensor& t) {
    return t.scalar_type() == torch::kFloat && t.device().is_cpu() && t.numel() > 0;
  };
  const bool has_kernel =
      a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1) && is_plain(a) && is_plain(b);
  return has_kernel ? InnerProducts::apply(a, b) : a.matmul(b.t());
}

}  // namespace simile
