// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/row_products.h"

#include <torch/autograd.h>

#include "simile/core/parallel.h"
#include "simile/kernel/contrastive.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

bool is_plain(const Tensor& t) {
  return t.scalar_type() == torch::kFloat && t.device().is_cpu() && t.numel() > 0;
}

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

constexpr int64_t kUnitRowsTogether = 256;

class UnitRows : public torch::autograd::Function<UnitRows> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& rows) {
    const Tensor x = rows.contiguous();
    const int64_t width = x.size(1);
    const Tensor y = torch::empty_like(x), inverse = torch::empty({x.size(0)});
    const float* from = x.data_ptr<float>();
    float *to = y.data_ptr<float>(), *inverses = inverse.data_ptr<float>();
    run_parallel_blocks(x.size(0), kUnitRowsTogether, [&](int64_t begin, int64_t end) {
      vector_kernels().unit_rows(
          {end - begin, width, from + begin * width, to + begin * width, inverses + begin});
    });
    context->save_for_backward({y, inverse});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto saved = context->get_saved_variables();
    const int64_t width = saved[0].size(1);
    const Tensor of_y = outputs[0].contiguous(), of_x = torch::empty_like(of_y);
    const float* gradient = of_y.data_ptr<float>();
    float *y = saved[0].data_ptr<float>(), *inverses = saved[1].data_ptr<float>(),
          *x = of_x.data_ptr<float>();
    run_parallel_blocks(of_y.size(0), kUnitRowsTogether, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * width;
      vector_kernels().unit_rows_backward({end - begin, width, nullptr, y + at, inverses + begin},
                                          gradient + at, x + at);
    });
    return {of_x};
  }
};

// The values that forward keeps for backward.
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

torch::Tensor inner_products(const torch::Tensor& a, const torch::Tensor& b) {
  const bool has_kernel =
      a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1) && is_plain(a) && is_plain(b);
  return has_kernel ? InnerProducts::apply(a, b) : a.matmul(b.t());
}

bool has_unit_rows(const Tensor& x) {
  return x.dim() == 2 && x.scalar_type() == torch::kFloat && x.device().is_cpu();
}

Tensor unit_rows(const Tensor& x) { return UnitRows::apply(x); }

bool has_contrastive_terms(const Tensor& left, const Tensor& right, const Tensor& scale) {
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
