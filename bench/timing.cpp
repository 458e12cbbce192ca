// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "simile/core/check.h"

namespace simile::bench {
namespace {

constexpr dnnl_dim_t kSize = 2048;
constexpr int kCalls = 6;

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

SgemmPeak::SgemmPeak() : a_(kSize * kSize, 0.5f), b_(kSize * kSize, 0.25f), c_(kSize * kSize) {}

void SgemmPeak::measure() {
  for (int i = 0; i < kCalls; ++i) {
    const double start = now_seconds();
    const dnnl_status_t status = dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0f, a_.data(), kSize,
                                            b_.data(), kSize, 0.0f, c_.data(), kSize);
    const double seconds = now_seconds() - start;
    SIMILE_CHECK(status == dnnl_success && c_.front() == 0.125f * kSize, ErrorKind::kFailed,
                 "oneDNN's sgemm failed or gave a wrong result");
    best_ = std::max(best_, 2e-9 * kSize * kSize * kSize / seconds);
  }
}

struct BfloatPeak::Product {
  using Type = dnnl::memory::data_type;
  using Order = dnnl::memory::format_tag;

  static dnnl::memory::desc describe(Type type, Order order) {
    return dnnl::memory::desc({kSize, kSize}, type, order);
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul::primitive_desc plan{
      dnnl::matmul::desc(describe(Type::bf16, Order::ab), describe(Type::bf16, Order::any),
                         describe(Type::f32, Order::ab)),
      engine};
  dnnl::matmul call{plan};
  dnnl::memory a{plan.src_desc(), engine}, b{plan.weights_desc(), engine},
      c{plan.dst_desc(), engine};
};

BfloatPeak::BfloatPeak() {
  try {
    product_ = std::make_unique<Product>();
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::kFailed,
                std::string("oneDNN has no product of bfloat16 here: ") + error.what());
  }
  constexpr uint16_t kOne = 0x3f80;
  for (dnnl::memory* matrix : {&product_->a, &product_->b}) {
    auto* numbers = static_cast<uint16_t*>(matrix->get_data_handle());
    std::fill_n(numbers, matrix->get_desc().get_size() / sizeof(uint16_t), kOne);
  }
}

BfloatPeak::~BfloatPeak() = default;

void BfloatPeak::measure() {
  for (int i = 0; i < kCalls; ++i) {
    const double start = now_seconds();
    product_->call.execute(product_->stream, {{DNNL_ARG_SRC, product_->a},
                                              {DNNL_ARG_WEIGHTS, product_->b},
                                              {DNNL_ARG_DST, product_->c}});
    product_->stream.wait();
    const double seconds = now_seconds() - start;
    SIMILE_CHECK(*static_cast<const float*>(product_->c.get_data_handle()) == kSize,
                 ErrorKind::kFailed, "oneDNN's product of bfloat16 gave a wrong result");
    best_ = std::max(best_, 2e-9 * kSize * kSize * kSize / seconds);
  }
}

MachinePeak::MachinePeak(ProductType products) {
  if (products == ProductType::kBfloat) bfloat_.emplace();
}

void MachinePeak::measure() {
  sgemm_.measure();
  if (bfloat_) bfloat_->measure();
}

void MachinePeak::report(double operations_per_second, nlohmann::json& result) const {
  const double gflops = 1e-9 * operations_per_second;
  result["gflops"] = gflops;
  result["sgemm_gflops"] = sgemm_.gflops();
  result["share_of_sgemm"] = gflops / sgemm_.gflops();
  if (!bfloat_) return;
  result["bf16_gemm_gflops"] = bfloat_->gflops();
  result["share_of_bf16_gemm"] = gflops / bfloat_->gflops();
}

}  // namespace simile::bench
