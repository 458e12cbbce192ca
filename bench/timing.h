// SPDX-License-Identifier: Apache-2.0
// Wall time, and the speed of the machine's matrix multiplication to compare with.
#pragma once

#include <vector>

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

}  // namespace simile::bench
