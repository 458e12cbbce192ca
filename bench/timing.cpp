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

struct NarrowPeak::Product {
  using Type = dnnl::memory::data_type;
  using Order = dnnl::memory::format_tag;

  explicit Product(bool are_bytes)
      : plan(dnnl::matmul::desc(describe(are_bytes ? Type::u8 : Type::bf16, Order::ab),
                                describe(are_bytes ? Type::s8 : Type::bf16, Order::any),
                                describe(are_bytes ? Type::s32 : Type::f32, Order::ab)),
             engine) {}

  static dnnl::memory::desc describe(Type type, Order order) {
    return dnnl::memory::desc({kSize, kSize}, type, order);
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul::primitive_desc plan;
  dnnl::matmul call{plan};
  dnnl::memory a{plan.src_desc(), engine}, b{plan.weights_desc(), engine},
      c{plan.dst_desc(), engine};
};

NarrowPeak::NarrowPeak(ProductType type) : are_bytes_(type == ProductType::kByte) {
  try {
    product_ = std::make_unique<Product>(are_bytes_);
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::kFailed,
                std::string("oneDNN has no such product of narrow numbers here: ") + error.what());
  }
  for (dnnl::memory* matrix : {&product_->a, &product_->b}) {
    const size_t bytes = matrix->get_desc().get_size();
    if (are_bytes_) {
      std::fill_n(static_cast<int8_t*>(matrix->get_data_handle()), bytes, int8_t{1});
    } else {
      constexpr uint16_t kOne = 0x3f80;
      std::fill_n(static_cast<uint16_t*>(matrix->get_data_handle()), bytes / sizeof kOne, kOne);
    }
  }
}

NarrowPeak::~NarrowPeak() = default;

void NarrowPeak::measure() {
  const void* const result = product_->c.get_data_handle();
  for (int i = 0; i < kCalls; ++i) {
    const double start = now_seconds();
    product_->call.execute(product_->stream, {{DNNL_ARG_SRC, product_->a},
                                              {DNNL_ARG_WEIGHTS, product_->b},
                                              {DNNL_ARG_DST, product_->c}});
    product_->stream.wait();
    const double seconds = now_seconds() - start;
    const double first =
        are_bytes_ ? *static_cast<const int32_t*>(result) : *static_cast<const float*>(result);
    SIMILE_CHECK(first == kSize, ErrorKind::kFailed,
                 "oneDNN's product of narrow numbers gave a wrong result");
    best_ = std::max(best_, 2e-9 * kSize * kSize * kSize / seconds);
  }
}

MachinePeak::MachinePeak(ProductType products)
    : name_(precision_names()[static_cast<size_t>(products)]) {
  if (products != ProductType::kFloat) narrow_.emplace(products);
}

void MachinePeak::measure() {
  sgemm_.measure();
  if (narrow_) narrow_->measure();
}

void MachinePeak::report(double operations_per_second, nlohmann::json& result) const {
  const double gflops = 1e-9 * operations_per_second;
  result["gflops"] = gflops;
  result["sgemm_gflops"] = sgemm_.gflops();
  result["share_of_sgemm"] = gflops / sgemm_.gflops();
  if (!narrow_) return;
  result[name_ + "_gemm_gflops"] = narrow_->gflops();
  result["share_of_" + name_ + "_gemm"] = gflops / narrow_->gflops();
}

}  // namespace simile::bench
