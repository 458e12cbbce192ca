// SPDX-License-Identifier: Apache-2.0
// The functions between the two products of a feed-forward network.
#pragma once

namespace simile {

enum class Activation {
  kGelu,      // x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016)
  kGeluTanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, its approximation
  kRelu,      // max(x, 0)
  kSilu,      // x / (1 + exp(-x))
};

}  // namespace simile
