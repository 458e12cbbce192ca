// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/inner_products.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr int64_t kRowsPerBlock = 64;

enum class Factor { kRows, kColumns };

// a [m, k] times b, which is [n, k] (kRows: transposed) or [k, n] (kColumns).
Tensor multiply(const Tensor& a, const Tensor& b, Factor factor) {
  const VectorKernels& kernels = vector_kernels();
  const int64_t m = a.size(0), k = a.size(1), n = b.size(factor == Factor::kRows ? 0 : 1);
  std::vector<float> panels(static_cast<size_t>(panel_floats(kernels, n, k)));
  const auto pack = factor == Factor::kRows ? kernels.pack_rows : kernels.pack_columns;
  pack(b.data_ptr<float>(), n, k, b.size(1), panels.data());
  const Tensor product = torch::empty({m, n}, a.options());
  const float* const rows = a.data_ptr<float>();
  float* const out = product.data_ptr<float>();
  const int64_t blocks = (m + kRowsPerBlock - 1) / kRowsPerBlock;
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kRowsPerBlock, count = std::min(kRowsPerBlock, m - first);
    kernels.matmul({count, n, k, rows + first * k, k, panels.data(), out + first * n, n, nullptr,
                    false, false});
  }
  return product;
}

class InnerProducts : public torch::autograd::Function<InnerProducts> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a,
                        const Tensor& b) {
    const Tensor left = a.contiguous(), right = b.contiguous();
    context->save_for_backward({left, right});
    return multiply(left, right, Factor::kRows);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto saved = context->get_saved_variables();
    const Tensor g = outputs[0].contiguous();
    Tensor left, right;
    if (context->needs_input_grad(0)) left = multiply(g, saved[1], Factor::kColumns);
    if (context->needs_input_grad(1)) {
      right = multiply(g.t().contiguous(), saved[0], Factor::kColumns);
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
