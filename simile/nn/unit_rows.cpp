// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/unit_rows.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

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

}  // namespace

bool has_unit_rows(const Tensor& x) {
  return x.dim() == 2 && x.scalar_type() == torch::kFloat && x.device().is_cpu();
}

Tensor unit_rows(const Tensor& x) { return UnitRows::apply(x); }

}  // namespace simile
