// SPDX-License-Identifier: Apache-2.0
// Wall time, and the speed of the machine's matrix multiplication to compare with.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "simile/kernel/matrix_product.h"

namespace simile::bench {

double now_seconds();
double median(std::vector<double> values);

// GFLOP/s of one call of oneDNN's sgemm on 2048 x 2048 matrices with simile::thread_count()
// threads, the best of a few calls: what a program made of matrix multiplications
// could reach at most.
class SgemmPeak {
 public:
  SgemmPeak();
  void measure();
  double gflops() const { return best_; }

 private:
  std::vector<float> a_, b_, c_;
  double best_ = 0;
};

// The same of oneDNN's product of narrower numbers, the second matrix in the order that oneDNN likes
// best: bfloat16 with sums in float, or bytes (unsigned times signed) with sums in int32.
// Errors (kFailed): the processor has no such instructions.
class NarrowPeak {
 public:
  explicit NarrowPeak(ProductType type);
  ~NarrowPeak();
  void measure();
  double gflops() const { return best_; }

 private:
  struct Product;
  bool are_bytes_;
  std::unique_ptr<Product> product_;
  double best_ = 0;
};

// Both as far as they concern work with such products: sgemm always, the other unless it is kFloat.
class MachinePeak {
 public:
  explicit MachinePeak(ProductType products);
  void measure();
  // Adds gflops, and of each peak its own and the share of it that `operations_per_second` is.
  void report(double operations_per_second, nlohmann::json& result) const;

 private:
  SgemmPeak sgemm_;
  std::string name_;  // of the products: fp32, bf16, int8
  std::optional<NarrowPeak> narrow_;
};

}  // namespace simile::bench
